import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";
import type { SignedEvent } from "./signed-events.js";

export interface Sent {
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** Milliseconds of each request, sorted. */
  readonly latencies: readonly number[];
}

const CONNECTIONS = 32;

/** As fast as the receiver takes them. @throws {Error} for an answer that is not 200. */
export async function sendAll(url: string, events: readonly SignedEvent[]): Promise<Sent> {
  const send = sender(url);
  const started = performance.now();
  const latencies: number[] = [];
  let next = 0;
  const work = async () => {
    for (let event = events[next++]; event !== undefined; event = events[next++]) {
      const begun = performance.now();
      await send.one(event);
      latencies.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  const seconds = (performance.now() - started) / 1000;
  await send.close();
  return { seconds, latencies: latencies.sort((a, b) => a - b) };
}

/** At a fixed rate, whether or not the receiver keeps up: a late answer does not hold back the next request. */
export async function sendAtRate(url: string, events: readonly SignedEvent[], perSecond: number): Promise<Sent> {
  const send = sender(url);
  const started = performance.now();
  const latencies: number[] = [];
  const going: Promise<void>[] = [];
  for (const [index, event] of events.entries()) {
    const due = started + (index * 1000) / perSecond;
    if (due > performance.now() + 1) await delay(due - performance.now());
    going.push(send.one(event).then(() => void latencies.push(performance.now() - due)));
  }
  await Promise.all(going);
  const seconds = (performance.now() - started) / 1000;
  await send.close();
  return { seconds, latencies: latencies.sort((a, b) => a - b) };
}

function sender(url: string) {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: CONNECTIONS });
  return {
    async one({ headers, body }: SignedEvent): Promise<void> {
      const answer = await pool.request({ method: "POST", path: pathname, headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}: ${text}`);
    },
    close: () => pool.close(),
  };
}

/** A part of sorted numbers: 0.99 for the 99th percentile. */
export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
