import { StoreUnavailable } from "../../core/model/errors.js";
import type { QueueBacklog } from "../../core/ports/event-queue.js";
import type { Page, PageParts, Reader } from "./page.js";
import { shownTime } from "./shown.js";

/** Whether each system that the service needs is available. Details are only for people who are logged in. */
export async function statusPage(reader: Reader, { status, backlog, version, clock }: PageParts): Promise<Page> {
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
      version,
      detailed: reader.kind === "account",
    },
  };
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
