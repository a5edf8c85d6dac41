import { z } from "zod";
import { ROLES, USER_KEPT_MS, type Account, type Role } from "../../core/model/account.js";
import { parseJson } from "../../core/model/json.js";
import type { UserStore } from "../../core/ports/stores.js";
import { RedisScript } from "../../http/redis.js";
import { HOST_IDS, SESSION_KEY_PREFIX, USER_KEY_PREFIX } from "../../names.js";
import { byUsername } from "../order.js";
import type { RedisConnection } from "./connection.js";
import { readKeys, scanKeys } from "./keys.js";
import { orUndefined, readStored } from "./stored-value.js";

const SAVE = new RedisScript(new URL("save-user.lua", import.meta.url));

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
});

const sessionData = z.object({ accountId: z.string().optional() });

/** The role that an admin assigned, and that admin's id. */
const given = z.object({ v: z.literal(1), role: z.enum(ROLES), by: z.string() });

/** The account with its effective role; undefined without a profile. @throws {StoredValueUnreadable} */
function readUser(fields: Readonly<Record<string, string>>, key: string): Account | undefined {
  const { [PROFILE_FIELD]: stored = "", [ROLE_FIELD]: role = "" } = fields;
  if (stored === "") return undefined;
  const { id, provider, username, email, role: ofLogin } = readStored(profile, stored, "a user's record", key);
  const ofAdmin = role === "" ? undefined : readStored(given, role, "a user's role", key).role;
  return { id, provider, username, email, role: ofAdmin ?? ofLogin };
}

/** Users as one hash each, `svc:user:<id>`. Active users are found through their sessions. */
export class RedisUserStore implements UserStore {
  constructor(private readonly connection: RedisConnection) {}

  async signIn(account: Account, sessionMs: number): Promise<Account> {
    const { id, provider, username, email, role } = account;
    const record = { v: 1, id, provider, username, email, role };
    return (await this.#save(id, PROFILE_FIELD, record, sessionMs + USER_KEPT_MS)) ?? account;
  }

  async find(id: string): Promise<Account | undefined> {
    const key = userKey(id);
    return readUser(await this.connection.run((redis) => redis.hgetall(key)), key);
  }

  async list(): Promise<readonly Account[]> {
    const sessions = await this.connection.run(async (redis) =>
      readKeys(redis, await scanKeys(redis, SESSION_KEY_PREFIX)),
    );
    const ids = new Set(
      sessions.flatMap(([, session]) => sessionData.safeParse(parseJson(session)).data?.accountId ?? []),
    );
    const found = await Promise.all([...ids].map((id) => this.find(id)));
    return found.filter((account) => account !== undefined).sort(byUsername);
  }

  setRole(id: string, role: Role, by: Account): Promise<Account | undefined> {
    return this.#save(id, ROLE_FIELD, { v: 1, role, by: by.id }, USER_KEPT_MS);
  }

  async #save(id: string, field: string, value: object, keptMs: number): Promise<Account | undefined> {
    const key = userKey(id);
    const args = [field, JSON.stringify(value), keptMs];
    const answer = await this.connection.run((redis) => SAVE.run(redis, [key], args));
    const [profile, role] = saved.parse(answer);
    return readUser({ [PROFILE_FIELD]: profile, [ROLE_FIELD]: role }, key);
  }
}

function userKey(id: string): string {
  return USER_KEY_PREFIX + id;
}
