import type { LoginProvider } from "../../core/model/account.js";
import type { LoginAttempt } from "../../store/session-data.js";
import type { LoginRefusal } from "./refusal.js";

/** A provider that people are sent to, and come back from with a code. */
export interface RedirectProvider {
  readonly id: Exclude<LoginProvider, "basic">;
  /** What stands on its button. */
  readonly name: string;
  /** Where to send the person; the refusal when that cannot be known. */
  begin(attempt: BegunAttempt, callbackUrl: string): Promise<URL | LoginRefusal>;
  /**
   * Who came back. Exchanges the code, asks who it is and where the person belongs, and keeps no token.
   * @param answer the callback address as configured, with the query that came.
   */
  finish(answer: URL, attempt: LoginAttempt): Promise<LoginFacts | LoginRefusal>;
}

export type BegunAttempt = Pick<LoginAttempt, "state" | "codeVerifier" | "nonce">;

/** What a provider says of a person whom it may let in. */
export interface LoginFacts {
  readonly provider: Exclude<LoginProvider, "basic">;
  /** The provider's own id of the person, which outlives renames. */
  readonly subject: string;
  readonly username: string;
  /** Verified; undefined when there is none. */
  readonly email: string | undefined;
  /** Teams (`<org>/<team-slug>`) or groups that the person is proven to belong to. */
  readonly groups: readonly string[];
  /** Patterns of `role_assignments` about which the provider could not say, with what to look at. */
  readonly unproven: ReadonlyMap<string, string>;
}

export function isRefusal(value: object): value is LoginRefusal {
  return "reason" in value;
}
