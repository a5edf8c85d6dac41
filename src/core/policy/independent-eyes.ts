import type { Revision } from "../model/brand.js";
import type { Authorship, Push, Look, User } from "../model/change-request.js";

export interface EyesFacts {
  readonly head: Revision;
  /** Every commit from the merge base to the head. */
  readonly commits: readonly GraphCommit[];
  /** Merges of the base branch that add nothing of their own. */
  readonly empty: ReadonlySet<string>;
  readonly looks: readonly Look[];
  readonly authorship: Authorship;
  /** Id of our own account. Its pushes carry what somebody had us bring, so by themselves they tell nothing. */
  readonly self: string;
  /** Pushes of ours that rewrote the head into what git makes of it and of a commit of the base branch. */
  readonly updates: ReadonlySet<Push>;
  /** It reverts something, and nobody can tell who asked for that, or who wrote it: it may be any approver. */
  readonly untoldAuthors?: boolean;
}

interface GraphCommit {
  readonly id: Revision;
  readonly parents: readonly string[];
}

/** A commit without an approval by somebody who certainly had no part in it, and why each approver of the head does not count. */
export interface UnseenCommit {
  readonly id: string;
  readonly because: readonly Involved[];
}

export interface Involved {
  readonly by: User;
  readonly how: Involvement;
}

/** How an approver is involved in a commit. `unknown-author`: the host knows no author of it, and the approver pushed to the branch. */
type Involvement = "wrote" | "pushed" | "unknown-author" | "unknown-pusher" | "unknown-asker";

/**
 * The commits that no independent person saw. An approver saw the commits from the base to the approved one. Whoever wrote or
 * pushed a commit is not independent of it. Where the host does not know a commit's author, nobody who pushed to the branch is
 * independent of it; where it does not tell who pushed, any approver may have. What two approvers saw, each saw for the other.
 */
export function unseenCommits(facts: EyesFacts): readonly UnseenCommit[] {
  const { head, commits, empty, looks, authorship, untoldAuthors = false } = facts;
  const history = historiesOf(commits);
  const adding = commits.filter(({ id }) => !empty.has(id));
  const pushes = introductions(facts, history);
  const everPushed = new Set(pushes.flatMap(({ by, brings }) => (adding.some(({ id }) => brings(id)) ? idOf(by) : [])));
  const opened = history(authorship.opened);

  function involvement({ id: person }: User, commit: string): Involvement | undefined {
    const accounts = authorship.accounts.get(commit);
    if (accounts?.people.some(({ id }) => id === person)) return "wrote";
    if (pushes.some(({ by, brings }) => by?.id === person && brings(commit))) return "pushed";
    return (accounts?.unknown ?? true) && everPushed.has(person) ? "unknown-author" : undefined;
  }

  return adding.flatMap(({ id: commit }): UnseenCommit[] => {
    const saw = looks.filter((look) => history(look.saw).has(commit) && !history(look.from).has(commit));
    const independent = saw.filter(({ by }) => involvement(by, commit) === undefined);
    const isTold = opened.has(commit) || pushes.some(({ exact, brings }) => exact && brings(commit));
    if ((isTold && !untoldAuthors && independent.length > 0) || peopleIn(saw) >= 2) return [];
    const because = looks
      .filter(({ saw: seen }) => seen === head)
      .map(({ by }) => ({ by, how: involvement(by, commit) ?? (untoldAuthors ? "unknown-asker" : "unknown-pusher") }));
    return [{ id: commit, because }];
  });
}

/** Finds the part of a commit's history that belongs to the change request; nothing for any other commit. */
function historiesOf(commits: readonly GraphCommit[]): (tip: string | undefined) => ReadonlySet<string> {
  const parents = new Map<string, readonly string[]>(commits.map((commit) => [commit.id, commit.parents]));
  const known = new Map<string, ReadonlySet<string>>();
  return (tip) => {
    if (tip === undefined || !parents.has(tip)) return new Set();
    const history =
      known.get(tip) ?? walk(tip, (id) => (parents.get(id) ?? []).filter((parent) => parents.has(parent)));
    known.set(tip, history);
    return history;
  };
}

/** Everything reachable from a node. Iterating over a set also visits the members that are added meanwhile. */
function walk(from: string, next: (id: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set([from]);
  for (const id of found) for (const reached of next(id)) found.add(reached);
  return found;
}

interface Introduction {
  readonly by: User | undefined;
  /** Whether the push brought this commit, or may have. */
  readonly brings: (commit: string) => boolean;
  /** Which commits it brought is certain. */
  readonly exact: boolean;
}

/**
 * Follows the pushes backwards from the head. One whose commits were pushed away again may have brought anything: somebody
 * may have squashed them. The same goes for pushes to several branches at once where the chain has a gap.
 */
function introductions(
  facts: EyesFacts,
  history: (tip: string | undefined) => ReadonlySet<string>,
): readonly Introduction[] {
  const { head, commits, self, updates } = facts;
  const { pushes } = facts.authorship;
  const own = new Set<string>(commits.map(({ id }) => id));
  const base = new Set<string>(commits.flatMap(({ parents }) => parents.filter((parent) => !own.has(parent))));
  const found: Introduction[] = [];
  const states = new Set<string>([head]);
  let hasGap = false;
  for (const state of states) {
    const ending = pushes.filter(({ after }) => after === state);
    if (ending.length === 0) hasGap = true;
    for (const push of ending) {
      const { by, before } = push;
      const earlier = history(before);
      const brings = (commit: string) => !own.has(state) || (history(state).has(commit) && !earlier.has(commit));
      const tells = by?.id !== self || (updates.has(push) && isAccountedFor(before, facts));
      found.push({ by, brings, exact: own.has(state) && tells });
      if (before !== undefined && !base.has(before)) states.add(before);
    }
  }
  if (!hasGap) return found;
  const several = pushes.filter((push: Push) => push.after === undefined);
  return [...found, ...several.map(({ by }) => ({ by, brings: () => true, exact: false }))];
}

/**
 * Whether the host tells of every push that led to a head which an update rewrote: with a gap, anybody may have brought what
 * the update pushed anew. What it was opened with, its author answers for.
 */
function isAccountedFor(head: string | undefined, { authorship, self, updates }: EyesFacts): boolean {
  const { pushes, opened } = authorship;
  const ending = (state: string) => (state === opened ? [] : pushes.filter(({ after }) => after === state));
  const states = [...walk(head ?? "", (state) => ending(state).flatMap(({ before }) => before ?? []))];
  const starts = states.some((state) => state === opened || ending(state).some(({ before }) => before === undefined));
  return starts && states.every((state) => state === opened || isTold(ending(state)));

  function isTold(found: readonly Push[]): boolean {
    return found.length > 0 && found.every((push) => push.by?.id !== self || updates.has(push));
  }
}

export function peopleIn(looks: readonly Look[]): number {
  return new Set(looks.map(({ by }) => by.id)).size;
}

function idOf(user: User | undefined): readonly string[] {
  return user === undefined ? [] : [user.id];
}
