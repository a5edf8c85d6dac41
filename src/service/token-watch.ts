import * as z from "zod";
import { parseJson } from "../core/model/json.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Log } from "../core/ports/log.js";
import type { Notifications } from "../core/ports/notifications.js";
import { DEPLOYER_TITLE, HOST_TITLES } from "../names.js";
import { SharedRecords } from "../store/shared-records.js";
import type { Stores } from "../store/stores.js";

const DAY_MS = 24 * 60 * 60_000;
export const LOOK_AT_TOKENS_EVERY_MS = DAY_MS;

/** Days before the end at which receivers are told, once each. */
const THRESHOLDS = [7, 30];

const warning = z.object({ v: z.literal(1), at: z.iso.datetime() });
/** When receivers of notifications were warned. */
type Warning = Omit<z.infer<typeof warning>, "v">;

/** A token of svc that expires, and the system that gave it. */
interface TokenExpiry {
  readonly system: string;
  readonly at: Date;
}

interface TokenWatchParts {
  readonly hosts: readonly Pick<CodeHost, "id" | "tokenExpires">[];
  readonly deployerToken: string;
  readonly notifications: Notifications;
  /** Shared by all replicas. */
  readonly connection: Stores["connection"];
  readonly clock: Clock;
  readonly log: Log;
}

/** Knows when svc's tokens expire, and warns before. */
export class TokenWatch {
  readonly #known = new Map<string, Date>();
  readonly #told: SharedRecords<Warning>;

  constructor(private readonly parts: TokenWatchParts) {
    this.#told = new SharedRecords("warned", warning, 60 * DAY_MS, parts.connection);
    const expires = expiryOf(parts.deployerToken);
    if (expires !== undefined) this.#known.set(DEPLOYER_TITLE, expires);
  }

  /** As of the last look. */
  expiries(): readonly TokenExpiry[] {
    return [...this.#known].map(([system, at]) => ({ system, at }));
  }

  /** Never rejects. */
  async look(): Promise<void> {
    const { hosts, log } = this.parts;
    await Promise.all(
      hosts.map(async (host) => {
        const system = HOST_TITLES[host.id];
        try {
          const at = await host.tokenExpires();
          if (at === undefined) this.#known.delete(system);
          else this.#known.set(system, at);
        } catch (error) {
          log.warn({ system, err: error }, "could not read when a token expires");
        }
      }),
    );
    for (const expiry of this.expiries()) await this.#warn(expiry);
  }

  async #warn({ system, at }: TokenExpiry): Promise<void> {
    const { notifications, clock, log } = this.parts;
    const now = clock.now();
    const days = Math.max(0, Math.floor((at.getTime() - now.getTime()) / DAY_MS));
    const threshold = THRESHOLDS.find((most) => days <= most);
    if (threshold === undefined) return;
    const expires = at.toISOString();
    log.warn({ system, expires, days }, "a token expires soon");
    const name = `${system} ${expires} ${threshold}`;
    try {
      if ((await this.#told.find(name)) !== undefined) return;
      // Replicas that look at the same time give the message the same id.
      const id = `token-expires ${name}`;
      await notifications.publish({ kind: "token-expires", id, at: now.toISOString(), system, expires, days });
      await this.#told.save(name, { at: now.toISOString() });
    } catch (error) {
      log.warn({ system, err: error }, "could not note that receivers know when a token expires");
    }
  }
}

const LONGEST_TOKEN = 16_384;
/** In seconds since 1970, up to the last that a `Date` can hold. */
const claimsSchema = z.object({ exp: z.number().positive().max(8.64e12) });

/** The `exp` of a JSON Web Token, as Argo CD's tokens are; undefined without one. The signature is Argo CD's to check. */
export function expiryOf(token: string): Date | undefined {
  const [, payload] = token.length > LONGEST_TOKEN ? [] : token.split(".");
  if (payload === undefined) return undefined;
  const claims = claimsSchema.safeParse(parseJson(Buffer.from(payload, "base64url").toString("utf8"))).data;
  return claims && new Date(claims.exp * 1000);
}
