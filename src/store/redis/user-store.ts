import { z } from "zod";
import { ROLES, type Account, type Role } from "../../core/model/account.js";
import type { UserStore } from "../../core/ports/user-store.js";
import { HOST_IDS, SESSION_KEY_PREFIX, USER_KEY_PREFIX } from "../../names.js";
import { byUsername } from "../order.js";
import type { RedisConnection } from "./connection.js";
import { readKeys, scanKeys } from "./keys.js";
import { orUndefined, readStored } from "./stored-value.js";

/** Fields of a user's hash. They are separate so that a login and an admin's change never overwrite each other. */
const PROFILE_FIELD = "profile";
const ROLE_FIELD = "role";

const profile = z.object({
  v: z.literal(1),
  id: z.string(),
  provider: z.enum([...HOST_IDS, "oidc", "basic"]),
  username: z.string(),
  email: orUndefined(z.string()),
  role: z.enum(ROLES),
});

/** The role that an admin assigned, and that admin's id. */
const given = z.object({ v: z.literal(1), role: z.enum(ROLES), by: z.string() });

function profileRecordOf({ id, provider, username, email, role }: Account): string {
  return JSON.stringify({ v: 1, id, provider, username, email, role });
}

function givenRoleRecordOf(role: Role, by: Account): string {
  return JSON.stringify({ v: 1, role, by: by.id });
}

/**
 * The account with its effective role; undefined if there is no profile.
 * @throws {StoredValueUnreadable}
 */
function readUser(fields: Readonly<Record<string, string>>, key: string): Account | undefined {
  const [stored, role] = [fields[PROFILE_FIELD], fields[ROLE_FIELD]];
  if (stored === undefined) return undefined;
  const { id, provider, username, email, role: ofLogin } = readStored(profile, stored, "a user's record", key);
  const ofAdmin = role === undefined ? undefined : readStored(given, role, "a user's role", key).role;
  return { id, provider, username, email, role: ofAdmin ?? ofLogin };
}

/** Users as one hash each, `svc:user:<id>`. Active users are found through their sessions. */
export class RedisUserStore implements UserStore {
  constructor(private readonly connection: RedisConnection) {}

  async signIn(account: Account): Promise<Account> {
    const key = userKey(account.id);
    const fields = await this.connection.run(async (redis) => {
      await redis.hset(key, PROFILE_FIELD, profileRecordOf(account));
      return redis.hgetall(key);
    });
    return readUser(fields, key) ?? account;
  }

  async find(id: string): Promise<Account | undefined> {
    const key = userKey(id);
    return readUser(await this.connection.run((redis) => redis.hgetall(key)), key);
  }

  async list(): Promise<readonly Account[]> {
    const sessions = await this.connection.run(async (redis) =>
      readKeys(redis, await scanKeys(redis, SESSION_KEY_PREFIX)),
    );
    const ids = new Set(sessions.flatMap(([, session]) => accountIdOf(session) ?? []));
    const found = await Promise.all([...ids].map((id) => this.find(id)));
    return found.filter((account) => account !== undefined).sort(byUsername);
  }

  async setRole(id: string, role: Role, by: Account): Promise<Account | undefined> {
    const key = userKey(id);
    const fields = await this.connection.run(async (redis) => {
      if ((await redis.hexists(key, PROFILE_FIELD)) === 0) return {};
      await redis.hset(key, ROLE_FIELD, givenRoleRecordOf(role, by));
      return redis.hgetall(key);
    });
    return readUser(fields, key);
  }
}

function userKey(id: string): string {
  return USER_KEY_PREFIX + id;
}

/** Undefined for a session that cannot be read. */
function accountIdOf(session: string): string | undefined {
  try {
    return z.object({ accountId: z.string().optional() }).parse(JSON.parse(session)).accountId;
  } catch {
    return undefined;
  }
}
