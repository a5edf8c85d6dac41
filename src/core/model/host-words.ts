import type { HostId } from "../../names.js";

/** What a code host calls its things, and how much text it takes. */
export interface HostWords {
  /** The product's name. */
  readonly title: string;
  /** What it calls a change request: `pull request`. */
  readonly changeRequest: string;
  /** Stands between a repository and the number of a change request, as in `acme/deploy#7`. */
  readonly sigil: string;
  /** The longest comment that we post, in UTF-16 code units. */
  readonly maxComment: number;
  /** The longest description of a commit status, in characters. */
  readonly maxStatusDescription: number;
  /** The description of a pending commit status cannot be changed while the status stays pending. */
  readonly keepsPendingText: boolean;
}

/** The words of every host that svc knows, configured or not. */
export type AllHostWords = Readonly<Record<HostId, HostWords>>;
