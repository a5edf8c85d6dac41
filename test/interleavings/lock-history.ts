import type { ApplicationName } from "../../src/core/model/brand.js";

/** Points of one common time that only counts: a later moment of this process has the greater number. */
interface Span {
  readonly application: ApplicationName;
  /** Key of the change request that asked. */
  readonly by: string;
  readonly start: number;
  readonly end: number;
}

/** `outcome` is undefined when the call threw: it may have happened, or may still happen, so its end is Infinity. */
export interface Acquired extends Span {
  readonly kind: "acquire";
  readonly outcome: "fresh" | "refreshed" | "held" | undefined;
}
export interface Released extends Span {
  readonly kind: "release";
  readonly outcome: boolean | undefined;
}
export interface Synced extends Span {
  readonly kind: "sync";
}
export type Happened = Acquired | Released | Synced;

/** A time in which the change request had the lock beyond doubt. */
interface Hold {
  readonly by: string;
  readonly from: number;
  /** Infinity when it was not released. */
  readonly to: number;
}

export interface Judgement {
  readonly violations: readonly string[];
  /** Who must have each lock at the end. */
  readonly heldAtEnd: ReadonlyMap<ApplicationName, string>;
}

/**
 * Judges what happened at the ports.
 *
 * An atomic store never gives a false alarm: it takes a lock at one moment between the start and the end of the acquire,
 * and gives it up at one moment between the start and the end of a release by the same change request. From the end of a
 * successful acquire to the start of that change request's next release it is therefore the holder for certain, and the
 * true holds of two change requests never overlap. An acquire that runs beside a release of the same change request
 * proves nothing, since nobody knows which came first; it counts as no hold. Runs take seconds, locks live for days.
 */
export function judge(history: readonly Happened[]): Judgement {
  const heldAtEnd = new Map<ApplicationName, string>();
  const violations: string[] = [];
  for (const application of new Set(history.map((one) => one.application))) {
    const own = history.filter((one) => one.application === application);
    const holds = holdsOf(own);
    violations.push(
      ...overlaps(holds),
      ...own.flatMap((one) => violationOf(one, own, holds)).map((text) => `${application}: ${text}`),
    );
    const last = holds.find(({ to }) => to === Infinity);
    if (last !== undefined) heldAtEnd.set(application, last.by);
  }
  return { violations: [...new Set(violations)], heldAtEnd };
}

function holdsOf(history: readonly Happened[]): readonly Hold[] {
  const releases = history.filter((one) => one.kind === "release");
  return history.flatMap((one) => {
    if (!succeeded(one)) return [];
    const own = releases.filter(({ by }) => by === one.by);
    if (own.some((release) => release.start < one.end && release.end > one.start)) return [];
    const next = own.filter(({ start }) => start > one.end).map(({ start }) => start);
    return [{ by: one.by, from: one.end, to: Math.min(...next) }];
  });
}

function succeeded(one: Happened): one is Acquired {
  return one.kind === "acquire" && (one.outcome === "fresh" || one.outcome === "refreshed");
}

function overlaps(holds: readonly Hold[]): readonly string[] {
  return holds.flatMap((one, index) =>
    holds
      .slice(index + 1)
      .filter((other) => other.by !== one.by && one.from < other.to && other.from < one.to)
      .map((other) => `held by ${one.by} and ${other.by} at once`),
  );
}

function violationOf(one: Happened, own: readonly Happened[], holds: readonly Hold[]): readonly string[] {
  const throughout = holds.filter(({ from, to }) => from < one.start && to > one.end);
  const others = throughout.filter(({ by }) => by !== one.by);
  switch (one.kind) {
    case "acquire":
      if (succeeded(one) && others.length > 0) return [`${one.by} took the lock while ${named(others)} held it`];
      if (one.outcome !== "refreshed" && one.outcome !== undefined && throughout.some(({ by }) => by === one.by)) {
        return [`${one.by} held the lock and it was gone: somebody else released it`];
      }
      return [];
    case "release":
      if (one.outcome !== true) return [];
      if (others.length > 0) return [`${one.by} released the lock of ${named(others)}`];
      return couldHold(one, own) ? [] : [`${one.by} released a lock that it cannot have held`];
    case "sync":
      return syncViolation(one, own, holds);
  }
}

/** Whether a lock of its own can have been there: acquired before, and not surely released since. */
function couldHold(release: Released, own: readonly Happened[]): boolean {
  const earlier = own.filter((one) => one.kind === "release" && one.by === release.by && one.end < release.start);
  return own.some(
    (one) =>
      one.kind === "acquire" &&
      one.by === release.by &&
      one.outcome !== "held" &&
      one.start < release.end &&
      !earlier.some(({ start }) => start > one.end),
  );
}

/** A sync needs the lock when it starts, and nobody else may have it until a release by the same change request began. */
function syncViolation(sync: Synced, own: readonly Happened[], holds: readonly Hold[]): readonly string[] {
  const last = own
    .filter(succeeded)
    .filter(({ by, end }) => by === sync.by && end < sync.start)
    .sort((left, right) => right.end - left.end)[0];
  if (last === undefined) return [`${sync.by} synced without having locked it`];
  const released = own
    .filter((one) => one.kind === "release" && one.by === sync.by && one.end > last.start)
    .map(({ start }) => start);
  const until = Math.min(sync.end, ...released);
  const others = holds.filter(({ by, from, to }) => by !== sync.by && from < until && to > sync.start);
  return others.length > 0 && until > sync.start ? [`${sync.by} synced while ${named(others)} held the lock`] : [];
}

function named(holds: readonly Hold[]): string {
  return [...new Set(holds.map(({ by }) => by))].join(", ");
}
