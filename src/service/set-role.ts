import { randomUUID } from "node:crypto";
import type { CheckResult } from "../config/check.js";
import type { ServerConfig } from "../config/server/server.js";
import { safeMessage, StoreUnavailable } from "../core/model/errors.js";
import type { Role } from "../core/model/settings.js";
import { roleChange } from "../core/ports/audit.js";
import type { Log } from "../core/ports/log.js";
import type { UserStore } from "../core/ports/stores.js";
import { SERVICE } from "../names.js";
import { redisConfigOf } from "../store/redis/redis-config.js";
import { createRedisStores } from "../store/redis/redis-stores.js";
import type { Stores } from "../store/stores.js";
import { systemClock } from "./service.js";

/** Longer than the service waits, since nobody repeats this command automatically. */
const CONNECT_WITHIN_MS = 5_000;
const PAUSE_MS = 200;

/** Gives a person a role in Redis, for operators who locked themselves out. @throws {StoreUnavailable | StoredValueUnreadable} */
export async function setRole(
  { kvstore }: Pick<ServerConfig, "kvstore">,
  { id, role }: { readonly id: string; readonly role: Role },
): Promise<CheckResult> {
  const redis = redisConfigOf(kvstore);
  if (redis === undefined) return failed([IN_MEMORY]);
  const stores = createRedisStores(redis, { log: SILENT });
  try {
    await connect(stores);
    return await giveRole(stores, id, role);
  } finally {
    await stores.close();
  }
}

const IN_MEMORY =
  "the configuration names no Redis, so only the running service knows its users, and no other program can change them. " +
  "Set redis.address, or give the role with auth.role_assignments and start the service again.";

async function giveRole(
  { users, audit }: Pick<Stores, "users" | "audit">,
  id: string,
  role: Role,
): Promise<CheckResult> {
  const change = await users.setRole(id, role, { id: "command-line" });
  switch (change.kind) {
    case "set": {
      const done = `${shown(change.account.username)} (${id}) has the role ${role} from the next request on`;
      const entry = roleChange(change.account, SERVICE, { at: systemClock.now().toISOString(), runId: randomUUID() });
      try {
        await audit.record(entry);
      } catch (error) {
        return { lines: [done, `the audit trail does not say so: ${safeMessage(error)}`], exitCode: 0 };
      }
      return { lines: [done], exitCode: 0 };
    }
    case "last-admin":
      return failed([`${id} is the last admin: give somebody else the role admin first`]);
    case "unknown":
      return failed([
        `nobody with the id ${JSON.stringify(id)} has logged in; that person has to log in once first`,
        ...(await present(users)),
      ]);
  }
}

async function present(users: UserStore): Promise<readonly string[]> {
  const active = (await users.list()).map(({ id, username, email, role }) => {
    return `  ${[id, role, username, email ?? ""].map(shown).join("  ")}`.trimEnd();
  });
  return active.length === 0 ? ["nobody is logged in"] : ["logged in now:", ...active];
}

/** Strips control characters: names come from outside and must not steer the terminal. */
function shown(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}]/gu, "?");
}

async function connect(stores: Pick<Stores, "ping">): Promise<void> {
  const until = systemClock.now().getTime() + CONNECT_WITHIN_MS;
  for (;;) {
    try {
      await stores.ping();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || systemClock.now().getTime() > until) throw error;
      await systemClock.sleep(PAUSE_MS);
    }
  }
}

function failed(lines: readonly string[]): CheckResult {
  return { lines, exitCode: 1 };
}

const nothing = (): void => undefined;
const SILENT: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => SILENT };
