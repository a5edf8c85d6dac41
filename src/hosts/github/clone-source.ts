import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CloneSource } from "../../core/ports/code-host.js";
import { decodeAnswer } from "../json-answer.js";
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
