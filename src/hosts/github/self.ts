import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequestRef, User } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CloneSource } from "../../core/ports/code-host.js";
import { SERVICE } from "../../names.js";
import { HostRefusal, refusalOf } from "../host-refusal.js";
import { decodeAnswer, refusalMessage } from "../json-answer.js";
import { idField, loginField } from "../payload-fields.js";
import type { GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

/** An installation token lives an hour. It is renewed earlier, so that a long fetch can finish with it. */
const TOKEN_KEPT_MS = 50 * 60_000;

const tokenSchema = z.object({ token: z.string().min(1) });

/** Makes and caches tokens that can only read the contents of one repository. */
export function createCloneSource(
  client: GitHubClient,
  { webUrl, clock }: { readonly webUrl: string; readonly clock: Clock },
): (change: ChangeRequestRef) => Promise<CloneSource> {
  const kept = new Map<RepositoryName, { readonly token: string; readonly until: number }>();

  async function tokenFor(repository: RepositoryName): Promise<string> {
    const now = clock.now().getTime();
    const known = kept.get(repository);
    if (known !== undefined && known.until > now) return known.token;
    const asked = `make a token to read ${repository}`;
    const installation_id = await client.installationOf(repository);
    const data = await client.asApp(asked, (octokit) =>
      octokit.rest.apps.createInstallationAccessToken({
        installation_id,
        repositories: [repository.slice(repository.indexOf("/") + 1)],
        permissions: { contents: "read" },
      }),
    );
    const { token } = decodeAnswer(tokenSchema, data, GITHUB, asked);
    kept.set(repository, { token, until: now + TOKEN_KEPT_MS });
    return token;
  }

  return async (change) => ({
    url: `${webUrl}/${change.repository}.git`,
    authorization: `Basic ${Buffer.from(`x-access-token:${await tokenFor(change.repository)}`).toString("base64")}`,
    headRef: `refs/pull/${change.number}/head`,
  });
}

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

const membershipSchema = z.object({ state: z.string() });

/**
 * Whether the user is an active member of one of these teams or their child teams. GitHub compares names and ignores
 * case. A team that does not exist, or that the App may not see, has no members.
 * @throws {HostFailure} `forbidden` if the App lacks "Organization members: read"; `rejected` for an invalid team name.
 */
export async function belongsToAnyTeam(
  client: GitHubClient,
  change: ChangeRequestRef,
  user: User,
  teams: readonly string[],
): Promise<boolean> {
  for (const team of teams) {
    if (await isMember(client, change, user, team)) return true;
  }
  return false;
}

async function isMember(client: GitHubClient, change: ChangeRequestRef, user: User, team: string): Promise<boolean> {
  const [, org, slug] = /^([A-Za-z0-9-]+)\/([A-Za-z0-9_-]+)$/.exec(team) ?? [];
  if (org === undefined || slug === undefined) {
    throw new HostFailure("rejected", `GitHub has no team of the name "${team}": write <organization>/<team-slug>.`);
  }
  const asked = `look for ${user.login} in the team ${org}/${slug}`;
  try {
    const { state } = await client.read(membershipSchema, change.repository, asked, (octokit) =>
      octokit.rest.teams.getMembershipForUserInOrg({ org, team_slug: slug, username: user.login }),
    );
    return state === "active";
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    if (error.status === 404) return false;
    if (error.reason !== "forbidden") throw error;
    throw new HostFailure(
      "forbidden",
      `GitHub does not allow us to ${asked} (403): the App needs the permission "Organization members: read" (see app.yml), and its installation on ${org} has to accept it.`,
      { cause: error },
    );
  }
}
