import { Events, MergeRequests } from "@gitbeaker/rest";
import * as z from "zod";
import type { Authorship, ChangeRequest, CommitAccounts, Push, User } from "../../core/model/change-request.js";
import { loginField } from "../host-answer.js";
import type { GitLabClient } from "./client.js";
import { revertOf } from "./merge.js";
import { isBot, userField } from "./webhook.js";

/** A page has 100 commits, or 100 pushes to any branch of the project. */
const MOST_PAGES = 5;

/** Only GraphQL names accounts, and committers only for the whole merge request, without merge commits. */
const COMMITS_QUERY = `query ($path: ID!, $iid: String!, $after: String) {
  project(fullPath: $path) {
    mergeRequest(iid: $iid) {
      committers(first: 100) {
        pageInfo { hasNextPage }
        nodes { id username }
      }
      commits(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { sha authorEmail committerEmail author { id username } }
      }
    }
  }
}`;

/** A global id, such as `gid://gitlab/User/7`. */
const globalIdField = z
  .string()
  .regex(/^gid:\/\/gitlab\/User\/[1-9]\d*$/)
  .transform((id) => id.slice(id.lastIndexOf("/") + 1));
const graphqlUserSchema = z
  .object({ id: globalIdField, username: loginField })
  .transform(({ id, username }): User => ({ id, login: username, bot: isBot(username) }));
const commitSchema = z.object({
  sha: z.string(),
  authorEmail: z.string().nullish(),
  committerEmail: z.string().nullish(),
  author: graphqlUserSchema.nullish(),
});
const commitsSchema = z.object({
  project: z.object({
    mergeRequest: z.object({
      committers: z.object({ nodes: z.array(graphqlUserSchema) }),
      commits: z.object({
        pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullish() }),
        nodes: z.array(commitSchema),
      }),
    }),
  }),
});
type Commit = z.output<typeof commitSchema>;

const versionsSchema = z.array(z.object({ id: z.number(), head_commit_sha: z.string().nullish() }));

/** https://docs.gitlab.com/api/events/: a push that moved more than three branches is one event without `ref`. */
const eventsSchema = z.array(
  z.object({
    author: userField.nullish(),
    push_data: z
      .object({
        ref_type: z.string().nullish(),
        ref: z.string().nullish(),
        commit_from: z.string().nullish(),
        commit_to: z.string().nullish(),
      })
      .nullish(),
  }),
);

export async function getAuthorship(client: GitLabClient, change: ChangeRequest, self: string): Promise<Authorship> {
  const [accounts, pushes, opened] = await Promise.all([
    getAccounts(client, change),
    // The token need not see the source project of a fork.
    change.fork ? [] : getPushes(client, change),
    getOpened(client, change),
  ]);
  const reverts = revertOf(change.headBranch) ?? (change.author?.id === self ? "unknown" : undefined);
  return { accounts, pushes, opened, reverts };
}

async function getAccounts(client: GitLabClient, change: ChangeRequest): Promise<Authorship["accounts"]> {
  const asked = `read the commits of ${change.repository}!${change.number}`;
  const commits: Commit[] = [];
  let committers: readonly User[] = [];
  let after: string | null = null;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const variables: Record<string, unknown> = { path: change.repository, iid: String(change.number), after };
    const { project } = await client.query(commitsSchema, asked, COMMITS_QUERY, variables);
    const { mergeRequest } = project;
    committers = mergeRequest.committers.nodes;
    commits.push(...mergeRequest.commits.nodes);
    const { hasNextPage, endCursor } = mergeRequest.commits.pageInfo;
    if (!hasNextPage || !endCursor) break;
    after = endCursor;
  }
  return accountsOf(commits, committers);
}

/** A committer whose address belongs to no author may be any committer of the merge request that matched no commit. */
export function accountsOf(commits: readonly Commit[], committers: readonly User[]): Authorship["accounts"] {
  const byEmail = new Map(
    commits.flatMap(({ authorEmail, author }) => (authorEmail && author ? [[authorEmail, author]] : [])),
  );
  const matched = new Set(commits.map(({ committerEmail }) => byEmail.get(committerEmail ?? "")?.id));
  const others = committers.filter(({ id }) => !matched.has(id));
  return new Map(
    commits.map(({ sha, author, committerEmail }): [string, CommitAccounts] => {
      const committer = byEmail.get(committerEmail ?? "");
      const people = [...(author ? [author] : []), ...(committer === undefined ? others : [committer])];
      return [sha, { people, unknown: !author || committer === undefined }];
    }),
  );
}

/** Pushes to the head branch, newest first, back to its creation. */
async function getPushes(client: GitLabClient, change: ChangeRequest): Promise<readonly Push[]> {
  const asked = `read who pushed to ${change.headBranch} of ${change.repository}`;
  const pushes: Push[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const events = await client.read(eventsSchema, asked, (gitlab) =>
      new Events(gitlab).all({ projectId: change.repository, action: "pushed", sort: "desc", perPage: 100, page }),
    );
    const found = events.flatMap((event) => pushOf(event, change.headBranch));
    pushes.push(...found);
    const isCreated = found.some(({ before, after }) => before === undefined && after !== undefined);
    if (isCreated || events.length < 100) break;
  }
  return pushes;
}

function pushOf({ author, push_data: push }: z.output<typeof eventsSchema>[number], branch: string): readonly Push[] {
  if (!push) return [];
  const by = author ?? undefined;
  if (!push.ref) return [{ by, before: undefined, after: undefined }];
  if (push.ref !== branch || (push.ref_type ?? "branch") !== "branch") return [];
  return [{ by, before: push.commit_from ?? undefined, after: push.commit_to ?? "deleted" }];
}

/** The head of the oldest version of the diff. */
async function getOpened(client: GitLabClient, change: ChangeRequest): Promise<string | undefined> {
  const asked = `read the versions of ${change.repository}!${change.number}`;
  const versions = await client.read(versionsSchema, asked, (gitlab) =>
    new MergeRequests(gitlab).allDiffVersions(change.repository, change.number),
  );
  const [oldest] = versions.toSorted((one, other) => one.id - other.id);
  return oldest?.head_commit_sha ?? undefined;
}
