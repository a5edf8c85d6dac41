import type { Account, Role } from "../../core/model/account.js";
import type { UserStore } from "../../core/ports/user-store.js";
import { byUsername } from "../order.js";
import type { MemorySessionStore } from "./session-store.js";

/** Users who have logged in since this process started. */
export class MemoryUserStore implements UserStore {
  readonly #profiles = new Map<string, Account>();
  readonly #given = new Map<string, Role>();

  constructor(private readonly sessions: MemorySessionStore) {}

  signIn(account: Account): Promise<Account> {
    this.#profiles.set(account.id, account);
    return Promise.resolve(this.#withRole(account));
  }

  find(id: string): Promise<Account | undefined> {
    return Promise.resolve(this.#find(id));
  }

  list(): Promise<readonly Account[]> {
    const found = [...this.sessions.accountIds()].map((id) => this.#find(id));
    return Promise.resolve(found.filter((account) => account !== undefined).sort(byUsername));
  }

  setRole(id: string, role: Role): Promise<Account | undefined> {
    if (this.#profiles.has(id)) this.#given.set(id, role);
    return this.find(id);
  }

  #find(id: string): Account | undefined {
    const profile = this.#profiles.get(id);
    return profile === undefined ? undefined : this.#withRole(profile);
  }

  #withRole(profile: Account): Account {
    return { ...profile, role: this.#given.get(profile.id) ?? profile.role };
  }
}
