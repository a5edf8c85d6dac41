import type { Account, Role } from "../model/account.js";

/** People who have logged in to the pages. Methods throw `StoreUnavailable`. */
export interface UserStore {
  /** Notes a login; answers the account with the role that counts: the one an admin set, or else the one of this login. */
  signIn(account: Account): Promise<Account>;
  /** The account with the role it has now; undefined when nobody with this id has logged in. */
  find(id: string): Promise<Account | undefined>;
  /** Those with a live session, sorted by username. */
  list(): Promise<readonly Account[]>;
  /** Sets a role that stays over later logins, until it is set again; undefined when there is no such account. */
  setRole(id: string, role: Role, by: Account): Promise<Account | undefined>;
}
