import type { FileChanges, OpenRequest, Push, SeenChangeRequest, SeenStatus } from "../forge.js";
import { NO_COMMIT, recordPush } from "./activities.js";
import { dequeue } from "./merge-queue.js";
import { baseTip } from "./mergeability.js";
import { type Issue, type Pull, type Repository, type World } from "./world.js";

/** Creates the head branch, in a fork if requested, and its pull request. */
export async function openPull(world: World, request: OpenRequest): Promise<Pull> {
  const repository = world.repository(request.repository);
  const { store } = world;
  const base = request.base ?? repository.defaultBranch;
  const baseSha = await store.resolve(repository.fullName, `refs/heads/${base}`);
  if (baseSha === undefined) throw new Error(`There is no branch ${base} in ${repository.fullName}`);
  const headRepository = request.fork === true ? await forkOf(world, repository, request.by) : repository;
  const copied = request.at ?? baseSha;
  if (headRepository !== repository) await store.copyObjects(repository.fullName, headRepository.fullName, copied);
  const number = nextNumber(repository);
  const branch = request.branch ?? `change-${number}`;
  const pull: Pull = {
    ...issueFacts(world, repository, number, request.by, request.title ?? `Change ${number}`),
    headRepository,
    headBranch: branch,
    reviews: [],
    baseChanges: [],
    reviewRequests: new Set(),
    body: "",
    lastEditedAt: null,
    draft: request.draft ?? false,
    headSha: baseSha,
    baseBranch: base,
    baseSha,
    merged: undefined,
    stackBase: undefined,
    pendingReads: 0,
    updating: undefined,
  };
  repository.pulls.set(number, pull); // before the first await, to reserve the number
  if (request.at !== undefined) await store.setRef(headRepository.fullName, `refs/heads/${branch}`, request.at);
  const commit = { from: baseSha, message: pull.title, author: request.author ?? request.by };
  const isAt = request.at !== undefined && Object.keys(request.changes).length === 0;
  const head = isAt ? request.at : await store.commit(headRepository.fullName, branch, request.changes, commit);
  recordPush(world, headRepository, {
    branch,
    before: NO_COMMIT,
    after: head,
    by: pull.author,
    type: "branch_creation",
  });
  await moveHead(world, pull, head);
  return pull;
}

export function newIssue(world: World, repository: Repository, by: string): Issue {
  const number = nextNumber(repository);
  const issue = issueFacts(world, repository, number, by, `Issue ${number}`);
  repository.issues.set(number, issue);
  return issue;
}

/** Commits to a branch. Returns the commit and the open pull requests whose head moved, with their old heads. */
export async function pushTo(
  world: World,
  repository: Repository,
  branch: string,
  changes: FileChanges,
  push: Push & { readonly by: string },
): Promise<{ readonly commit: string; readonly moved: readonly { readonly pull: Pull; readonly before: string }[] }> {
  return world.oneAfterTheOther(async () => {
    const from = await world.store.resolve(repository.fullName, `refs/heads/${repository.defaultBranch}`);
    const old = await world.store.resolve(repository.fullName, `refs/heads/${branch}`);
    const by = world.person(push.by);
    const commit = await world.store.commit(repository.fullName, branch, changes, { author: push.by, ...push, from });
    const type = old === undefined ? "branch_creation" : (push.onto ?? push.back) === undefined ? "push" : "force_push";
    recordPush(world, repository, { branch, before: old ?? NO_COMMIT, after: commit, by, type });
    const moved: { pull: Pull; before: string }[] = [];
    for (const pull of openPullsFrom(world, repository, branch)) {
      moved.push({ pull, before: pull.headSha });
      await moveHead(world, pull, commit);
    }
    return { commit, moved };
  });
}

/** Open pull requests, in any repository, whose head is this branch. */
export function openPullsFrom(world: World, repository: Repository, branch: string): Pull[] {
  const pulls = [...world.repositories.values()].flatMap((candidate) => [...candidate.pulls.values()]);
  return pulls.filter(
    (pull) => pull.state === "open" && pull.headRepository === repository && pull.headBranch === branch,
  );
}

/** Moves the head, and with it `refs/pull/<n>/head` in the target repository. */
export async function moveHead(world: World, pull: Pull, head: string): Promise<void> {
  const { fullName } = pull.repository;
  dequeue(pull);
  if (pull.headRepository !== pull.repository) {
    await world.store.copyObjects(pull.headRepository.fullName, fullName, head);
  }
  await world.store.setRef(fullName, `refs/pull/${pull.number}/head`, head);
  pull.baseSha = await baseTip(world, pull);
  pull.headSha = head;
  pull.updatedAt = world.now();
}

export function closePull(world: World, pull: Pull): Pull {
  if (pull.state === "closed") throw new Error(`#${pull.number} is closed already`);
  pull.state = "closed";
  pull.repository.closed += 1;
  pull.closedAt = pull.updatedAt = world.now();
  return pull;
}

/** Picks up commits that were pushed while it was closed. */
export async function reopenPull(world: World, pull: Pull): Promise<Pull> {
  const closed = pull.state === "closed" && pull.merged === undefined;
  if (!closed) throw new Error(`#${pull.number} cannot be reopened`);
  const head = await world.store.resolve(pull.headRepository.fullName, `refs/heads/${pull.headBranch}`);
  if (head === undefined) throw new Error(`The head branch ${pull.headBranch} is gone`);
  pull.state = "open";
  pull.repository.closed -= 1;
  pull.closedAt = undefined;
  await moveHead(world, pull, head);
  return pull;
}

export async function retargetPull(world: World, pull: Pull, base: string): Promise<void> {
  const baseSha = await world.store.resolve(pull.repository.fullName, `refs/heads/${base}`);
  if (baseSha === undefined) throw new Error(`There is no branch ${base} in ${pull.repository.fullName}`);
  pull.baseChanges.push({ from: pull.baseBranch, to: base, at: world.now() });
  Object.assign(pull, { baseBranch: base, baseSha, updatedAt: world.now() });
}

export function seen(pull: Pull): SeenChangeRequest {
  return {
    number: pull.number,
    title: pull.title,
    author: pull.author.login,
    state: pull.merged !== undefined ? "merged" : pull.state,
    draft: pull.draft,
    headBranch: pull.headBranch,
    baseBranch: pull.baseBranch,
    headRevision: pull.headSha,
    mergedBy: pull.merged?.by.login,
    comments: pull.comments.map(({ id, author, body, edited, reactions, minimizedReason }) => ({
      id: String(id),
      author: author.login,
      body,
      edited,
      reactions: reactions.map(({ by, content }) => ({ by: by.login, name: content })),
      minimised: minimizedReason !== undefined,
    })),
  };
}

/** Every status ever set on a commit, oldest first. */
export function seenStatuses({ statuses }: Repository, revision: string): readonly SeenStatus[] {
  return (statuses.get(revision) ?? []).map(({ context, state, description, targetUrl }) => ({
    name: context,
    state: state === "error" ? "failure" : state,
    description: description ?? "",
    url: targetUrl ?? undefined,
  }));
}

/** The person's fork, created on first use. */
function forkOf(world: World, repository: Repository, by: string): Promise<Repository> {
  return world.oneAfterTheOther(async () => {
    const name = `${by}/${repository.name}`;
    const known = world.repositories.get(name);
    if (known !== undefined) return known;
    await world.store.fork(repository.fullName, name);
    return world.addRepository(name, {
      parent: repository,
      defaultBranch: repository.defaultBranch,
      private: repository.private,
    });
  });
}

/** Issues and pull requests share one sequence of numbers. */
function nextNumber(repository: Repository): number {
  return repository.pulls.size + repository.issues.size + 1;
}

function issueFacts(world: World, repository: Repository, number: number, by: string, title: string): Issue {
  const at = world.now();
  return {
    id: world.newId(),
    repository,
    number,
    author: world.person(by),
    title,
    state: "open",
    createdAt: at,
    updatedAt: at,
    closedAt: undefined,
    comments: [],
    labels: [],
  };
}
