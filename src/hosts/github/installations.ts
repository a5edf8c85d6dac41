import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import { HostFailure } from "../../core/model/errors.js";
import type { CodeHost } from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { decodeAnswer, ifFound, loginField, repositoryField } from "../host-answer.js";
import type { GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

const MOST_PAGES = 10;
/** How many installations are asked for something that each of them may know. */
const MOST_ASKED = 10;

const installationsSchema = z.array(
  z.object({
    id: z.int().positive(),
    suspended_at: z.string().nullish(),
    account: z.object({ login: loginField }).nullish().catch(undefined),
    permissions: z.record(z.string(), z.string()).nullish(),
  }),
);

interface Installation {
  readonly id: number;
  /** Undefined where it is installed on something that has no login. */
  readonly owner: string | undefined;
  readonly suspended: boolean;
  readonly permissions: Readonly<Record<string, string>>;
}

/** Where the App is installed, the first thousand. */
export async function findInstalled(client: GitHubClient): Promise<readonly Installation[]> {
  const asked = "list the App's installations";
  const found: Installation[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const data = await client.asApp(asked, ({ rest }) => rest.apps.listInstallations({ per_page: 100, page }));
    const listed = decodeAnswer(installationsSchema, data, GITHUB, asked);
    for (const { id, account, suspended_at, permissions } of listed) {
      found.push({ id, owner: account?.login, suspended: Boolean(suspended_at), permissions: permissions ?? {} });
    }
    if (listed.length < 100) break;
  }
  return found;
}

/**
 * Asks the installations one by one until one of them has an answer. An owner may keep svc out, for instance by a list of allowed
 * addresses, and the others must not suffer from that.
 * @returns Undefined if none knows. @throws {HostFailure} if none knows and one did not answer.
 */
export async function askInstallations<T>(
  client: GitHubClient,
  ask: (id: number) => Promise<T | undefined>,
): Promise<T | undefined> {
  let failure: HostFailure | undefined;
  const present = (await findInstalled(client)).filter(({ suspended }) => !suspended);
  for (const { id } of present.slice(0, MOST_ASKED)) {
    try {
      const answer = await ask(id);
      if (answer !== undefined) return answer;
    } catch (error) {
      if (!(error instanceof HostFailure)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

const nameSchema = z.object({ full_name: repositoryField });

/**
 * The present name of the repository with this id; undefined if none of the first installations sees it. Whoever transfers a repository
 * may take it to another one.
 */
export async function nameOf(client: GitHubClient, repositoryId: string): Promise<RepositoryName | undefined> {
  const asked = "find a repository that was renamed or transferred";
  // Octokit has no method for it. GitHub leads there from the old name: https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects
  const found = await askInstallations(client, (id) =>
    ifFound(
      client.asInstallation(id, asked, (octokit) =>
        octokit.request("GET /repositories/{repository_id}", { repository_id: repositoryId }),
      ),
    ),
  );
  return found === undefined ? undefined : decodeAnswer(nameSchema, found, GITHUB, asked).full_name;
}

const repositoriesSchema = z.object({
  repositories: z.array(z.object({ full_name: repositoryField, archived: z.boolean() })),
});

/** Lists what the App is installed on. Of an installation that does not answer it repeats what was listed before. */
export function createFindRepositories(client: GitHubClient, log: Log): CodeHost["repositories"] {
  let known: ReadonlyMap<number, readonly RepositoryName[]> = new Map();
  return async (servesOwner) => {
    const found = new Map<number, readonly RepositoryName[]>();
    const silent: { readonly owner: string; readonly error: HostFailure }[] = [];
    let answers = 0;
    for (const { id, owner, suspended } of await findInstalled(client)) {
      if (suspended || owner === undefined || !servesOwner(owner)) continue;
      try {
        found.set(id, await repositoriesOf(client, id, owner));
        answers += 1;
      } catch (error) {
        // The poller has to hear of it, so that it leaves GitHub alone for a while.
        if (!(error instanceof HostFailure) || error.reason === "rate-limited") throw error;
        silent.push({ owner, error });
        found.set(id, known.get(id) ?? []);
      }
    }
    const [first] = silent;
    if (first !== undefined && answers === 0) throw first.error;
    for (const { owner, error } of silent) {
      log.warn({ owner, err: error }, "could not list the repositories of an installation of the App");
    }
    known = found;
    return [...found.values()].flat();
  };
}

async function repositoriesOf(client: GitHubClient, id: number, owner: string): Promise<readonly RepositoryName[]> {
  const asked = `list the repositories of ${owner} that the App is installed on`;
  const names: RepositoryName[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const data = await client.asInstallation(id, asked, ({ rest }) =>
      rest.apps.listReposAccessibleToInstallation({ per_page: 100, page }),
    );
    const { repositories } = decodeAnswer(repositoriesSchema, data, GITHUB, asked);
    names.push(...repositories.filter(({ archived }) => !archived).map((one) => one.full_name));
    if (repositories.length < 100) break;
  }
  return names;
}
