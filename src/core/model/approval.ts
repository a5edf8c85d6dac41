/** Who approved the current head commit, by the host's rules and ours. */
export interface Approval {
  /** Someone other than the author approved the head commit, the host's rules are met, and nobody requests changes. */
  readonly approved: boolean;
  /** Logins of the people whose approval counts. */
  readonly approvers: readonly string[];
  /** A sentence for people; undefined if approved. */
  readonly missing: string | undefined;
}
