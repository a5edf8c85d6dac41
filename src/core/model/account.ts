import type { HostId } from "../../names.js";
import type { Role } from "./settings.js";

/** How long a person is remembered after the last session. */
export const USER_KEPT_MS = 90 * 24 * 60 * 60 * 1000;

/** Where a person logged in. */
export type LoginProvider = HostId | "oidc" | "basic";

/** Whose account it is: of a person who logged in somewhere, or of a program with a token for the API. */
export type AccountProvider = LoginProvider | "api-token";

/** A person who has logged in to the pages, or a program. */
export interface Account {
  /** The provider and its own id of the person, such as `oidc:583231`; stable over renames. A program's is its token's name. */
  readonly id: string;
  readonly provider: AccountProvider;
  readonly username: string;
  /** A verified address; undefined if the provider has none. */
  readonly email: string | undefined;
  readonly role: Role;
  /** The host shows this person only public repositories and those that they are a member of. */
  readonly external?: boolean | undefined;
}
