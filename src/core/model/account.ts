import type { Role } from "../../config/server-config.js";
import type { HostId } from "../../names.js";

export { ROLES, type Role } from "../../config/server-config.js";

/** Where a person logged in. */
export type LoginProvider = HostId | "oidc" | "basic";

/** A person who has logged in to the pages. */
export interface Account {
  /** Stable over renames: the provider and the provider's own id of the person, such as `hosta:583231`. */
  readonly id: string;
  readonly provider: LoginProvider;
  readonly username: string;
  /** A verified address; undefined when the provider names none. */
  readonly email: string | undefined;
  readonly role: Role;
}
