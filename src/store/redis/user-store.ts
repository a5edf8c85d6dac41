import { z } from "zod";
import type { Account, Role } from "../../core/model/account.js";
import type { UserStore } from "../../core/ports/user-store.js";
import { SESSION_KEY_PREFIX, USER_KEY_PREFIX } from "../../names.js";
import { byUsername } from "../by-username.js";
import type { RedisConnection } from "./connection.js";
import { readKeys, scanKeys } from "./keys.js";
import { givenRoleRecordOf, PROFILE_FIELD, profileRecordOf, readUser, ROLE_FIELD } from "./user-record.js";

/** People as one hash each, `svc:user:<id>`. Who is active is read from the sessions themselves. */
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

/** A session that is not ours to read belongs to nobody. */
function accountIdOf(session: string): string | undefined {
  try {
    return z.object({ accountId: z.string().optional() }).parse(JSON.parse(session)).accountId;
  } catch {
    return undefined;
  }
}
