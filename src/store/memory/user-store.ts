import { USER_KEPT_MS, type Account, type Role } from "../../core/model/account.js";
import type { Clock } from "../../core/ports/clock.js";
import type { RoleChange, Standing, UserStore } from "../../core/ports/stores.js";
import { byUsername } from "../order.js";
import type { MemorySessionStore } from "./session-store.js";

interface KnownUser {
  /** Undefined once the login was ended. */
  readonly profile: Account | undefined;
  /** The role that an admin set. */
  readonly given: Role | undefined;
  /** Milliseconds since 1970. */
  readonly keptUntil: number;
}

/** Users who have logged in since this process started. */
export class MemoryUserStore implements UserStore {
  readonly #users = new Map<string, KnownUser>();
  readonly #standings = new Map<string, { readonly standing: Standing; readonly keptUntil: number }>();

  constructor(
    private readonly sessions: MemorySessionStore,
    private readonly clock: Clock,
  ) {}

  signIn(account: Account, sessionMs: number, standing?: Standing): Promise<Account> {
    const now = this.clock.now().getTime();
    for (const id of this.#users.keys()) if (this.#known(id) === undefined) this.#users.delete(id);
    for (const [id, { keptUntil }] of this.#standings) if (keptUntil <= now) this.#standings.delete(id);
    const { given, keptUntil = 0 } = this.#known(account.id) ?? {};
    this.#keep(account.id, { profile: account, given, keptUntil }, sessionMs);
    if (standing === undefined) this.#standings.delete(account.id);
    else this.#standings.set(account.id, { standing, keptUntil: now + sessionMs });
    return Promise.resolve(effective(account, given));
  }

  find(id: string): Promise<Account | undefined> {
    return Promise.resolve(this.#account(id));
  }

  async list(): Promise<readonly Account[]> {
    const found = await Promise.all([...this.sessions.accountIds()].map((id) => this.find(id)));
    return found.filter((account) => account !== undefined).sort(byUsername);
  }

  setRole(id: string, role: Role): Promise<RoleChange> {
    const [known, account] = [this.#known(id), this.#account(id)];
    if (known?.profile === undefined) return Promise.resolve({ kind: "unknown" });
    const others = [...this.#users.keys()].filter((other) => other !== id);
    if (
      role === "user" &&
      account?.role === "admin" &&
      !others.some((other) => this.#account(other)?.role === "admin")
    ) {
      return Promise.resolve({ kind: "last-admin" });
    }
    this.#keep(id, { ...known, given: role }, 0);
    return Promise.resolve({ kind: "set", account: effective(known.profile, role) });
  }

  standing(id: string): Promise<Standing | undefined> {
    return Promise.resolve(this.#standing(id));
  }

  renew(id: string, before: Standing, after: Standing, account?: Account): Promise<boolean> {
    const kept = this.#standings.get(id);
    if (kept === undefined || !isSame(this.#standing(id), before)) return Promise.resolve(false);
    this.#standings.set(id, { ...kept, standing: after });
    const known = this.#known(id);
    if (account !== undefined && known?.profile !== undefined) this.#users.set(id, { ...known, profile: account });
    return Promise.resolve(true);
  }

  end(id: string, before: Standing): Promise<boolean> {
    if (!isSame(this.#standing(id), before)) return Promise.resolve(false);
    this.#standings.delete(id);
    const known = this.#known(id);
    if (known?.given === undefined) this.#users.delete(id);
    else this.#users.set(id, { ...known, profile: undefined });
    return Promise.resolve(true);
  }

  #standing(id: string): Standing | undefined {
    const kept = this.#standings.get(id);
    return kept !== undefined && kept.keptUntil > this.clock.now().getTime() ? kept.standing : undefined;
  }

  #account(id: string): Account | undefined {
    const known = this.#known(id);
    return known?.profile && effective(known.profile, known.given);
  }

  #known(id: string): KnownUser | undefined {
    const known = this.#users.get(id);
    const kept = known?.given === "user" || (known?.keptUntil ?? 0) > this.clock.now().getTime();
    return kept ? known : undefined;
  }

  #keep(id: string, user: KnownUser, sessionMs: number): void {
    const keptUntil = Math.max(user.keptUntil, this.clock.now().getTime() + sessionMs + USER_KEPT_MS);
    this.#users.set(id, { ...user, keptUntil });
  }
}

function effective(profile: Account, given: Role | undefined): Account {
  return { ...profile, role: given ?? profile.role };
}

function isSame(standing: Standing | undefined, other: Standing): boolean {
  const { sealed, askedAt, provenAt } = other;
  return standing?.sealed === sealed && standing.askedAt === askedAt && standing.provenAt === provenAt;
}
