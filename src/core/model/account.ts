import type { Role } from "../../config/server-config.js";
import type { HostId } from "../../names.js";

export { ROLES, type Role } from "../../config/server-config.js";

/** Where a person logged in. */
export type LoginProvider = HostId | "oidc" | "basic";

/** A person who has logged in to the pages. */
export interface Account {
  /** The provider and its own id of the person, such as `oidc:583231`; stable over renames. */
  readonly id: string;
  readonly provider: LoginProvider;
  readonly username: string;
  /** A verified address; undefined if the provider has none. */
  readonly email: string | undefined;
  readonly role: Role;
}
