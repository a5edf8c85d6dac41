import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Cluster, Redis } from "ioredis";
import * as z from "zod";

/** One server, which Sentinel may have named, or a cluster. */
export type RedisClient = Redis | Cluster;

/** A connection to Redis: the store opens it, the queue shares it. */
export interface StoreConnection {
  /** Runs commands within a second. @throws {StoreUnavailable} after a time-out a command may still have been executed. */
  run<T>(commands: (redis: RedisClient) => Promise<T>): Promise<T>;
  /**
   * Opens another connection, for subscriptions and for writes that may take their time: it keeps commands while Redis is
   * unavailable, and waits for an answer as long as it takes. The caller handles its errors, logs them `withoutArguments`, and
   * disconnects it.
   */
  patient(): RedisClient;
}

/** Subscribes a connection whenever it becomes ready. ioredis would, too, but does not handle a failure of that, which ends the process. */
export function keepSubscribed(
  redis: RedisClient,
  channel: string,
  { done, failed }: { readonly done: () => void; readonly failed: (error: unknown) => void },
): void {
  redis.on("ready", () => void redis.subscribe(channel).then(done, failed));
}

/**
 * A value that only svc writes: what identifies it is checked, and the lists that every reader goes through; the version of its
 * record vouches for the rest of its shape. Whoever changes the shape raises the version.
 */
export function vouched<T extends object>(identity: z.ZodType<Partial<T>>) {
  return z.custom<T>((value) => identity.safeParse(value).success);
}

/** A Lua script. The head of its file describes keys, arguments and result. */
export class RedisScript {
  readonly #lua: string;
  readonly #sha: string;

  /** Reads the file at once, so that a build without it fails at the start. */
  constructor(file: URL) {
    this.#lua = readFileSync(file, "utf8");
    this.#sha = createHash("sha1").update(this.#lua).digest("hex");
  }

  /** Calls the script by its hash, and sends its text only if Redis does not have it (any more). */
  async run(redis: RedisClient, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await redis.evalsha(this.#sha, keys.length, ...keys, ...args);
    } catch (error) {
      // The first word of an error reply is its code: https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return redis.eval(this.#lua, keys.length, ...keys, ...args);
    }
  }
}

const SLICES = 5;

/**
 * Calls back after `ms` in which this process could receive data; returns a function that cancels the call. A busy process
 * receives nothing, so each uninterrupted stretch of work counts as at most a fifth of the time.
 */
export function responsiveTimeout(ms: number, callback: () => void): () => void {
  let left = SLICES;
  let timer = setTimeout(tick, ms / SLICES);
  function tick(): void {
    left -= 1;
    if (left === 0) callback();
    else timer = setTimeout(tick, ms / SLICES);
  }
  return () => clearTimeout(timer);
}

/** The safe parts of an ioredis error, which also carries the arguments of the command, passwords included. */
interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  readonly command: string | undefined;
  /** Texts among the arguments of the command. They may be secret. */
  readonly args: readonly string[];
}

export function failureOf(error: unknown): Failure {
  const parsed = failure.safeParse(error);
  if (!parsed.success) return { name: "", message: "", code: undefined, command: undefined, args: [] };
  const { name, message, code, command, errors, lastNodeError } = parsed.data;
  // Node wraps the failures of a host's addresses in an AggregateError; ioredis does so for the nodes of a cluster.
  const inner = errors?.[0] ?? lastNodeError;
  if (inner !== undefined) return failureOf(inner);
  const args = (command?.args ?? []).filter((one) => typeof one === "string");
  return { name, message, code, command: command?.name, args };
}

const failure = z.object({
  name: z.string(),
  message: z.string(),
  code: z.string().optional().catch(undefined),
  command: z
    .object({ name: z.string(), args: z.array(z.unknown()).optional() })
    .optional()
    .catch(undefined),
  errors: z.array(z.unknown()).optional().catch(undefined),
  lastNodeError: z.unknown().optional(),
});

/** The error for logs and causes, without the arguments of its command: those of a refused connection are user and password. */
export function withoutArguments(error: unknown): Error {
  const { name, message, code, command } = failureOf(error);
  // Old servers repeat the arguments of an unknown command.
  const secret = command === "hello" || command === "auth";
  return new Error([name, code, command, secret ? undefined : message.slice(0, 300)].filter(Boolean).join(": "));
}
