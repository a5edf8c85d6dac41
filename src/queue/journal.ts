import * as z from "zod";
import { applicationName, revision } from "../core/model/brand.js";
import { StoredValueUnreadable } from "../core/model/errors.js";
import { isJsonObject, parseJson } from "../core/model/json.js";
import { isNoted, type NotedResult, type RunNotes } from "../core/model/progress.js";
import type { RunJournal } from "../core/ports/event-queue.js";
import type { StoreConnection } from "../http/redis.js";
import { QUEUE_KEY_PREFIX, STORE_TITLE } from "../names.js";
import { IDS_KEPT_MS } from "./queue-options.js";

const application = z.string().min(1).transform(applicationName);
const startedApplication = z
  .object({
    application,
    lastOperation: z.string().optional(),
    pins: z.array(z.object({ position: z.int().positive(), revision: z.string().transform(revision) })),
    revision: z.string().transform(revision),
    destination: z.object({ cluster: z.string(), namespace: z.string() }),
    after: z.array(application),
  })
  .transform(({ lastOperation, ...noted }) => ({ ...noted, lastOperation }));

const notes = z.object({
  v: z.literal(1),
  started: z.array(startedApplication).optional(),
  skipped: z.array(application).optional(),
  // Only this service writes it, so the version vouches for the rest of its shape.
  result: z.custom<NotedResult>((value) => isJsonObject(value) && isNoted(value)).optional(),
});

/** A run's notes in Redis, one value per delivery. */
export class RedisJournal implements RunJournal {
  readonly #key: string;

  constructor(
    private readonly connection: StoreConnection,
    delivery: string,
  ) {
    this.#key = journalKey(delivery);
  }

  async read(): Promise<RunNotes> {
    const text = await this.connection.run((redis) => redis.get(this.#key));
    if (text === null) return {};
    const parsed = notes.safeParse(parseJson(text));
    if (!parsed.success) {
      throw new StoredValueUnreadable(
        `the notes of a run in ${STORE_TITLE} are damaged or were written by another version of this service. ` +
          `Run one version everywhere, or delete the key ${this.#key}.`,
        { cause: parsed.error },
      );
    }
    const { started, skipped, result } = parsed.data;
    return { started, skipped, result };
  }

  async write({ started, skipped, result }: RunNotes): Promise<void> {
    const text = JSON.stringify({ v: 1, started, skipped, result });
    await this.connection.run((redis) => redis.set(this.#key, text, "PX", IDS_KEPT_MS));
  }
}

/** @param delivery of the run's event. */
export function journalKey(delivery: string): string {
  return `${QUEUE_KEY_PREFIX}:journal:${delivery}`;
}
