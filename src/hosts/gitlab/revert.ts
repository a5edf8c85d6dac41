import { Branches, Commits, MergeRequests } from "@gitbeaker/rest";
import * as z from "zod";
import type { ChangeRequest, Reverts, User } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { RevertOutcome } from "../../core/ports/code-host.js";
import { HostRefusal, ifFound, idField, numberField, revisionField } from "../host-answer.js";
import { revertBody, revertTitle } from "../revert-marker.js";
import type { GitLabClient } from "./client.js";

/** A branch keeps its name, unlike the description: it says what is reverted, and who asked for it. */
const BRANCH = /^svc-revert-([1-9]\d{0,9})-by-([1-9]\d{0,19})$/;

export function revertOf(branch: string): Reverts | undefined {
  const [, of, askedBy] = BRANCH.exec(branch) ?? [];
  return of === undefined || askedBy === undefined ? undefined : { of: Number(of), askedBy };
}

/**
 * Opens a revert, or finds the open one: https://docs.gitlab.com/api/commits/#revert-a-commit. What an interrupted attempt left
 * of the branch is made anew; after a failure it goes.
 */
export async function revert(
  client: GitLabClient,
  change: ChangeRequest,
  asker: User,
  self: string,
): Promise<RevertOutcome> {
  const known = await findRevert(client, change, self);
  if (known !== undefined) return { kind: "opened", number: known, known: true };
  const commits = await commitsOf(client, change);
  if (commits.length === 0) return { kind: "refused", reason: "GitLab names no commit of it. Revert it with git" };
  const branch = `svc-revert-${change.number}-by-${asker.id}`;
  await removeBranch(client, change, branch);
  const asked = `create the branch ${branch} in ${change.repository}`;
  await client.ask(asked, (gitlab) => new Branches(gitlab).create(change.repository, branch, change.baseBranch));
  try {
    const refusal = await revertAll(client, change, commits, branch);
    if (refusal !== undefined) {
      await removeBranch(client, change, branch);
      return { kind: "refused", reason: refusal };
    }
    return { kind: "opened", number: await open(client, change, branch, asker), known: false };
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    const made = await findRevert(client, change, self).catch(() => undefined);
    if (made !== undefined) return { kind: "opened", number: made, known: false };
    await removeBranch(client, change, branch).catch(() => undefined);
    throw error;
  }
}

const landedSchema = z.object({
  merge_commit_sha: revisionField.nullish(),
  squash_commit_sha: revisionField.nullish(),
});
const commitsSchema = z.array(z.object({ id: revisionField }));

/** What the merge brought, newest first: one commit, unless it was fast-forward. */
async function commitsOf(client: GitLabClient, { repository, number }: ChangeRequest) {
  const asked = `read what the merge of ${repository}!${number} brought`;
  const landed = await client.read(landedSchema, asked, (gitlab) => new MergeRequests(gitlab).show(repository, number));
  const one = landed.merge_commit_sha ?? landed.squash_commit_sha;
  if (one) return [one];
  const listed = await client.read(commitsSchema, asked, (gitlab) =>
    new MergeRequests(gitlab).allCommits(repository, number, { perPage: 100 }),
  );
  return listed.map(({ id }) => id);
}

/** Tries the first one before it commits anything. @returns Why one of them cannot be reverted. */
async function revertAll(
  client: GitLabClient,
  change: ChangeRequest,
  commits: readonly string[],
  branch: string,
): Promise<string | undefined> {
  const [first = ""] = commits;
  const tried = await revertCommit(client, change, first, branch, true);
  if (tried !== undefined) return tried;
  for (const commit of commits) {
    const failed = await revertCommit(client, change, commit, branch, false);
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** @returns Why it cannot be reverted there. */
async function revertCommit(
  client: GitLabClient,
  { repository }: ChangeRequest,
  commit: string,
  branch: string,
  dryRun: boolean,
): Promise<string | undefined> {
  const asked = `revert ${commit.slice(0, 8)} on ${branch} of ${repository}`;
  try {
    await client.ask(asked, (gitlab) =>
      new Commits(gitlab).revert(repository, commit, branch, dryRun ? { dryRun } : {}),
    );
    return undefined;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 400) {
      return `GitLab says "${error.hostMessage}". Revert it with git`;
    }
    throw error;
  }
}

const openedSchema = z.object({ iid: numberField });

async function open(client: GitLabClient, change: ChangeRequest, branch: string, asker: User): Promise<number> {
  const { repository, number, baseBranch, title } = change;
  const asked = `open a merge request for ${branch} of ${repository}`;
  const answer = await client.ask(asked, (gitlab) =>
    new MergeRequests(gitlab).create(repository, branch, baseBranch, revertTitle(title), {
      description: revertBody(`!${number}`, number, asker),
      removeSourceBranch: true,
    }),
  );
  return openedSchema.parse(answer).iid;
}

/** A branch that is not there is gone. */
async function removeBranch(client: GitLabClient, { repository }: ChangeRequest, branch: string): Promise<void> {
  const asked = `delete the branch ${branch} of ${repository}`;
  await ifFound(client.ask(asked, (gitlab) => new Branches(gitlab).remove(repository, branch)));
}

const MOST_PAGES = 10;
const listSchema = z.array(
  z.object({
    iid: numberField,
    source_branch: z.string(),
    target_branch: z.string(),
    author: z.object({ id: idField }).nullish(),
  }),
);

/** Finds the open revert that svc has made before. @throws {HostFailure} if too many merge requests are open to read them all. */
async function findRevert(client: GitLabClient, change: ChangeRequest, self: string): Promise<number | undefined> {
  const asked = `list the open merge requests of ${change.repository}`;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const listed = await client.read(listSchema, asked, (gitlab) =>
      new MergeRequests(gitlab).all({
        projectId: change.repository,
        state: "opened",
        perPage: 100,
        page,
      }),
    );
    const found = listed.find(
      ({ author, source_branch: branch, target_branch: target }) =>
        author?.id === self && target === change.baseBranch && revertOf(branch)?.of === change.number,
    );
    if (found !== undefined) return found.iid;
    if (listed.length < 100) return undefined;
  }
  throw new HostFailure(
    "failed",
    `${change.repository} has too many open merge requests to find out whether one reverts !${change.number} already.`,
  );
}
