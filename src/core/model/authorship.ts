import type { User } from "./change-request.js";

/** Who is behind the commits of a change request, as the host tells. An e-mail address can be forged, a push cannot. */
export interface Authorship {
  /** By commit. The host knows nothing about one that is missing. */
  readonly accounts: ReadonlyMap<string, CommitAccounts>;
  /** Pushes to the head branch, in any order, as far back as the host tells them. */
  readonly pushes: readonly Push[];
  /** The head with which the author opened the change request, and so answers for; undefined if the host does not tell. */
  readonly opened: string | undefined;
}

export interface CommitAccounts {
  /** Author, co-authors and committer, without the host's own account. */
  readonly people: readonly User[];
  /** Some of the addresses belong to no account. */
  readonly unknown: boolean;
}

export interface Push {
  /** Undefined for a deleted account. */
  readonly by: User | undefined;
  /** The head before; undefined for a new branch. */
  readonly before: string | undefined;
  /** The head after; undefined if the host only tells that somebody pushed to several branches, perhaps to this one. */
  readonly after: string | undefined;
}
