import { StoreUnavailable } from "../../core/model/errors.js";
import type { QueueBacklog } from "../../core/ports/event-queue.js";
import { WAIT_REASONS, type LimitWait } from "../../hosts/limit-waits.js";
import { HOST_IDS, HOST_TITLES, type HostId } from "../../names.js";
import type { Page, PageParts, Reader } from "./page.js";
import { shownTime } from "./shown.js";

/** Whether each system that the service needs is available. Details are only for people who are logged in. */
export async function statusPage(
  reader: Reader,
  { status, backlog, limitWaits, version, clock }: PageParts,
): Promise<Page> {
  const [{ at, rows }, work] = await Promise.all([status.look(), backlogIfAvailable(backlog)]);
  const now = clock.now();
  const oldest = work !== undefined && work.waiting > 0 ? new Date(now.getTime() - work.oldestMs) : undefined;
  return {
    view: "status",
    title: "Status",
    active: "status",
    data: {
      rows,
      at: shownTime(at, now),
      work,
      oldest: oldest && shownTime(oldest.toISOString(), now),
      waits: HOST_IDS.flatMap((host) => shownWaits(limitWaits(), host, now)),
      version,
      detailed: reader.kind === "account",
    },
  };
}

/** What the writes of this replica to one host wait for. */
function shownWaits(all: readonly LimitWait[], host: HostId, now: Date): readonly object[] {
  return WAIT_REASONS.flatMap((reason) => {
    const ends = all.filter((one) => one.host === host && one.reason === reason).map(({ until }) => until.getTime());
    if (ends.length === 0) return [];
    const until = new Date(Math.min(...ends));
    return { title: HOST_TITLES[host], reason, count: ends.length, until: shownTime(until.toISOString(), now) };
  });
}

/** Undefined if the store is unavailable: this page has to work without it. */
async function backlogIfAvailable(backlog: PageParts["backlog"]): Promise<QueueBacklog | undefined> {
  try {
    return await backlog();
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}
