import * as z from "zod";
import { type Account, USER_KEPT_MS } from "../../core/model/account.js";
import { StoredValueUnreadable } from "../../core/model/errors.js";
import { parseJson } from "../../core/model/json.js";
import { type Role, ROLES } from "../../core/model/settings.js";
import type { RoleChange, Standing, UserStore } from "../../core/ports/stores.js";
import { RedisScript } from "../../http/redis.js";
import { HOST_IDS, KEYS } from "../../names.js";
import { byUsername } from "../stores.js";
import type { RedisConnection } from "./connection.js";
import { orUndefined, readKeys, readStored, scanKeys } from "./stored-value.js";

const SAVE = new RedisScript(new URL("save-user.lua", import.meta.url));
const RENEW = new RedisScript(new URL("renew-standing.lua", import.meta.url));

/** Fields of a user's hash. They are separate so that a login and an admin's change never overwrite each other. */
const PROFILE_FIELD = "profile";
const ROLE_FIELD = "role";

const saved = z.tuple([z.string(), z.string()]);

const profile = z.object({
  v: z.literal(1),
  id: z.string(),
  provider: z.enum([...HOST_IDS, "oidc", "basic"]),
  username: z.string(),
  email: orUndefined(z.string()),
  role: z.enum(ROLES),
  external: orUndefined(z.boolean()),
});

const sessionData = z.object({ accountId: z.string().optional() });

const given = z.object({ v: z.literal(1), role: z.enum(ROLES), by: z.string() });

/** The account with its effective role; undefined without a profile. @throws {StoredValueUnreadable} */
function readUser(fields: Readonly<Record<string, string>>, key: string): Account | undefined {
  const { [PROFILE_FIELD]: stored = "", [ROLE_FIELD]: role = "" } = fields;
  if (stored === "") return undefined;
  const { role: ofLogin, ...login } = readStored(profile, stored, "a user's record", key);
  const { id, provider, username, email, external } = login;
  const ofAdmin = role === "" ? undefined : readStored(given, role, "a user's role", key).role;
  return { id, provider, username, email, role: ofAdmin ?? ofLogin, external };
}

const standing = z.object({ v: z.literal(1), sealed: z.string(), askedAt: z.number(), provenAt: z.number() });

const AT_ONCE = 500;
const LAST_ADMIN = "last-admin";

/** Each user is a hash, `svc:{user}:<id>`, found through their sessions; a text of its own holds the sealed token of the provider. */
export class RedisUserStore implements UserStore {
  constructor(private readonly connection: RedisConnection) {}

  async signIn(account: Account, sessionMs: number, standing?: Standing): Promise<Account> {
    const key = userKey(account.id);
    const kept = standing === undefined ? "" : standingText(standing);
    const args = [PROFILE_FIELD, profileText(account), sessionMs + USER_KEPT_MS, kept, Math.max(1, sessionMs)];
    const [profile, role] = await this.#save([key, standingKey(account.id)], args);
    return readUser({ [PROFILE_FIELD]: profile, [ROLE_FIELD]: role }, key) ?? account;
  }

  async find(id: string): Promise<Account | undefined> {
    const key = userKey(id);
    return readUser(await this.connection.run((redis) => redis.hgetall(key)), key);
  }

  async list(wanted?: string): Promise<readonly Account[]> {
    const ids = new Set((await this.#sessions()).flatMap(({ accountId }) => accountId ?? []));
    const found = await Promise.all([...ids].filter((id) => id === (wanted ?? id)).map((id) => this.find(id)));
    return found.filter((account) => account !== undefined).sort(byUsername);
  }

  async setRole(id: string, role: Role, by: Pick<Account, "id">): Promise<RoleChange> {
    const key = userKey(id);
    const others = role === "user" ? await this.#otherAdmins(key) : [];
    const args = [ROLE_FIELD, JSON.stringify({ v: 1, role, by: by.id }), USER_KEPT_MS, role];
    const [profile, given] = await this.#save([key, standingKey(id), ...others], args);
    if (profile === LAST_ADMIN) return { kind: "last-admin" };
    const account = readUser({ [PROFILE_FIELD]: profile, [ROLE_FIELD]: given }, key);
    return account === undefined ? { kind: "unknown" } : { kind: "set", account };
  }

  async standing(id: string): Promise<Standing | undefined> {
    const key = standingKey(id);
    const text = await this.connection.run((redis) => redis.get(key));
    if (text === null) return undefined;
    const { sealed, askedAt, provenAt } = readStored(standing, text, "a user's standing", key);
    return { sealed, askedAt, provenAt };
  }

  renew(id: string, before: Standing, after: Standing, account?: Account): Promise<boolean> {
    return this.#renew(id, [before, after].map(standingText), account === undefined ? "" : profileText(account));
  }

  async end(id: string, before: Standing): Promise<boolean> {
    // Looked up first: the session of a login after the end has to stay.
    const sessions = (await this.#sessions()).filter(({ accountId }) => accountId === id);
    if (!(await this.#renew(id, [standingText(before), ""], ""))) return false;
    await this.connection.run((redis) => Promise.all(sessions.map(({ key }) => redis.del(key))));
    return true;
  }

  async #sessions() {
    const found = await this.connection.run(async (redis) => readKeys(redis, await scanKeys(redis, KEYS.session)));
    return found.map(([key, session]) => ({
      key,
      accountId: sessionData.safeParse(parseJson(session)).data?.accountId,
    }));
  }

  async #renew(id: string, standings: readonly string[], profile: string): Promise<boolean> {
    const keys = [userKey(id), standingKey(id)];
    return (await this.connection.run((redis) => RENEW.run(redis, keys, [...standings, profile]))) === 1;
  }

  async #save(keys: readonly string[], args: readonly (string | number)[]): Promise<z.output<typeof saved>> {
    return saved.parse(await this.connection.run((redis) => SAVE.run(redis, keys, args)));
  }

  async #otherAdmins(key: string): Promise<readonly string[]> {
    const keys = await this.connection.run((redis) => scanKeys(redis, KEYS.user));
    const found: string[] = [];
    for (let start = 0; start < keys.length; start += AT_ONCE) {
      const part = keys.slice(start, start + AT_ONCE).filter((one) => one !== key);
      const records = await this.connection.run((redis) => Promise.all(part.map((one) => redis.hgetall(one))));
      found.push(...part.filter((one, index) => isAdmin(records[index] ?? {}, one)));
    }
    return found;
  }
}

/** A damaged record does not count: it must not stop others from changing roles. */
function isAdmin(fields: Readonly<Record<string, string>>, key: string): boolean {
  try {
    return readUser(fields, key)?.role === "admin";
  } catch (error) {
    if (error instanceof StoredValueUnreadable) return false;
    throw error;
  }
}

function profileText({ id, provider, username, email, role, external }: Account): string {
  return JSON.stringify({ v: 1, id, provider, username, email, role, external });
}

function standingText({ sealed, askedAt, provenAt }: Standing): string {
  return JSON.stringify({ v: 1, sealed, askedAt, provenAt });
}

function userKey(id: string): string {
  return KEYS.user + id;
}

function standingKey(id: string): string {
  return KEYS.standing + id;
}
