import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import * as z from "zod";
import { pathBelow } from "../core/detect/tree/repository-url.js";
import { repositoryName, type RepositoryName, revision } from "../core/model/brand.js";
import type { ChangeRequestRef, User } from "../core/model/change-request.js";
import { type CallFailureOptions, HostFailure, type HostFailureReason } from "../core/model/errors.js";
import type { HostTerms } from "../core/model/host-words.js";
import { isNestedDeeper, parseJson } from "../core/model/json.js";
import type { Clock } from "../core/ports/clock.js";
import { type AnswerHeaders, parseRetryAfter } from "../http/fetch-text.js";
import type { HostId } from "../names.js";

/** A numeric id of a host as text; Octokit gives those beyond 2^53 as `bigint`. */
export const idField = z.custom<number | bigint>(isId, "not an id").transform(String);

function isId(value: unknown): boolean {
  return typeof value === "bigint" ? value > 0n : Number.isSafeInteger(value) && Number(value) > 0;
}

/** A repository's full name. Its parts go into the paths of API calls, so none may be `.` or `..`. */
export const repositoryField = z
  .string()
  .max(1000)
  .regex(/^[^/\s?#%\\]+(?:\/[^/\s?#%\\]+)+$/)
  .refine((name) => name.split("/").every((part) => part !== "." && part !== ".."))
  .transform(repositoryName);

/** The branch of a push event's `ref`; undefined for a tag. */
export const pushedBranchField = z
  .string()
  .max(1000)
  .transform((ref) => (ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : undefined));

export const numberField = z.int().positive();

export const revisionField = z
  .string()
  .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
  .transform(revision);

export const timeField = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

export const loginField = z.string().min(1).max(255);

/** GitHub's limit: no command is longer. */
const MOST_CHARACTERS = 65_536;

/** A comment, cut to the start that may hold a command. */
export const commentField = z.string().transform((text) => {
  if (text.length <= MOST_CHARACTERS) return text;
  // A copy: V8 would keep the whole text in memory for as long as the event waits, since a slice points into it.
  return Buffer.from(text.slice(0, MOST_CHARACTERS), "utf16le").toString("utf16le");
});

/** The host's id of a delivery, which a redelivery repeats, or else a digest of the body. Safe inside keys. */
export function deliveryId(host: HostId, header: IncomingHttpHeaders[string], body: Buffer): string {
  const given = typeof header === "string" && /^[A-Za-z0-9-]{8,100}$/.test(header) ? header : undefined;
  return `${host}-${given ?? createHash("sha256").update(body).digest("hex")}`;
}

/** The addresses of one server. */
export interface HostServer {
  /** Root of its web pages and of git over HTTPS, without a final slash. */
  readonly webUrl: string;
  /** Its other host names. Repositories are below the path of `webUrl` there, or below the root. */
  readonly aliases: readonly string[];
}

function pathOf({ webUrl }: HostServer): string {
  return new URL(`${webUrl}/`).pathname;
}

/** The addresses of a repository under other host names of the same server. */
export function urlsAtAliases(server: HostServer, repository: RepositoryName): readonly string[] {
  const path = pathOf(server);
  // If a group has the name of that path, the address below the root means another repository.
  const paths = `/${repository}`.toLowerCase().startsWith(path.toLowerCase()) ? [path] : [path, "/"];
  return server.aliases.flatMap((alias) => [
    ...paths.map((root) => `https://${alias}${root}${repository}.git`),
    `git@${alias}:${repository}.git`,
  ]);
}

/** The repository of a server that a URL names; undefined if it is not one of that server, by any of its names. */
export function repositoryAt(url: string, server: HostServer): RepositoryName | undefined {
  const roots = server.aliases.flatMap((alias) => [`https://${alias}${pathOf(server)}`, `https://${alias}`]);
  const path = [server.webUrl, ...roots].map((root) => pathBelow(root, url)).find((one) => one !== undefined);
  const read = repositoryField.safeParse(path);
  return read.success ? read.data : undefined;
}

/** Whether a revision means more than the default branch. */
export function isAside(follows: string): boolean {
  return follows !== "" && follows !== "HEAD";
}

/** The words of failure messages that differ between code hosts. */
export interface FailureWords extends Pick<HostTerms, "title"> {
  /** What the host checks, such as `the access token`. */
  readonly credentials: string;
  readonly credentialsCure: string;
  readonly permissionCure: string;
  readonly visibilityCure: string;
  /** The setting that holds the API's address. */
  readonly addressKey: string;
}

/** Reads an answer with a schema. @param asked Completes "when asked to". @param maybeDone Whether it answers a write. @throws {HostFailure} */
export function decodeAnswer<Schema extends z.ZodType>(
  schema: Schema,
  data: unknown,
  words: FailureWords,
  asked: string,
  maybeDone = false,
): z.output<Schema> {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const where = result.error.issues
    .slice(0, 3)
    .map((issue) => issue.path.join(".") || "the whole")
    .join(", ");
  throw new HostFailure("failed", `${words.title} gave an unexpected answer when asked to ${asked} (${where}).`, {
    cause: result.error,
    maybeDone,
  });
}

interface HostRefusalOptions extends CallFailureOptions {
  readonly retryAfterMs?: number | undefined;
}

/** A `HostFailure` with the HTTP status, for the adapters to branch on. */
export class HostRefusal extends HostFailure {
  /** Pause that the host asks for once its limit is used up; undefined if it names none. */
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly status: number,
    reason: HostFailureReason,
    message: string,
    /** The host's own words on one line; may be empty. */
    readonly hostMessage: string,
    options?: HostRefusalOptions,
  ) {
    super(reason, message, options);
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** The time of an answer by the host's clock; it counts whole seconds. */
export function timeOf(headers: AnswerHeaders): Date | undefined {
  const time = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(time) ? undefined : new Date(time);
}

/** Waits for an answer; undefined if it is 404. */
export async function ifFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 404) return undefined;
    throw error;
  }
}

/** An HTTP answer of 400 or above. */
interface RefusedAnswer extends LimitedAnswer {
  /** The host's own words; untrusted. */
  readonly message: string | undefined;
  /** Whether the request was a write, which may have taken effect although the host failed. */
  readonly changing: boolean;
  readonly now: Date;
}

/** Explains a refused request. @param asked Completes "when asked to". */
export function refusalOf(words: FailureWords, asked: string, answer: RefusedAnswer): HostRefusal {
  const { status } = answer;
  const { title } = words;
  const said = oneLine(answer.message ?? "", 300);
  const refusal = (reason: HostFailureReason, message: string, options?: HostRefusalOptions): HostRefusal =>
    new HostRefusal(status, reason, message, said, options);
  if (status === 401) {
    return refusal(
      "unauthenticated",
      `${title} refused ${words.credentials} (401) when asked to ${asked}: ${words.credentialsCure}`,
    );
  }
  if (isRateLimited(answer)) {
    return refusal(
      "rate-limited",
      `${title}'s rate limit is used up (${status}); it was asked to ${asked}. Try again in some minutes.`,
      { retryAfterMs: pauseAskedFor(answer, answer.now) },
    );
  }
  if (status === 403) {
    return refusal(
      "forbidden",
      `${title} does not allow svc to ${asked} (403${quoted(said)}): ${words.permissionCure}`,
    );
  }
  if (status === 404) {
    return refusal("not-found", `${title} found nothing (404) when asked to ${asked}: ${words.visibilityCure}`);
  }
  if (isFailure(status)) {
    return refusal(
      "failed",
      `${title} failed (${status}) when asked to ${asked}. Try again later, and look at its status page.`,
      { maybeDone: answer.changing },
    );
  }
  return refusal("rejected", `${title} refused to ${asked} (${status}${quoted(said)}).`);
}

/** Whether the host failed, and refused nothing. GitLab answers 408 when its database takes too long (`lib/api/merge_requests.rb`). */
export function isFailure(status: number): boolean {
  return status >= 500 || status === 408;
}

function quoted(said: string): string {
  return said === "" ? "" : `, "${said}"`;
}

/** GitLab answers with lists of messages by field. */
const MAX_MESSAGE_DEPTH = 10;

/** The `message` or `error` of a refusal's body, if it is JSON that has one. */
export function refusalMessage(text: string): string | undefined {
  const parsed = z
    .object({ message: z.unknown().optional(), error: z.unknown().optional() })
    .safeParse(parseJson(text));
  const said = parsed.data?.message ?? parsed.data?.error;
  if (said === undefined || said === null) return undefined;
  if (typeof said === "string") return said;
  return isNestedDeeper(MAX_MESSAGE_DEPTH, said) ? undefined : JSON.stringify(said);
}

/** Foreign text on one line, without control and direction characters and halves of pairs, at most `limit` characters. */
export function oneLine(text: string, limit: number): string {
  const clean = text
    .slice(0, limit * 4)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return clean.length > limit ? `${clean.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "")}…` : clean;
}

/** The part of an answer that shows a rate limit; header names are in lower case. */
interface LimitedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
}

/**
 * A 403 without these headers is a missing permission:
 * https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
export function isRateLimited({ status, headers }: LimitedAnswer): boolean {
  if (status === 429) return true;
  return status === 403 && (headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"] === "0");
}

/** How long the host asks us to wait, in milliseconds: by `Retry-After`, or until the end of GitHub's limit; undefined if it does not say. */
export function pauseAskedFor({ status, headers }: LimitedAnswer, now: Date): number | undefined {
  const read = (name: string): string => {
    const value = headers[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const pause = parseRetryAfter(read("retry-after"), now);
  if (pause !== undefined) return pause;
  const [remaining, reset] = [read("x-ratelimit-remaining"), read("x-ratelimit-reset")];
  if (remaining !== "0" || !/^\d{1,12}$/.test(reset)) return undefined;
  return isRateLimited({ status, headers }) ? Math.max(0, Number(reset) * 1000 - now.getTime()) : undefined;
}

/** How many calls a host allows. */
export interface CallBudget {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
}

const budgetField = z
  .string()
  .regex(/^\d{1,12}$/)
  .transform(Number);

/**
 * The budget that an answer names; undefined without one.
 * @param prefix of the headers: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#checking-the-status-of-your-rate-limit,
 * https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/#response-headers
 */
export function budgetIn(
  headers: Readonly<Record<string, unknown>>,
  prefix: "x-ratelimit" | "ratelimit",
): CallBudget | undefined {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) => {
    return budgetField.safeParse(headers[`${prefix}-${name}`]).data;
  });
  // GitHub's other APIs have a budget of their own, and all but a few calls are for this one.
  if ((headers[`${prefix}-resource`] ?? "core") !== "core") return undefined;
  if (limit === undefined || remaining === undefined || reset === undefined) return undefined;
  return { limit, remaining, resetsAt: reset * 1000 };
}

/** No host counts calls for longer. A host whose clock is wrong must not postpone work for days. */
const LONGEST_BUDGET_MS = 60 * 60_000;

/** When the budget is whole again, while less than half of it is left. */
export function scarceUntil(budget: CallBudget | undefined, now: Date): Date | undefined {
  const { limit = 0, remaining = 0, resetsAt = 0 } = budget ?? {};
  if (remaining * 2 >= limit || resetsAt <= now.getTime()) return undefined;
  return new Date(Math.min(resetsAt, now.getTime() + LONGEST_BUDGET_MS));
}

/** Pauses between tries of a merge while the host computes whether it is possible: 30 seconds in total. */
export const MERGE_PAUSES_MS = [5_000, 10_000, 15_000];

const READ_PAUSES_MS = [500, 1000, 2000, 4000, 8000];

/** A minute. */
export const LONG_READ_PAUSES_MS = [...READ_PAUSES_MS, 15_000, 30_000];

/** Reads what a host computes in the background until `settled` holds, at most 6 times in 16 s. Returns the last value. */
export async function readUntil<T>(
  read: () => Promise<T>,
  settled: (value: T) => boolean,
  clock: Clock,
  signal?: AbortSignal,
  pauses: readonly number[] = READ_PAUSES_MS,
): Promise<T> {
  let value = await read();
  for (const pause of pauses) {
    if (settled(value)) return value;
    await clock.sleep(pause, signal);
    value = await read();
  }
  return value;
}

/** Calls `find` once for all callers; after a failure, the next caller tries again. */
export function keepAccount(find: () => Promise<User>): () => Promise<User> {
  let kept: Promise<User> | undefined;
  return async () => {
    kept ??= find();
    try {
      return await kept;
    } catch (error) {
      kept = undefined;
      throw error;
    }
  };
}

/**
 * Reads something under the name that the repository has now. A host follows the old name of a renamed repository until somebody
 * gives it to another one, so an answer counts only with the id that the change request names.
 * @param nameOf The present name of the repository with an id; undefined if there is none that we may see.
 * @throws {HostFailure}
 */
export async function underPresentName<T extends { readonly repositoryId: string }>(
  change: ChangeRequestRef,
  read: (change: ChangeRequestRef) => Promise<T>,
  nameOf: (repositoryId: string) => Promise<RepositoryName | undefined>,
  { title }: Pick<HostTerms, "title">,
): Promise<T> {
  const { repositoryId, repository } = change;
  if (repositoryId === undefined) return read(change);
  const isIt = (found: T) => found.repositoryId === repositoryId;
  let failure: unknown = new HostFailure(
    "not-found",
    `${title} has another repository by the name ${repository} now, and the one that had it before cannot be found: it was deleted, or ${title} no longer shows it to svc.`,
  );
  try {
    const found = await read(change);
    if (isIt(found)) return found;
  } catch (error) {
    if (!(error instanceof HostFailure && (error.reason === "not-found" || error.reason === "forbidden"))) throw error;
    failure = error;
  }
  const present = await nameOf(repositoryId);
  if (present === undefined || present === repository) throw failure;
  const found = await read({ ...change, repository: present });
  if (!isIt(found)) throw failure;
  return found;
}
