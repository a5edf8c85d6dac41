import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequest, ChangeRequestRef, Mergeability } from "../../core/model/change-request.js";
import { BaseBranchGone } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost } from "../../core/ports/code-host.js";
import {
  type HostServer,
  idField,
  ifFound,
  readUntil,
  repositoryField,
  revisionField,
  underPresentName,
  urlsAtAliases,
} from "../host-answer.js";
import type { GitHubClient } from "./client.js";
import { nameOf } from "./installations.js";
import { userField } from "./webhook.js";
import { GITHUB } from "./words.js";

const pullSchema = z.object({
  title: z.string(),
  html_url: z.string().max(2000),
  state: z.enum(["open", "closed"]),
  merged: z.boolean(),
  /** The commit of the merge; of an open pull request, that of a trial merge. */
  merge_commit_sha: revisionField.nullish(),
  mergeable: z.boolean().nullish(),
  mergeable_state: z.string().nullish(),
  draft: z.boolean().nullish(),
  user: userField.nullish(),
  head: z.object({
    ref: z.string().min(1).max(1000),
    sha: revisionField,
    repo: z.object({ id: idField, full_name: repositoryField.optional() }).nullish(),
  }),
  base: z.object({
    ref: z.string().min(1).max(1000),
    /** The tip when the pull request last changed. */
    sha: revisionField,
    repo: z.object({
      id: idField,
      full_name: repositoryField,
      default_branch: z.string().min(1).max(1000),
      clone_url: z.string().max(2000).nullish(),
      ssh_url: z.string().max(2000).nullish(),
      html_url: z.string().max(2000).nullish(),
    }),
  }),
  /** The stack that it belongs to: https://docs.github.com/pull-requests/reference/stacked-pull-requests */
  stack: z.object({ base: z.object({ ref: z.string().min(1).max(1000) }) }).nullish(),
});
type Pull = z.output<typeof pullSchema>;

const branchSchema = z.object({ commit: z.object({ sha: revisionField }), protected: z.boolean().nullish() });
const comparisonSchema = z.object({
  base_commit: z.object({ sha: revisionField }),
  merge_base_commit: z.object({ sha: revisionField }),
});

/** Reads how a pull request stands. */
export function createChangeRequests(
  client: GitHubClient,
  server: HostServer,
  clock: Clock,
): Pick<CodeHost, "getChangeRequest" | "state" | "mergeability"> {
  return {
    getChangeRequest: (change, signal) => getChangeRequest(client, change, server, signal),
    state: async (change) => stateOf(await findPull(client, change)),
    mergeability: (change, signal) => getMergeability(client, change, clock, signal),
  };
}

/**
 * Reads the pull request, then the tip of its base branch and, at the same time, where the two branched. The comparison names the
 * branch because the tip is not known yet. It is made again with the tip if GitHub compared another commit, which happens when the
 * branch has just moved or a tag has its name.
 */
async function getChangeRequest(
  client: GitHubClient,
  given: ChangeRequestRef,
  server: HostServer,
  signal?: AbortSignal,
): Promise<ChangeRequest> {
  const pull = await findPull(client, given, signal);
  const change = { ...given, repository: pull.base.repo.full_name, repositoryId: pull.repositoryId };
  const { ref, sha } = pull.base;
  const compare = (base: string) =>
    client.read(
      comparisonSchema,
      change.repository,
      `compare the base branch of ${change.repository}#${change.number} with its head`,
      ({ rest }, at) =>
        rest.repos.compareCommitsWithBasehead({ ...at, basehead: `${base}...${pull.head.sha}`, per_page: 1 }),
      signal,
    );
  const [base, early] = await Promise.all([
    ifFound(findBranch(client, change, ref, signal)),
    // If it fails, it is made again with the tip, and a second failure is reported.
    compare(ref).catch(() => undefined),
  ]);
  // Deleting the base branch closes the pull request; then its last known tip counts.
  if (base === undefined && pull.state !== "closed") {
    throw new BaseBranchGone(changeOf(pull, change, { baseRevision: sha, mergeBase: sha }, server));
  }
  const tip = base?.revision ?? sha;
  const comparison = early?.base_commit.sha === tip ? early : await compare(tip);
  return changeOf(pull, change, { baseRevision: tip, mergeBase: comparison.merge_base_commit.sha }, server);
}

function changeOf(
  pull: Pull,
  change: ChangeRequestRef,
  at: Pick<ChangeRequest, "baseRevision" | "mergeBase">,
  server: HostServer,
): ChangeRequest {
  const { full_name: fullName, clone_url, ssh_url, html_url } = pull.base.repo;
  const stackBase = pull.stack?.base.ref;
  return {
    host: "hosta",
    repository: change.repository,
    repositoryId: change.repositoryId,
    number: change.number,
    title: pull.title.slice(0, 1000),
    webUrl: pull.html_url,
    author: pull.user ?? undefined,
    state: stateOf(pull),
    draft: pull.draft === true,
    fork: pull.head.repo?.id !== pull.base.repo.id,
    headBranch: pull.head.ref,
    baseBranch: pull.base.ref,
    ...(stackBase === pull.base.ref ? {} : { stackBase }),
    defaultBranch: pull.base.repo.default_branch,
    headRevision: pull.head.sha,
    ...at,
    ...(pull.merged && pull.merge_commit_sha ? { mergedAs: pull.merge_commit_sha } : {}),
    mergeability: mergeabilityOf(pull),
    repositoryUrls: [
      ...[clone_url, ssh_url, html_url].filter((url) => typeof url === "string"),
      ...urlsAtAliases(server, fullName),
    ],
  };
}

function stateOf({ merged, state }: Pull): ChangeRequest["state"] {
  return merged ? "merged" : state;
}

/** The pull request under the name that its repository has now. */
async function findPull(client: GitHubClient, change: ChangeRequestRef, signal?: AbortSignal) {
  const read = async (at: ChangeRequestRef) => {
    const pull = await getPull(client, at, signal);
    return { ...pull, repositoryId: pull.base.repo.id };
  };
  return underPresentName(change, read, (id) => nameOf(client, id), GITHUB);
}

export const repositorySchema = z.object({ id: idField, full_name: repositoryField });

/** The repository that has this name, or had it last if none has it. */
export async function findRepository(client: GitHubClient, name: RepositoryName) {
  const asked = `read the repository ${name}`;
  return client.read(repositorySchema, name, asked, ({ rest }, at) => rest.repos.get({ ...at }));
}

/** GitHub computes `mergeable` in the background, after the pull request is read. */
async function getMergeability(
  client: GitHubClient,
  change: ChangeRequestRef,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Mergeability> {
  const pull = await readUntil(
    () => getPull(client, change, signal),
    (read) => read.state !== "open" || typeof read.mergeable === "boolean",
    clock,
    signal,
  );
  return mergeabilityOf(pull);
}

function mergeabilityOf({ state, mergeable }: Pull): Mergeability {
  if (state !== "open" || typeof mergeable !== "boolean") return "unknown";
  return mergeable ? "mergeable" : "conflicts";
}

export async function getPull(client: GitHubClient, change: ChangeRequestRef, signal?: AbortSignal): Promise<Pull> {
  const asked = `read the pull request ${change.repository}#${change.number}`;
  return client.read(
    pullSchema,
    change.repository,
    asked,
    (octokit, at) => octokit.rest.pulls.get({ ...at, pull_number: change.number }),
    signal,
  );
}

/** One branch, never a tag of the same name. */
export async function findBranch(client: GitHubClient, change: ChangeRequestRef, branch: string, signal?: AbortSignal) {
  const asked = `read the branch ${branch} of ${change.repository}`;
  const { commit, protected: isProtected } = await client.read(
    branchSchema,
    change.repository,
    asked,
    (octokit, at) => octokit.rest.repos.getBranch({ ...at, branch }),
    signal,
  );
  return { revision: commit.sha, protected: isProtected === true };
}
