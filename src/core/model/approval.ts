/** The host's verdict and ours on who approved the present head commit. */
export interface Approval {
  /** A person who is not the author approved the head commit, the host's rules are met, and nobody requests changes. */
  readonly approved: boolean;
  /** Logins of the people whose approval counts. */
  readonly approvers: readonly string[];
  /** Why not approved, one sentence for people; undefined when approved. */
  readonly missing: string | undefined;
}
