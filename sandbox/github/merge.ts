import type { MergeMethod } from "../git/git-store.js";
import { recordPush } from "./activities.js";
import { baseTip, readMergeability } from "./mergeability.js";
import { reviewDecision } from "./reviews.js";
import { type Person, type Pull, type World } from "./world.js";

export interface MergeRefusal {
  readonly status: 403 | 405 | 409;
  readonly message: string;
}

const notAllowed: Readonly<Record<MergeMethod, string>> = {
  merge: "Merge commits are not allowed on this repository.",
  squash: "Squash merges are not allowed on this repository.",
  rebase: "Rebase merges are not allowed on this repository.",
};

export interface MergeWish {
  readonly method: MergeMethod;
  readonly by: Person;
  /** The expected head; undefined accepts any. */
  readonly sha: string | undefined;
  readonly title: string | undefined;
  readonly text: string | undefined;
}

/** Merges if every rule of the repository allows it. Otherwise returns GitHub's refusal. */
export function mergePull(world: World, pull: Pull, wish: MergeWish): Promise<MergeRefusal | undefined> {
  return world.oneAfterTheOther(() => merge(world, pull, wish));
}

/** A person presses the merge button, with the first method that the repository allows. */
export async function mergeByButton(world: World, pull: Pull, by: Person): Promise<void> {
  const [method = "merge"] = pull.repository.mergeMethods;
  const refusal = await mergePull(world, pull, { method, by, sha: undefined, title: undefined, text: undefined });
  if (refusal !== undefined) throw new Error(`GitHub: ${refusal.message}`);
}

async function merge(world: World, pull: Pull, wish: MergeWish): Promise<MergeRefusal | undefined> {
  const { repository } = pull;
  if (pull.state !== "open") return { status: 405, message: "Pull Request is not mergeable" };
  if (pull.draft) return { status: 405, message: "Pull Request is still a draft" };
  if (pull.stackBase !== undefined) {
    const message = "This pull request is part of a stack and must be merged using the asynchronous merge REST API.";
    return { status: 403, message };
  }
  if (wish.sha !== undefined && wish.sha !== pull.headSha) {
    return { status: 409, message: "Head branch was modified. Review and try the merge again." };
  }
  if (repository.mergeQueues.has(pull.baseBranch)) {
    return { status: 405, message: "Changes must be made through the merge queue" };
  }
  if (!repository.mergeMethods.has(wish.method)) return { status: 405, message: notAllowed[wish.method] };
  const decision = reviewDecision(world, pull);
  if (decision !== null && decision !== "APPROVED") {
    const needed = `At least ${repository.requiredReviews} approving review is required by reviewers with write access.`;
    return { status: 405, message: needed };
  }
  const head = pull.headSha;
  if ((await readMergeability(world, pull)) !== "mergeable") {
    return { status: 405, message: "Pull Request is not mergeable" };
  }
  const title = wish.title ?? defaultTitle(pull, wish.method);
  const message = wish.text === undefined || wish.text === "" ? title : `${title}\n\n${wish.text}`;
  pull.baseSha = await baseTip(world, pull);
  const { login } = wish.by;
  const before = pull.baseSha;
  const commit = await world.store.merge(repository.fullName, pull.baseBranch, head, wish.method, message, login);
  recordPush(world, repository, { branch: pull.baseBranch, before, after: commit, by: wish.by, type: "pr_merge" });
  pull.state = "closed";
  repository.closed += 1;
  pull.merged = { at: world.now(), by: wish.by, commit };
  repository.contributors.add(pull.author);
  pull.closedAt = pull.merged.at;
  pull.updatedAt = pull.merged.at;
  return undefined;
}

function defaultTitle(pull: Pull, method: MergeMethod): string {
  if (method === "squash") return `${pull.title} (#${pull.number})`;
  return `Merge pull request #${pull.number} from ${pull.headRepository.owner.login}/${pull.headBranch}`;
}
