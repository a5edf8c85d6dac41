import * as z from "zod";
import type { User } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import { SERVICE } from "../../names.js";
import { refusalOf } from "../host-refusal.js";
import { decodeAnswer, refusalMessage } from "../json-answer.js";
import { idField, loginField } from "../payload-fields.js";
import type { GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

const appSchema = z.object({ slug: z.string().min(1).max(255) });
const installationsSchema = z.array(z.object({ id: z.int().positive(), suspended_at: z.string().nullish() }));
const accountSchema = z.object({ id: idField, login: loginField });

/**
 * The account that the App comments with. GitHub does not accept the App's own credentials here, so this asks as one of
 * its installations, or without credentials if there is none (60 requests an hour).
 */
export async function findSelf(client: GitHubClient, apiUrl: string): Promise<User> {
  const asked = "read the App's own account";
  const app = decodeAnswer(
    appSchema,
    await client.asApp(asked, (octokit) => octokit.rest.apps.getAuthenticated()),
    GITHUB,
    asked,
  );
  const username = `${app.slug}[bot]`;
  const installations = decodeAnswer(
    installationsSchema,
    await client.asApp(asked, (octokit) => octokit.rest.apps.listInstallations({ per_page: 100 })),
    GITHUB,
    asked,
  );
  const installation = installations.find(({ suspended_at }) => !suspended_at);
  const data =
    installation === undefined
      ? await readAnonymously(client, `${apiUrl}/users/${encodeURIComponent(username)}`, asked)
      : await client.asInstallation(installation.id, asked, (octokit) =>
          octokit.rest.users.getByUsername({ username }),
        );
  const { id, login } = decodeAnswer(accountSchema, data, GITHUB, asked);
  return { id, login, bot: true };
}

/** Checks the App's own credentials, without using an installation's rate limit. */
export async function reachApp(client: GitHubClient): Promise<void> {
  const asked = "read the App";
  const data = await client.asApp(asked, (octokit) => octokit.rest.apps.getAuthenticated());
  decodeAnswer(appSchema, data, GITHUB, asked);
}

/** A self-hosted server in private mode, for one. Its answer says nothing about the App's key. */
const NOT_ANONYMOUS =
  "GitHub answers nobody without credentials (401), and the App is installed nowhere, so svc cannot ask for the App's own account: " +
  "install the App on an organization or account.";

async function readAnonymously(client: GitHubClient, url: string, asked: string): Promise<unknown> {
  const response = await client.fetch(url, {
    headers: { accept: "application/vnd.github+json", "user-agent": SERVICE },
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as unknown;
  if (response.status === 401) throw new HostFailure("failed", NOT_ANONYMOUS);
  throw refusalOf(GITHUB, asked, {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    message: refusalMessage(text),
    changing: false,
    now: client.now(),
  });
}
