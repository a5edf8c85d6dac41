import { changeRequestKey } from "../../core/model/change-request.js";
import type { Lock } from "../../core/model/lock.js";
import { isAdmin, type Page, type PageParts, type Reader, readText } from "./page.js";
import { shownChange, type ShownChange, shownTime, type ShownTime } from "./shown.js";

/** A change request with its locks. */
interface Holder {
  readonly change: ShownChange;
  /** Where the API releases all its locks. */
  readonly path: string;
  /** How many it holds, with those that the filter hides. */
  readonly total: number;
  readonly locks: readonly ShownLock[];
}

interface ShownLock {
  readonly application: string;
  readonly user: string;
  readonly since: ShownTime;
  readonly commit: string | undefined;
}

/** Which change request holds which locks, filtered by `q`; the longest held come first. */
export async function locksPage(
  query: unknown,
  reader: Reader,
  { locks, hostPageOf, clock }: PageParts,
): Promise<Page> {
  const wanted = readText(query, "q").trim();
  const everyLock = await locks.list();
  const now = clock.now();
  const holders = byHolder(everyLock)
    .map((held) => holderOf(held, { wanted: wanted.toLowerCase(), hostPageOf, now }))
    .filter((holder) => holder.locks.length > 0);
  const data = { holders, wanted, total: everyLock.length, admin: isAdmin(reader) };
  return { view: "locks", title: "Locks", active: "locks", data };
}

/** The locks of one change request; never empty. */
type Held = readonly [Lock, ...Lock[]];

function byHolder(locks: readonly Lock[]): readonly Held[] {
  const holders = new Map<string, Held>();
  for (const lock of locks) {
    const key = changeRequestKey(lock.holder);
    const known = holders.get(key);
    holders.set(key, known === undefined ? [lock] : [...known, lock]);
  }
  return [...holders.values()].sort((left, right) => (oldest(left) < oldest(right) ? -1 : 1));
}

/** The time first, then the name, so that equal times have an order. */
function oldest([first, ...others]: Held): string {
  const times = [first, ...others].map(({ timestamp }) => timestamp).sort();
  return `${times[0] ?? ""} ${changeRequestKey(first.holder)}`;
}

interface Showing extends Pick<PageParts, "hostPageOf"> {
  /** In lower case. */
  readonly wanted: string;
  readonly now: Date;
}

function holderOf(held: Held, { wanted, hostPageOf, now }: Showing): Holder {
  const [{ holder }] = held;
  const change = shownChange(holder, hostPageOf);
  const locks = held.map(({ application, user, timestamp, planRevision }): ShownLock => {
    return { application, user, since: shownTime(timestamp, now), commit: planRevision };
  });
  return {
    change,
    path: `/api/v1/locks?${new URLSearchParams({ change: changeRequestKey(holder) }).toString()}`,
    total: held.length,
    locks: locks.filter((lock) => matches(lock, change, wanted)),
  };
}

function matches({ application, user, commit }: ShownLock, change: ShownChange, wanted: string): boolean {
  return [application, change.name, user, commit ?? ""].some((text) => text.toLowerCase().includes(wanted));
}
