import { StoreUnavailable } from "../../core/model/errors.js";
import type { QueueBacklog } from "../../core/ports/event-queue.js";
import type { PageParts } from "./page.js";
import type { Page, Reader } from "./page.js";
import { shownTime } from "./shown.js";

/** Whether everything that the service needs is there now; what the checks say is only for people who are logged in. */
export async function statusPage(reader: Reader, { status, backlog, version, clock }: PageParts): Promise<Page> {
  const [{ at, rows }, work] = await Promise.all([status.look(), known(backlog)]);
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

/** The page is there to say that the store is away, so it must not fail with it. */
async function known(backlog: PageParts["backlog"]): Promise<QueueBacklog | undefined> {
  try {
    return await backlog();
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}
