import type { LiveApplication } from "../model/application.js";
import type { Deployment } from "../model/deployment.js";
import { DeployerFailure } from "../model/errors.js";
import type { SyncedResource, SyncOutcome } from "../model/result.js";
import type { CommandPorts } from "../ports/context.js";
import type { HealthReport, SyncLookup } from "../ports/deployer.js";

const HOLDS_AFTER_MS = 30_000;
const POLL_MS = 5_000;
const POLL_GROWTH = 1.25;
const LONGEST_POLL_MS = 15_000;
const DENIED_MS = 60_000;

/** How the wait for an application's health ended. Words of Argo CD are untrusted. */
export type HealthEnd =
  /** Healthy, or Suspended: somebody paused it on purpose. */
  | { readonly kind: "healthy"; readonly health: string; readonly unhealthy: readonly SyncedResource[] }
  | {
      readonly kind: "unhealthy";
      readonly health: string;
      readonly message: string;
      readonly unhealthy: readonly SyncedResource[];
    }
  | { readonly kind: "unknown"; readonly message: string };

interface HealthWait {
  /** After that, only an application that is about to hold its health is waited for. */
  readonly timeoutMs: number;
  readonly onLook?: (health: string, unhealthy: readonly SyncedResource[]) => void;
}

type Compared = Extract<HealthReport, { kind: "compared" }>;

/** Consecutive health readings with the same status. */
interface Streak {
  readonly word: "good" | "bad" | "between";
  /** When the health last changed, by Argo CD's clock: it may have changed between two readings. */
  readonly since: string | undefined;
  readonly from: number;
}

/**
 * Waits until an application has been healthy for half a minute after a sync. What Argo CD compared before the sync ended does
 * not count, nor does a time in which it could not be asked.
 */
export async function awaitHealth(
  lookup: SyncLookup,
  { timeoutMs, onLook }: HealthWait,
  { deployer, clock }: Pick<CommandPorts, "deployer" | "clock">,
): Promise<HealthEnd> {
  const start = clock.now().getTime();
  let pause = POLL_MS;
  let streak: Streak | undefined;
  let last: Compared | undefined;
  let deniedFrom: number | undefined;
  for (let looks = 0; ; looks += 1) {
    const seen = await deployer.healthAfter(lookup, { refresh: looks > 0 }).catch(unseen);
    const now = clock.now().getTime();
    const left = start + timeoutMs - now;
    switch (seen.kind) {
      case "replaced":
        return { kind: "unknown", message: "another operation ran while svc waited for its health" };
      case "unseen":
        streak = undefined;
        // Argo CD may have been away before, and Kubernetes still be.
        deniedFrom = seen.maybeForMs === Infinity ? undefined : (deniedFrom ?? now);
        if (left > 0 && now - (deniedFrom ?? now) < seen.maybeForMs) break;
        return { kind: "unknown", message: `svc can no longer see its health: ${seen.message}` };
      case "not-compared":
        streak = undefined;
        deniedFrom = undefined;
        break;
      case "compared":
        last = seen;
        deniedFrom = undefined;
        streak = continued(streak, seen, now);
        onLook?.(seen.health, seen.unhealthy);
        break;
    }
    const held = streak !== undefined && now - streak.from >= HOLDS_AFTER_MS;
    if (held && last !== undefined && streak?.word === "good") {
      return { kind: "healthy", health: last.health, unhealthy: last.unhealthy };
    }
    if (held && last !== undefined && streak?.word === "bad") return degraded(last);
    // An application that is healthy now gets time to stay so, but not without end: its health may keep changing.
    if (left <= (streak?.word === "good" ? -2 * HOLDS_AFTER_MS : 0)) return timedOut(last, timeoutMs);
    await clock.sleep(left > 0 ? Math.min(pause, left) : POLL_MS);
    pause = Math.min(Math.round(pause * POLL_GROWTH), LONGEST_POLL_MS);
  }
}

function continued(before: Streak | undefined, { health, since }: Compared, now: number): Streak {
  const word = wordOf(health);
  return before?.word === word && before.since === since ? before : { word, since, from: now };
}

function wordOf(health: string): Streak["word"] {
  if (isWell(health)) return "good";
  return health === "Degraded" ? "bad" : "between";
}

/** Somebody paused what is Suspended on purpose. */
export function isWell(health: string): boolean {
  return health === "Healthy" || health === "Suspended";
}

function degraded({ health, unhealthy }: Compared): HealthEnd {
  return { kind: "unhealthy", health, unhealthy, message: `Argo CD reported it as ${health} for 30 seconds` };
}

function timedOut(last: Compared | undefined, timeoutMs: number): HealthEnd {
  const waited = `within ${Math.round(timeoutMs / 1000)} seconds`;
  if (last !== undefined) {
    const { health, unhealthy } = last;
    const message = isWell(health)
      ? "it did not stay healthy for 30 seconds"
      : `it did not get healthy ${waited}: Argo CD reports it as ${health}`;
    return { kind: "unhealthy", health, unhealthy, message };
  }
  const message = `Argo CD did not compare it ${waited}, so its health is not known`;
  return { kind: "unhealthy", health: "Unknown", unhealthy: [], message };
}

interface Unseen {
  readonly kind: "unseen";
  readonly message: string;
  /** How many milliseconds to go on asking while this failure lasts; 0: not at all. */
  readonly maybeForMs: number;
}

/** Argo CD also answers 403 while Kubernetes does not answer it, so a missing permission is believed only after a while. */
function unseen(error: unknown): Unseen {
  if (!(error instanceof DeployerFailure)) throw error;
  const { reason, message } = error;
  const passing = reason === "unreachable" || reason === "failed";
  return { kind: "unseen", message, maybeForMs: passing ? Infinity : reason === "forbidden" ? DENIED_MS : 0 };
}

export function lookupOf(record: Deployment, live: LiveApplication, runId: string): SyncLookup {
  const at = record.pins.length === 0 ? "target" : record.pins;
  const { specWritten } = record;
  const spec = specWritten ?? live.spec;
  return { application: { ...live, spec }, at, runId, readLater: specWritten === undefined };
}

/** A sync that succeeded for Argo CD and left the application unhealthy. */
export function failure(
  health: string,
  message: string,
  resources: readonly SyncedResource[],
): Extract<SyncOutcome, { kind: "failed" }> {
  return { kind: "failed", message, resources, notHealthy: { health } };
}
