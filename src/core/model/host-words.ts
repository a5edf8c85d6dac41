import type { HostId } from "../../names.js";

/** What texts for a code host depend on. */
export interface HostWords {
  /** The product's name. */
  readonly title: string;
  /** The longest comment that we post, in UTF-16 code units. */
  readonly maxComment: number;
  /** The longest description of a commit status, in characters. */
  readonly maxStatusDescription: number;
  /** The description of a pending commit status cannot be changed while the status stays pending. */
  readonly keepsPendingText: boolean;
}

/** The words of every host that svc knows, configured or not. */
export type AllHostWords = Readonly<Record<HostId, HostWords>>;
