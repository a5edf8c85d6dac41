import type { Account, Role } from "../model/account.js";

/** Users of the pages. Methods throw `StoreUnavailable`. */
export interface UserStore {
  /** Records a login. Returns the account with its effective role: the one an admin set, otherwise that of this login. */
  signIn(account: Account): Promise<Account>;
  /** The account with its current role. Undefined if nobody with this id has logged in. */
  find(id: string): Promise<Account | undefined>;
  /** Accounts with a session, sorted by username. */
  list(): Promise<readonly Account[]>;
  /** Sets a role that outlasts later logins. Undefined if there is no such account. */
  setRole(id: string, role: Role, by: Account): Promise<Account | undefined>;
}
