import type { CommitFacts } from "../../git/commit-log.js";
import { FOLDER_MODE } from "../../git/tree-entries.js";
import { mergeBaseOf } from "../mergeability.js";
import { latestOpinionatedReviews, reviewDecision } from "../reviews.js";
import { permits, type InstallationToken } from "../tokens.js";
import {
  isPull,
  nodeId,
  type Comment,
  type Issue,
  type Person,
  type Pull,
  type QueueEntry,
  type Repository,
  type World,
} from "../world.js";
import { type EnqueueInput, enqueuePull } from "./enqueue-pull.js";
import { lastPage, onePage, TypedError } from "./fields.js";
import { type RevertInput, revertPull } from "./revert-pull.js";

type Resolvers = Readonly<Record<string, unknown>>;

interface Page {
  readonly first?: number | null;
  readonly after?: string | null;
}

/** Root of queries and mutations, with the fields that clients of the sandbox request. */
export function rootResolvers(
  world: World,
  token: InstallationToken,
  { opened, queued }: { readonly opened: (pull: Pull) => void; readonly queued: (entry: QueueEntry) => void },
): Resolvers {
  return {
    repository: ({ owner, name }: { owner: string; name: string }) => {
      const repository = world.repositories.get(`${owner}/${name}`);
      if (repository === undefined || !permits(token, repository, "metadata", "read")) {
        throw new TypedError("NOT_FOUND", `Could not resolve to a Repository with the name '${owner}/${name}'.`);
      }
      return {
        object: ({ expression }: { expression?: string | null }) =>
          objectAt(world, token, repository, expression ?? ""),
        pullRequest: ({ number }: { number: number }) => pullRequest(world, token, repository, number),
        refs: async ({ refPrefix, first, after }: Page & { refPrefix: string }) => {
          const all = await world.store.branches(repository.fullName);
          const names = all.map((branch) => `refs/heads/${branch}`).filter((ref) => ref.startsWith(refPrefix));
          const nodes = names.map(async (ref) => ({
            target: { __typename: "Commit", oid: await world.store.resolve(repository.fullName, ref) },
          }));
          return onePage("refs", await Promise.all(nodes), first, after);
        },
        mergeQueue: ({ branch }: { branch?: string | null }) => mergeQueue(token, repository, branch),
        pullRequests: (page: Page & { states?: readonly string[] | null }) => pullRequests(token, repository, page),
      };
    },
    nodes: ({ ids }: { ids: readonly string[] }) => ids.map((id) => commentNode(world, token, id)),
    revertPullRequest: async ({ input }: { input: RevertInput }) => {
      const pull = await revertPull(world, token, input);
      opened(pull);
      return { revertPullRequest: { number: pull.number } };
    },
    enqueuePullRequest: async ({ input }: { input: EnqueueInput }) => {
      const entry = await enqueuePull(world, token, input);
      queued(entry);
      const entries = entry.pull.repository.mergeQueues.get(entry.pull.baseBranch) ?? [];
      return { mergeQueueEntry: { position: entries.indexOf(entry) + 1 } };
    },
    minimizeComment: ({ input }: { input: { subjectId: string; classifier: string } }) => {
      const found = findComment(world, input.subjectId);
      if (found === undefined) {
        throw new TypedError("NOT_FOUND", `Could not resolve to a node with the global id of '${input.subjectId}'`);
      }
      const needed = isPull(found.issue) ? "pull_requests" : "issues";
      if (!permits(token, found.issue.repository, needed, "write")) {
        throw new TypedError("FORBIDDEN", "Resource not accessible by integration");
      }
      found.comment.minimizedReason = input.classifier.toLowerCase();
      return { minimizedComment: { __typename: "IssueComment", isMinimized: true } };
    },
  };
}

/** GitHub cuts texts after 512,000 bytes. */
const LONGEST_TEXT = 512_000;

/** What `<revision>:<name>` of the root is. */
function objectAt(world: World, token: InstallationToken, repository: Repository, expression: string): object | null {
  if (!permits(token, repository, "contents", "read")) {
    throw new TypedError("FORBIDDEN", "Resource not accessible by integration");
  }
  const [rev = "", name = ""] = expression.split(":");
  const entry = world.store.entryAt(repository.fullName, rev, name);
  if (entry === undefined) return null;
  if (entry.mode === FOLDER_MODE) return { __typename: "Tree" };
  const text = entry.content.includes(0) ? null : entry.content.subarray(0, LONGEST_TEXT).toString("utf8");
  return { __typename: "Blob", text, isTruncated: entry.content.length > LONGEST_TEXT };
}

function pullRequests(
  token: InstallationToken,
  repository: Repository,
  { states, first, after }: Page & { readonly states?: readonly string[] | null },
): object {
  if (!permits(token, repository, "pull_requests", "read")) {
    throw new TypedError("FORBIDDEN", "Resource not accessible by integration");
  }
  const stateOf = ({ merged, state }: Pull): string => (merged === undefined ? state.toUpperCase() : "MERGED");
  const wanted = [...repository.pulls.values()].filter((pull) => !states || states.includes(stateOf(pull)));
  const nodes = wanted.map(({ number, headSha }) => ({ number, headRefOid: headSha }));
  return onePage("pullRequests", nodes, first, after);
}

function mergeQueue(token: InstallationToken, repository: Repository, branch?: string | null): object | null {
  if (!permits(token, repository, "merge_queues", "read")) {
    throw new TypedError("FORBIDDEN", "Resource not accessible by integration");
  }
  const entries = repository.mergeQueues.get(branch ?? repository.defaultBranch);
  if (entries === undefined) return null;
  const nodes = entries.map(({ pull, baseSha, headSha }, index) => ({
    position: index + 1,
    baseCommit: { oid: baseSha },
    headCommit: { oid: headSha },
    pullRequest: { number: pull.number, headRefOid: pull.headSha },
  }));
  return { entries: ({ first, after }: Page) => onePage("entries", nodes, first, after) };
}

function pullRequest(world: World, token: InstallationToken, repository: Repository, number: number): Resolvers {
  if (!permits(token, repository, "pull_requests", "read")) {
    throw new TypedError("FORBIDDEN", "Resource not accessible by integration");
  }
  const pull = repository.pulls.get(number);
  if (pull === undefined) {
    throw new TypedError("NOT_FOUND", `Could not resolve to a PullRequest with the number of ${number}.`);
  }
  return {
    id: nodeId("PR", pull.id),
    body: pull.body,
    lastEditedAt: pull.lastEditedAt,
    headRefOid: pull.headSha,
    baseRefName: pull.baseBranch,
    isMergeQueueEnabled: repository.mergeQueues.has(pull.baseBranch),
    isInMergeQueue: repository.mergeQueues.get(pull.baseBranch)?.some((entry) => entry.pull === pull) === true,
    reviewDecision: reviewDecision(world, pull),
    latestOpinionatedReviews: ({ first, writersOnly }: Page & { writersOnly?: boolean | null }) => {
      const reviews = latestOpinionatedReviews(world, pull, writersOnly ?? false);
      const nodes = reviews.map(({ state, author, commit, submittedAt }) => ({
        state,
        submittedAt,
        author: actor(author),
        commit: { oid: commit },
      }));
      return onePage("latestOpinionatedReviews", nodes, first);
    },
    // The sandbox keeps no other entries, and changes no base by itself.
    timelineItems: ({ last, itemTypes }: { last?: number | null; itemTypes?: readonly string[] | null }) => {
      const wanted = itemTypes?.includes("BASE_REF_CHANGED_EVENT") === true ? pull.baseChanges : [];
      const nodes = wanted.map(({ from, to, at }) => ({
        __typename: "BaseRefChangedEvent",
        createdAt: at,
        previousRefName: from,
        currentRefName: to,
      }));
      return lastPage("timelineItems", nodes, last);
    },
    // GitHub lists at most 250 commits of a pull request.
    commits: async ({ first, after }: Page) => {
      const commits = await world.store.commits(repository.fullName, await mergeBaseOf(world, pull), pull.headSha);
      const nodes = commits.map((commit) => ({ commit: commitOf(world, commit) }));
      return onePage("commits", nodes, first, after);
    },
    reviewRequests: ({ first }: Page) => {
      const nodes = [...pull.reviewRequests].map((person) => ({
        // GitHub itself asks code owners for a review.
        asCodeOwner: repository.codeOwners.includes(person),
        requestedReviewer: actor(person),
      }));
      return onePage("reviewRequests", nodes, first);
    },
  };
}

/** The authors are the git author and those whom `Co-authored-by` trailers name. */
function commitOf(world: World, { id, author, email, committer, message }: CommitFacts): Resolvers {
  const trailers = [...message.matchAll(/^co-authored-by: *(.*?) *<(.*)>$/gim)];
  const named = trailers.map(([, name = "", address = ""]) => ({ name, email: address }));
  return {
    oid: id,
    authors: ({ first }: Page) =>
      onePage(
        "authors",
        [{ name: author, email }, ...named].map((one) => gitActor(world, one)),
        first,
      ),
    committer: gitActor(world, committer),
  };
}

function gitActor(world: World, { name, email }: { readonly name: string; readonly email: string }): Resolvers {
  const account = world.accountOf(email);
  return { name, email, user: account === undefined ? null : { databaseId: account.id, login: account.login } };
}

/** GraphQL spells a bot's login without the `[bot]` of REST. */
function actor({ id, type, login }: Person): Resolvers {
  return { __typename: type, databaseId: id, login: type === "Bot" ? login.replace(/\[bot\]$/, "") : login };
}

function commentNode(world: World, token: InstallationToken, id: string): object | null {
  const found = findComment(world, id);
  if (found === undefined || !permits(token, found.issue.repository, "pull_requests", "read")) return null;
  const { edited, updatedAt } = found.comment;
  return { __typename: "IssueComment", id, lastEditedAt: edited ? updatedAt : null };
}

function findComment(world: World, id: string): { issue: Issue | Pull; comment: Comment } | undefined {
  const [prefix = "", encoded = ""] = id.split("_");
  const number = Number(Buffer.from(encoded, "base64url").toString().slice(`${prefix}:`.length));
  if (nodeId("IC", number) !== id) return undefined;
  for (const repository of world.repositories.values()) {
    const found = world.comment(repository, number);
    if (found !== undefined) return found;
  }
  return undefined;
}
