import type { AccountProvider } from "./account.js";
import type { ApplicationName } from "./brand.js";
import { fullMinuteText } from "./time.js";

/** While it stands, svc neither syncs nor merges what it names; rollbacks go on. */
export interface Hold {
  readonly id: string;
  /** Names and patterns of applications. */
  readonly applications: readonly string[];
  /** For people. Untrusted. */
  readonly reason: string;
  /** Who set it; `provider` is the code host of the comment, or where an administrator logged in. */
  readonly by: { readonly provider: AccountProvider; readonly id: string; readonly login: string };
  /** ISO 8601. */
  readonly since: string;
  /** ISO 8601; the store forgets it then. */
  readonly until: string;
}

/** A hold of an application, or of something that its deployment reaches. */
export interface HoldOf extends Pick<Hold, "reason" | "until"> {
  readonly application: ApplicationName;
  /** Login of who set it. */
  readonly by: string;
}

/** Says who holds what, until when and why: `ana holds web until 2026-03-01 18:00 UTC: migration`. Untrusted. */
export function holdClause(hold: HoldOf): string {
  return `${hold.by} holds ${hold.application} until ${fullMinuteText(new Date(hold.until))}: ${hold.reason}`;
}
