import type { Lock } from "../../core/model/lock.js";
import { isAdmin, type Page, type PageParts, type Reader, readText } from "./page.js";
import { shownChange, shownTime } from "./shown.js";

const COLUMNS = [
  ["application", "Application"],
  ["change", "Held by"],
  ["user", "Who"],
  ["since", "Since"],
] as const;
type Column = (typeof COLUMNS)[number][0];

interface Row {
  readonly application: string;
  readonly change: ReturnType<typeof shownChange>;
  readonly user: string;
  readonly since: ReturnType<typeof shownTime>;
  readonly commit: string | undefined;
}

/** Which change request holds which lock, filtered by `q` and sorted by `sort`. */
export async function locksPage(
  query: unknown,
  reader: Reader,
  { locks, hostPageOf, clock }: PageParts,
): Promise<Page> {
  const wanted = readText(query, "q").trim();
  const sort = readSort(readText(query, "sort"));
  const everyLock = await locks.list();
  const now = clock.now();
  const rows = everyLock
    .map((lock: Lock): Row => ({
      application: lock.application,
      change: shownChange(lock.holder, hostPageOf),
      user: lock.user,
      since: shownTime(lock.timestamp, now),
      commit: lock.planRevision,
    }))
    .filter((row) => matches(row, wanted.toLowerCase()))
    .sort((left, right) => compare(keyOf(left, sort.column), keyOf(right, sort.column)) * (sort.down ? -1 : 1));
  return {
    view: "locks",
    title: "Locks",
    active: "locks",
    data: { rows, wanted, total: everyLock.length, admin: isAdmin(reader), columns: columnsOf(sort, wanted) },
  };
}

interface Sort {
  readonly column: Column;
  readonly down: boolean;
}

/** `since`, or `-since` for descending order. */
function readSort(text: string): Sort {
  const down = text.startsWith("-");
  const found = COLUMNS.find(([id]) => id === text.slice(down ? 1 : 0));
  return { column: found?.[0] ?? "application", down };
}

function columnsOf(sort: Sort, wanted: string) {
  return COLUMNS.map(([id, text]) => {
    const current = sort.column === id;
    const query = new URLSearchParams({
      ...(wanted === "" ? {} : { q: wanted }),
      sort: current && !sort.down ? `-${id}` : id,
    });
    const order = current ? (sort.down ? "descending" : "ascending") : undefined;
    return { text, path: `/?${query.toString()}`, order };
  });
}

function matches(row: Row, wanted: string): boolean {
  return [row.application, row.change.name, row.user, row.commit ?? ""].some((text) =>
    text.toLowerCase().includes(wanted),
  );
}

function keyOf(row: Row, column: Column): string {
  switch (column) {
    case "application":
      return row.application;
    case "change":
      return row.change.name;
    case "user":
      return row.user;
    case "since":
      return row.since.iso;
  }
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
