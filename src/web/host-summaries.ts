import { LRUCache } from "lru-cache";
import { changeRequestKey, type ChangeRequestRef } from "../core/model/change-request.js";
import { safeMessage } from "../core/model/errors.js";
import type { NextStep } from "../core/model/next-step.js";
import type { Facts } from "../core/policy/facts.js";
import { nextStep } from "../core/policy/next-step.js";
import type { Clock } from "../core/ports/clock.js";
import type { Log } from "../core/ports/log.js";
import { openChange, type Dependencies, readChangeFacts } from "../run/line/run.js";
import { TooSlow, within } from "./time-limit.js";

/** The head of a change request's page. */
export interface ChangeSummary extends Pick<Facts, "change" | "approval" | "missingForRules"> {
  /** The stored plan is one of the head. */
  readonly planned: boolean;
  readonly next: NextStep;
}

/** Where a change request stands. `why` is a sentence for people. */
type HostSummary =
  | { readonly kind: "known"; readonly summary: ChangeSummary }
  | { readonly kind: "unknown"; readonly why: string };

interface HostSummariesParts {
  /** Asks the host; undefined if it is no longer configured. */
  readonly lookUp: (change: ChangeRequestRef) => Promise<ChangeSummary | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a page waits for the host, in milliseconds; a later answer serves the next page. */
  readonly timeoutMs?: number;
}

const MOST_KEPT = 100;
/** Reloading a page within this time sends no request. */
const KEPT_MS = 10_000;
const TIMEOUT_MS = 5_000;
/** Keeps pages from using up the host's rate limit. */
export const MOST_PER_MINUTE = 30;

/** Caches and limits what pages ask the hosts about change requests. */
export class HostSummaries {
  readonly #answers: LRUCache<string, Promise<ChangeSummary | undefined>>;
  #asked: readonly number[] = [];

  constructor(private readonly parts: HostSummariesParts) {
    const perf = { now: () => parts.clock.now().getTime() };
    this.#answers = new LRUCache({ max: MOST_KEPT, ttl: KEPT_MS, ttlResolution: 0, perf });
  }

  /** @param stored What the stores hold of it; a cached answer counts only while this is unchanged. */
  async ask(change: ChangeRequestRef, stored: unknown): Promise<HostSummary> {
    const key = `${changeRequestKey(change)} ${JSON.stringify(stored)}`;
    const answer = this.#answers.get(key) ?? this.#question(key, change);
    if (answer === undefined) return { kind: "unknown", why: "Too many pages were opened within a minute." };
    try {
      const summary = await within(this.parts.timeoutMs ?? TIMEOUT_MS, answer);
      if (summary !== undefined) return { kind: "known", summary };
      return { kind: "unknown", why: "Its code host is no longer configured." };
    } catch (error) {
      if (error instanceof TooSlow) return { kind: "unknown", why: "Its code host has not answered yet." };
      this.#answers.delete(key);
      this.parts.log.warn({ err: error, change }, "could not look up a change request for its page");
      return { kind: "unknown", why: `${safeMessage(error)}.` };
    }
  }

  /** Undefined once the limit of a minute is reached. */
  #question(key: string, change: ChangeRequestRef): Promise<ChangeSummary | undefined> | undefined {
    const now = this.parts.clock.now().getTime();
    this.#asked = this.#asked.filter((at) => at > now - 60_000);
    if (this.#asked.length >= MOST_PER_MINUTE) return undefined;
    this.#asked = [...this.#asked, now];
    const answer = this.parts.lookUp(change);
    this.#answers.set(key, answer);
    return answer;
  }
}

/** Asks the host for a change request, and reads the repository's file; undefined if the host is no longer configured. */
export async function readSummary(ref: ChangeRequestRef, source: Dependencies): Promise<ChangeSummary | undefined> {
  const host = source.hosts[ref.host];
  if (host === undefined) return undefined;
  const asking = { ...source, host };
  const change = await host.getChangeRequest(ref);
  const { settings, problems } = await openChange(change, asking);
  const { facts } = await readChangeFacts(change, settings, asking, { problems });
  const { approval, missingForRules, plan } = facts;
  return { change, approval, missingForRules, planned: plan?.current === true, next: nextStep(facts) };
}
