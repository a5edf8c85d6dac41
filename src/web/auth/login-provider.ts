import type { Account, LoginProvider } from "../../core/model/account.js";
import type { Role } from "../../core/model/settings.js";
import type { LoginAttempt } from "../../store/stores.js";
import type { LoginRefusal } from "./refusal.js";
import type { ProviderTokens } from "./token-seal.js";

/** A provider that people are redirected to, and that sends them back with a code. */
export interface RedirectProvider {
  readonly id: Exclude<LoginProvider, "basic">;
  /** The text on its button. */
  readonly name: string;
  /** Where to redirect to, or the refusal if that is unknown. */
  begin(attempt: LoginStart, callbackUrl: string): Promise<URL | LoginRefusal>;
  /** Asks the provider for the person. `answer` is the callback address with its query; without tokens it cannot be asked about them again. */
  finish(
    answer: URL,
    attempt: LoginAttempt,
  ): Promise<{ readonly facts: LoginFacts; readonly tokens: ProviderTokens | undefined } | LoginRefusal>;
  /** Asks again about a person who logged in. The tokens of the result replace the given ones: some work only once. */
  ask(
    tokens: ProviderTokens,
    subject: string,
  ): Promise<{ readonly answer: LoginFacts | LoginRefusal; readonly tokens: ProviderTokens }>;
}

type LoginStart = Pick<LoginAttempt, "state" | "codeVerifier" | "nonce">;

/** What a provider says about a person. */
export interface LoginFacts {
  readonly provider: Exclude<LoginProvider, "basic">;
  /** The provider's own id of the person; it survives renames. */
  readonly subject: string;
  readonly username: string;
  /** Whether the host shows this person only public repositories and their own. */
  readonly external?: boolean;
  /** Verified; undefined if there is none. */
  readonly email: string | undefined;
  /** Teams (`<org>/<team-slug>`) or groups of the person, as confirmed by the provider. */
  readonly groups: readonly string[];
  /** Patterns of `role_assignments` that the provider could not decide, with what to check. */
  readonly unproven: ReadonlyMap<string, string>;
}

export function accountOf({ provider, subject, username, email, external }: LoginFacts, role: Role): Account {
  const account = { id: `${provider}:${subject}`, provider, username, email, role };
  return external === true ? { ...account, external } : account;
}
