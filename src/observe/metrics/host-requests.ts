import { subscribe, unsubscribe } from "node:diagnostics_channel";
import * as z from "zod";
import { isRateLimited } from "../../hosts/host-answer.js";
import type { HostId } from "../../names.js";
import type { Metrics } from "./metrics.js";

/** Diagnostics channels of `fetch`: https://undici.nodejs.org/#/docs/api/DiagnosticsChannel */
const ANSWERED = "undici:request:headers";
const BROKEN = "undici:request:error";

const request = z.object({ origin: z.union([z.string(), z.instanceof(URL)]).transform(String) });
const answered = z.object({
  request,
  response: z.object({ statusCode: z.number(), headers: z.array(z.unknown()).transform((list) => list.map(String)) }),
});
const broken = z.object({ request });

/** The API of a code host whose requests are counted. */
export interface ObservedHost {
  readonly id: HostId;
  readonly apiUrl: string;
  /** The rate limit that an answer counts towards, out of a small fixed set; header names in lower case. */
  readonly rateLimitOf: (headers: Readonly<Record<string, string>>) => string;
}

/**
 * Counts the requests to the APIs of the code hosts, whichever client library makes them.
 * Returns a function that stops counting.
 */
export function countHostRequests(observed: readonly ObservedHost[], metrics: Metrics): () => void {
  const hosts = new Map(observed.map((host) => [new URL(host.apiUrl).origin, host]));
  /** Requests whose answer was counted: its body may still break. */
  const counted = new WeakSet<object>();

  const onAnswer = (message: unknown) => {
    const found = answered.safeParse(message).data;
    const host = found === undefined ? undefined : hosts.get(found.request.origin);
    if (found === undefined || host === undefined) return;
    remember(counted, message);
    const { statusCode: status } = found.response;
    const headers = headersOf(found.response.headers);
    metrics.hostRequests.inc({ host: host.id, outcome: outcomeOf(status, headers) });
    const remaining = Number(headers["x-ratelimit-remaining"] ?? headers["ratelimit-remaining"] ?? Number.NaN);
    if (Number.isNaN(remaining)) return;
    metrics.rateLimitRemaining.set({ host: host.id, resource: host.rateLimitOf(headers) }, remaining);
  };
  const onError = (message: unknown) => {
    const host = hosts.get(broken.safeParse(message).data?.request.origin ?? "");
    if (host === undefined || isRemembered(counted, message)) return;
    metrics.hostRequests.inc({ host: host.id, outcome: "unanswered" });
  };
  subscribe(ANSWERED, onAnswer);
  subscribe(BROKEN, onError);
  return () => {
    unsubscribe(ANSWERED, onAnswer);
    unsubscribe(BROKEN, onError);
  };
}

function outcomeOf(status: number, headers: Readonly<Record<string, string>>): string {
  if (isRateLimited({ status, headers })) return "rate_limited";
  if (status >= 500) return "server_error";
  return status >= 400 ? "client_error" : "ok";
}

/** @param list Names and values in turns. */
function headersOf(list: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < list.length; index += 2) {
    headers[list[index]?.toLowerCase() ?? ""] = list[index + 1] ?? "";
  }
  return headers;
}

const withRequest = z.object({ request: z.custom<object>((value) => typeof value === "object" && value !== null) });

function remember(seen: WeakSet<object>, message: unknown): void {
  const asked = withRequest.safeParse(message).data?.request;
  if (asked !== undefined) seen.add(asked);
}

function isRemembered(seen: WeakSet<object>, message: unknown): boolean {
  const asked = withRequest.safeParse(message).data?.request;
  return asked !== undefined && seen.has(asked);
}
