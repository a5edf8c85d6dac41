import * as z from "zod";
import { applicationName, repositoryName } from "../core/model/brand.js";
import type { HostEvent } from "../core/model/event.js";
import { parseJson } from "../core/model/json.js";
import { HOST_IDS } from "../names.js";

/** An event as Redis stores it. */
export interface EventRecord {
  readonly event: HostEvent;
  /** The event failed before and was delivered again. */
  readonly again: boolean;
  /** When it was accepted: milliseconds since 1970 by Redis's clock, as the accepting replica estimates it. */
  readonly at: number;
}

const repository = z.string().transform(repositoryName);
const change = z.object({ host: z.enum(HOST_IDS), repository, number: z.int().positive() });
const origin = { delivery: z.string(), traceparent: z.string().exactOptional(), change };

const hostEvent = z.discriminatedUnion("kind", [
  z.object({
    ...origin,
    kind: z.literal("updated"),
    reason: z.enum(["opened", "reopened", "pushed", "ready", "retargeted"]),
  }),
  z.object({ ...origin, kind: z.literal("closed"), merged: z.boolean() }),
  z.object({
    ...origin,
    kind: z.literal("commented"),
    commentId: z.string(),
    body: z.string(),
    author: z.object({ id: z.string(), login: z.string(), bot: z.boolean() }),
    found: z.object({ writtenAt: z.string(), overtaken: z.boolean() }).exactOptional(),
  }),
  z.object({ ...origin, kind: z.literal("reviewed") }),
  z.object({ ...origin, kind: z.literal("still-deployed") }),
  z.object({ ...origin, kind: z.literal("base-moved"), branch: z.string() }),
  z.object({
    ...origin,
    kind: z.literal("turn"),
    applications: z.array(z.string().min(1).transform(applicationName)),
    after: change.exactOptional(),
  }),
]);

const record = z.object({ v: z.literal(1), again: z.boolean(), at: z.number(), event: hostEvent });

/** push.lua relies on `again` coming before the event. */
export function eventRecordOf({ again, at, event }: EventRecord): string {
  return JSON.stringify({ v: 1, again, at, event });
}

/** Returns undefined for a damaged record and for one of another version. */
export function readEventRecord(text: string): EventRecord | undefined {
  return record.safeParse(parseJson(text)).data;
}
