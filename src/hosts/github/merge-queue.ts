import * as z from "zod";
import { HostFailure } from "../../core/model/errors.js";
import type { GroupMembers, MergeGroup } from "../../core/ports/code-host.js";
import { numberField, revisionField } from "../host-answer.js";
import type { GitHubClient } from "./client.js";

/** https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/configuring-pull-request-merges/managing-a-merge-queue */
export const QUEUE_BRANCHES = "gh-readonly-queue/";

/** A queue builds groups of its first hundred entries at most. */
const QUEUE_QUERY = `query ($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) {
    mergeQueue(branch: $branch) {
      entries(first: 100) {
        nodes { position baseCommit { oid } headCommit { oid } pullRequest { number headRefOid } }
      }
    }
  }
}`;

const commitField = z.object({ oid: revisionField }).nullish();
const entryField = z.object({
  position: z.int(),
  baseCommit: commitField,
  headCommit: commitField,
  pullRequest: z.object({ number: numberField, headRefOid: revisionField }).nullish(),
});
const queueSchema = z.object({
  mergeQueue: z.object({ entries: z.object({ nodes: z.array(entryField.nullable()) }) }).nullish(),
});

/** Follows the entries of the queue from the group's head, each built upon the one before, to its base. */
export async function mergeGroup(client: GitHubClient, group: MergeGroup): Promise<GroupMembers | undefined> {
  const { baseBranch: branch, repository, headRevision, baseRevision } = group;
  const asked = `read the merge queue of ${branch} in ${repository}`;
  const { mergeQueue } = await client.queryRepository(queueSchema, repository, asked, QUEUE_QUERY, { branch });
  if (!mergeQueue) throw new HostFailure("forbidden", `GitHub showed no queue: ${asked}`);
  const queue = mergeQueue.entries.nodes.filter((entry) => entry !== null).sort((a, b) => a.position - b.position);
  const inGroup = new Set<(typeof queue)[number]>();
  let at: string | undefined = headRevision;
  while (at !== undefined && at !== baseRevision) {
    const built = queue.filter((entry) => entry.headCommit?.oid === at && !inGroup.has(entry));
    for (const entry of built) inGroup.add(entry);
    const bases = new Set(built.map(({ baseCommit }) => baseCommit?.oid));
    at = bases.size === 1 ? [...bases][0] : undefined;
  }
  const last = queue.findLastIndex((entry) => inGroup.has(entry));
  const upToLast = queue.slice(0, last + 1);
  if (at === undefined || last < 0 || upToLast.some(({ pullRequest }) => !pullRequest)) return undefined;
  const refsOf = (entries: typeof queue) =>
    entries.flatMap(({ pullRequest: pull }) =>
      pull ? [{ ...group, number: pull.number, headRevision: pull.headRefOid }] : [],
    );
  return {
    members: refsOf(upToLast.filter((entry) => inGroup.has(entry))),
    ahead: refsOf(upToLast.filter((entry) => !inGroup.has(entry))),
  };
}
