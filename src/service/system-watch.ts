import * as z from "zod";
import { StoreUnavailable } from "../core/model/errors.js";
import type { Clock } from "../core/ports/clock.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { Log } from "../core/ports/log.js";
import type { Notifications } from "../core/ports/notifications.js";
import { DEPLOYER_TITLE, STORE_TITLE } from "../names.js";
import { claimsInterval, SharedRecords } from "../store/shared-records.js";
import type { Stores } from "../store/stores.js";
import type { StartedNotifications } from "./start-notifications.js";

export const WATCH_EVERY_MS = 60_000;
/** Checks that are further apart do not follow each other: svc was stopped meanwhile. */
const LONGEST_GAP_MS = 5 * WATCH_EVERY_MS;
const KEPT_MS = 30 * 24 * 60 * 60_000;

const outage = z.object({ v: z.literal(1), since: z.iso.datetime(), told: z.boolean() });
/** A system that did not answer the last check: since when, and whether receivers of notifications know. */
type Outage = Omit<z.infer<typeof outage>, "v">;

interface SystemWatchParts extends Pick<StartedNotifications, "notifications" | "withoutStore"> {
  readonly deployer: Pick<Deployer, "check">;
  readonly stores: Pick<Stores, "ping" | "connection">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reports an outage of Argo CD or the store at the second failure in a row, and its end; each replica reports that of the store. */
export class SystemWatch {
  #storeOutage: Outage | undefined;
  readonly #outages: SharedRecords<Outage>;

  constructor(private readonly parts: SystemWatchParts) {
    this.#outages = new SharedRecords("outage", outage, KEPT_MS, parts.stores.connection);
  }

  /** Never rejects. */
  async look(): Promise<void> {
    const { stores, deployer, log, withoutStore, notifications } = this.parts;
    try {
      const storeAnswers = await answers(stores.ping());
      this.#storeOutage = await this.#tell(STORE_TITLE, storeAnswers, this.#storeOutage, withoutStore);
      if (!storeAnswers || !(await claimsInterval(stores.connection, "watch", WATCH_EVERY_MS))) return;
      const before = await this.#outages.find(DEPLOYER_TITLE);
      const after = await this.#tell(DEPLOYER_TITLE, await answers(deployer.check()), before, notifications);
      if (after !== undefined) await this.#outages.save(DEPLOYER_TITLE, after);
      else if (before !== undefined) await this.#outages.remove(DEPLOYER_TITLE);
    } catch (error) {
      if (error instanceof StoreUnavailable) log.debug({ err: error }, "the store went away during a check");
      else log.warn({ err: error }, "could not check whether the other systems answer");
    }
  }

  /** @returns The outage as it is now; undefined without one. */
  async #tell(
    system: string,
    available: boolean,
    before: Outage | undefined,
    to: Notifications,
  ): Promise<Outage | undefined> {
    const now = this.parts.clock.now();
    const at = now.toISOString();
    if (available && before === undefined) return undefined;
    if (before === undefined) return { since: at, told: false };
    const { since, told } = before;
    if (!available && !told && now.getTime() - Date.parse(since) > LONGEST_GAP_MS) return { since: at, told: false };
    const news = { kind: "system", system, available, since, at } as const;
    if (available) {
      if (told) await to.publish({ ...news, id: `available ${system} ${since}` });
      return undefined;
    }
    if (!told) await to.publish({ ...news, id: `unavailable ${system} ${since}` });
    return { since, told: true };
  }
}

async function answers(question: Promise<unknown>): Promise<boolean> {
  return question.then(
    () => true,
    () => false,
  );
}
