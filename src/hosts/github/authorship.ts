import * as z from "zod";
import type { Authorship, CommitAccounts, Push, ChangeRequest, User } from "../../core/model/change-request.js";
import { ifFound } from "../host-refusal.js";
import { idField, loginField } from "../payload-fields.js";
import { getPull } from "./change-request.js";
import type { GitHubClient } from "./client.js";
import { isBot } from "./translate-event.js";

/** GitHub lists at most 250 commits of a pull request. */
const MOST_PAGES = 3;

/** `authors` are the git author and those whom `Co-authored-by` trailers name. */
export const COMMITS_QUERY = `query ($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      commits(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          commit {
            oid
            authors(first: 20) {
              pageInfo { hasNextPage }
              nodes { user { databaseId login } }
            }
            committer { user { databaseId login } }
          }
        }
      }
    }
  }
}`;

const gitActorSchema = z
  .object({ user: z.object({ databaseId: idField.nullish(), login: loginField }).nullish() })
  .nullish();
const commitSchema = z.object({
  oid: z.string(),
  authors: z.object({ pageInfo: z.object({ hasNextPage: z.boolean() }), nodes: z.array(gitActorSchema) }),
  committer: gitActorSchema,
});
const commitsSchema = z.object({
  repository: z.object({
    pullRequest: z.object({
      commits: z.object({
        pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullish() }),
        nodes: z.array(z.object({ commit: commitSchema }).nullable()),
      }),
    }),
  }),
});

const activitiesSchema = z.array(
  z.object({
    before: z.string(),
    after: z.string(),
    actor: z.object({ id: idField, login: loginField, type: z.string().nullish() }).nullish(),
  }),
);

export async function getAuthorship(client: GitHubClient, change: ChangeRequest): Promise<Authorship> {
  const [accounts, pushes] = await Promise.all([getAccounts(client, change), getPushes(client, change)]);
  return { accounts, pushes, opened: undefined };
}

async function getAccounts(client: GitHubClient, change: ChangeRequest): Promise<Authorship["accounts"]> {
  const asked = `read the commits of ${change.repository}#${change.number}`;
  const accounts = new Map<string, CommitAccounts>();
  let after: string | undefined;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const { repository } = await client.read(commitsSchema, change.repository, asked, async (octokit, at) => ({
      data: await octokit.graphql<unknown>(COMMITS_QUERY, {
        owner: at.owner,
        name: at.repo,
        number: change.number,
        after: after ?? null,
      }),
    }));
    const { nodes, pageInfo } = repository.pullRequest.commits;
    for (const node of nodes) if (node !== null) accounts.set(node.commit.oid, accountsOf(node.commit));
    if (!pageInfo.hasNextPage || !pageInfo.endCursor) break;
    after = pageInfo.endCursor;
  }
  return accounts;
}

function accountsOf({ authors, committer }: z.output<typeof commitSchema>): CommitAccounts {
  const accounts = [...authors.nodes, committer].map(userOf);
  const people = accounts.filter((user) => user !== undefined).filter(({ login }) => login !== WEB_FLOW);
  return { people, unknown: authors.pageInfo.hasNextPage || accounts.includes(undefined) };
}

/** The committer of what people do on GitHub's pages. */
const WEB_FLOW = "web-flow";

function userOf(actor: z.output<typeof gitActorSchema>): User | undefined {
  const { databaseId, login } = actor?.user ?? {};
  if (!databaseId || login === undefined) return undefined;
  return { id: databaseId, login, bot: isBot(login, "User") };
}

/** Self-hosted servers before 3.10 do not tell, and a private fork is hidden: then nothing is known. */
async function getPushes(client: GitHubClient, change: ChangeRequest): Promise<readonly Push[]> {
  const place = change.fork ? (await getPull(client, change)).head.repo?.full_name : change.repository;
  if (place === undefined) return [];
  const [owner = "", repo = ""] = place.split("/");
  const asked = `read who pushed to ${change.headBranch} of ${place}`;
  let pages = 0;
  const activities = await ifFound(
    client.read(activitiesSchema, change.repository, asked, async (octokit, at) => ({
      data: await octokit.paginate(
        octokit.rest.repos.listActivities,
        { ...at, owner, repo, ref: `refs/heads/${change.headBranch}`, per_page: 100 },
        (answer, done) => {
          pages += 1;
          if (pages === MOST_PAGES) done();
          return answer.data;
        },
      ),
    })),
  );
  return (activities ?? []).map(({ actor, before, after }) => ({
    by: actor ? { id: actor.id, login: actor.login, bot: isBot(actor.login, actor.type) } : undefined,
    before: isCommit(before) ? before : undefined,
    after: isCommit(after) ? after : "deleted",
  }));
}

/** Zeros stand for no commit. */
function isCommit(id: string): boolean {
  return !/^0+$/.test(id);
}
