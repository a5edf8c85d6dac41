import { createHash } from "node:crypto";
import {
  commitStatusOf,
  sharedDoubt,
  type StatusFacts,
  type StatusText,
  UNPLANNED,
  worstOf,
} from "../../comments/commit-status.js";
import type { Revision } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  type ChangeRequestRef,
  type HeadRef,
  headRef,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import { HostFailure, isFinal, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import { foundHead } from "../../core/model/event.js";
import type { CommitStatus, OpenWithHead } from "../../core/ports/code-host.js";
import type { OwnStatus } from "../../core/ports/stores.js";
import type { Answerable } from "../line/outcome.js";
import { plansAutomatically, type Run } from "../line/run.js";

export function hasCommitStatus({ host, config }: Run): boolean {
  return config[host.id]?.commitStatus === true;
}

/** Sets the commit status of the head; in a minute if that fails. Logs failures and never throws, like everything here. */
export async function setCommitStatus(
  change: ChangeRequest,
  facts: StatusFacts,
  run: Run,
  { unlessShown = false } = {},
): Promise<void> {
  const text = commitStatusOf(facts, run.hostWords[change.host]);
  await orInAMinute(change, run, () => setStatusText(change, text, change.webUrl, run, unlessShown));
}

/** Sets the stored status of a change request once more, in case the host did not take it. */
export async function setStoredStatus(change: ChangeRequest, run: Run): Promise<void> {
  await orInAMinute(change, run, async () => {
    const ofHead = await run.statuses.ofHead(headRef(change));
    const own = ofHead.find((one) => sameChangeRequest(one.change, change));
    if (own !== undefined) await setStatusText(change, own, own.url ?? change.webUrl, run, true);
  });
}

/** Logs a failure of the work, and has the change request looked at again in a minute if that may help. */
export async function orInAMinute(change: ChangeRequest, run: Run, work: () => Promise<unknown>): Promise<void> {
  if (!(await whileLogging(run, work))) await run.publisher.retry(change, run.patient);
}

/** Shows once that an automatic plan has started, or that a head waits to be looked at; the run does not wait for it. */
export function announcePlan(asked: Answerable, change: ChangeRequest, run: Run): void {
  if (asked.kind !== "autoplan" || run.attempt.change !== undefined) return;
  if (change.state !== "open" || !hasCommitStatus(run)) return;
  const own = { change: headRef(change), state: "pending", description: UNPLANNED, url: change.webUrl } as const;
  const announce = async () => {
    if (plansAutomatically(change, run.config)) return setCommitStatus(change, { kind: "planning" }, run);
    await whileLogging(run, async () => {
      await run.publisher.wrote(change, "status", undefined);
      await writeUnplanned(own, run);
    });
  };
  run.attempt.inBackground(announce());
}

/** Forgets a closed change request, which may have held back the status of a commit that others have as head. */
export async function forgetStatus(ref: ChangeRequestRef, run: Run): Promise<void> {
  if (!hasCommitStatus(run)) return;
  await whileLogging(run, async () => {
    const headRevision = await run.statuses.remove(ref);
    if (headRevision !== undefined) await writeWorst({ ...ref, headRevision }, run);
  });
}

/** Sets the commit status of a head. @param url what it leads to. @param unlessShown leaves what is shown. @returns Whether the host shows it. */
export async function setStatusText(
  change: ChangeRequest,
  text: StatusText,
  url: string,
  run: Run,
  unlessShown = false,
): Promise<boolean> {
  if (!hasCommitStatus(run)) return false;
  const { stackBase: into } = change;
  const isDoubtful = into !== undefined && text.state === "success";
  const { state, description } = isDoubtful ? sharedDoubt({ kind: "stacked", into }, run.hostWords[change.host]) : text;
  const own = { change: headRef(change), state, description, url };
  const { headRevision, pipeline = "" } = change;
  const told = JSON.stringify([headRevision, state, description, url, pipeline]);
  const digest = createHash("sha256").update(told).digest("base64");
  const isShown = unlessShown && (await run.publisher.written(change, "status")) === digest;
  // Whether a success may be green also depends on the other change requests of its commit.
  if (isShown && state !== "success") return true;
  const shown = await writeStatus(own, run, isShown);
  if (shown) await run.publisher.wrote(change, "status", digest);
  return shown;
}

/** Logs a failure of the work instead of throwing it. @returns False if another attempt may succeed. */
async function whileLogging(run: Run, work: () => Promise<unknown>): Promise<boolean> {
  const { host, complaints, log } = run;
  try {
    await work();
    return true;
  } catch (error) {
    const forbidden = error instanceof HostFailure && error.reason === "forbidden";
    if (!forbidden || complaints.isNew("commit-status", host.id, error)) {
      log.warn({ err: error }, "could not set the commit status");
    }
    return isFinal(error);
  }
}

type StatusWriter = Pick<Run, "host" | "hostWords" | "statuses" | "push" | "patient" | "log"> & {
  readonly publisher: Pick<Run["publisher"], "wrote" | "retry">;
};

/** A host limits the statuses of one commit. The last of them are kept for taking a success back. */
const RESERVED = 100;
/** How often a success is written again because another replica may have written in the meantime. */
const MAX_TURNS = 3;
/** Change requests whose pipelines are told, on a host that keeps a status for each. */
const MAX_TOLD = 10;
/** Change requests without an own status that are planned because a success would need it. */
const MAX_FOUND = 20;

/**
 * Stores what a change request alone would show, and brings the status of its commit up to date. A status belongs to a
 * commit, which several change requests may have as head: it is the worst of theirs. This is the one place that sets it.
 * @param isShown Whether svc noted that the host shows this text. It is then set again only if the commit may not stay green.
 * @returns Whether the host shows this change request's own text.
 */
export async function writeStatus(own: OwnStatus, writer: StatusWriter, isShown = false): Promise<boolean> {
  let before: Revision | undefined;
  try {
    before = await writer.statuses.save(own);
  } catch (error) {
    return setUntold(error, own.change, own, writer);
  }
  const shown = await writeWorst(own.change, writer, own, isShown);
  if (before !== undefined) await writeWorst({ ...own.change, headRevision: before }, writer);
  return shown;
}

/**
 * Stores that a change request has not been looked at, and sets the statuses that this affects: another one may have made its
 * commit green, and it may have held back its earlier commit.
 */
export async function writeUnplanned(own: OwnStatus, writer: StatusWriter): Promise<void> {
  const before = await writer.statuses.save(own);
  if ((await writer.statuses.ofHead(own.change)).length > 1) await writeWorst(own.change, writer);
  if (before !== undefined) await writeWorst({ ...own.change, headRevision: before }, writer);
}

/** Sets the worst of all own statuses with this head, if any. @returns Whether the host shows that of the change request itself. */
export async function writeWorst(
  head: HeadRef,
  writer: StatusWriter,
  own?: OwnStatus,
  isShown = false,
): Promise<boolean> {
  try {
    for (let left = MAX_TURNS; left > 0; left -= 1) {
      const work = (isOurs: () => Promise<boolean>) => inTurn({ head, isOurs, isShown }, writer);
      const { kept, shown } = await writer.statuses.exclusively(head, work);
      if (kept) return shown;
    }
    throw new StoreUnavailable("the turn to write a commit status was lost each time");
  } catch (error) {
    return setUntold(error, head, own, writer);
  }
}

interface WritingTurn {
  readonly head: HeadRef;
  readonly isOurs: () => Promise<boolean>;
  readonly isShown: boolean;
}

/** Reads all statuses and sets the worst during a turn, so that no replica overwrites what another knew. */
async function inTurn({ head, isOurs, isShown }: WritingTurn, writer: StatusWriter) {
  const [first, ...others] = await writer.statuses.ofHead(head);
  if (first === undefined) return { kept: true, shown: false };
  const all = [first, ...others] as const;
  const found = await withoutDoubt(all, writer);
  // Some hosts count the statuses of a commit, and refuse more than so many.
  if (isShown && others.length === 0 && found.state === "success") return { kept: true, shown: true };
  const worst = await whileCounted(found, head, writer);
  // The host may soon show another text than was noted for any of them.
  await Promise.all(all.map(({ change }) => writer.publisher.wrote(change, "status", undefined)));
  const set = await setFor(all, head, worst, writer);
  const own = all.find(({ change }) => sameChangeRequest(change, head));
  const named = worst.state === "success" || sameChangeRequest(worst.change, head);
  // If the turn ended before, another replica may have set something worse, which a success overwrote.
  const kept = worst.state !== "success" || (await isOurs());
  return { kept, shown: set && named && own?.state === worst.state };
}

/** Sets the status while the store is away. It is never green then: other change requests with this head may hold it back. */
async function setUntold(
  error: unknown,
  head: HeadRef,
  own: OwnStatus | undefined,
  writer: StatusWriter,
): Promise<boolean> {
  if (!(error instanceof StoreUnavailable || error instanceof StoredValueUnreadable)) throw error;
  writer.log.warn({ err: error }, "could not tell which other change requests share a commit status");
  await writer.publisher.wrote(head, "status", undefined);
  if (error instanceof StoreUnavailable) await writer.publisher.retry(head, writer.patient);
  if (own !== undefined && own.state !== "success") return writer.host.setStatus(head, own);
  await writer.host.setStatus(head, { ...sharedDoubt({ kind: "store" }, writer.hostWords[head.host]), url: own?.url });
  return false;
}

type All = readonly [OwnStatus, ...OwnStatus[]];

/** Counts a status that is about to be set. @returns It, or a pending one if too few are left to take a success back later. */
async function whileCounted(status: OwnStatus, head: HeadRef, writer: StatusWriter): Promise<OwnStatus> {
  const words = writer.hostWords[head.host];
  if (words.maxStatuses === undefined) return status;
  const count = await writer.statuses.countWrite(head);
  if (status.state !== "success" || count <= words.maxStatuses - RESERVED) return status;
  return { ...status, ...sharedDoubt({ kind: "used-up" }, words) };
}

/** The worst of them; a success only if nobody else can have this head. */
async function withoutDoubt(all: All, writer: StatusWriter): Promise<OwnStatus> {
  const [{ change: head }] = all;
  const words = writer.hostWords[head.host];
  const worst = worstOf(all, words);
  if (worst.state !== "success") return worst;
  const open = await openWithHead(head, writer);
  if (open === undefined) return { ...worst, ...sharedDoubt({ kind: "not-listed" }, words) };
  const known = new Set(all.map(({ change }) => change.number));
  const unknown = open.numbers.filter((number) => !known.has(number)).sort((left, right) => left - right);
  await Promise.all(unknown.slice(0, MAX_FOUND).map((number) => writer.push(foundHead({ ...head, number }))));
  const [number] = unknown;
  if (number !== undefined) {
    const change = { ...head, number };
    return { change, url: undefined, ...sharedDoubt({ kind: "unplanned", change }, words) };
  }
  if (open.ofQueue === true) return { ...worst, ...sharedDoubt({ kind: "of-queue" }, words) };
  return open.cutOff === undefined ? worst : { ...worst, ...sharedDoubt({ kind: "cut-off", why: open.cutOff }, words) };
}

async function openWithHead(head: HeadRef, writer: StatusWriter): Promise<OpenWithHead | undefined> {
  const { host, publisher, patient, log } = writer;
  try {
    return await host.openWithHead(head);
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    log.warn({ err: error }, "could not list the change requests of a commit; its status is pending until it can");
    if (!isFinal(error)) await publisher.retry(head, patient);
    return undefined;
  }
}

/** @returns Whether the change request shows it. One whose status the host does not take is looked at again, whoever caused the status. */
async function setFor(all: All, head: HeadRef, status: CommitStatus, writer: StatusWriter): Promise<boolean> {
  const { host, publisher, patient, log } = writer;
  const [{ change: first }] = all;
  const changes = all.map(({ change }) => change);
  const own = changes.find((change) => sameChangeRequest(change, head)) ?? first;
  const set = async (change: HeadRef) => {
    try {
      return await host.setStatus(change, status);
    } catch (error) {
      if (!isFinal(error)) await publisher.retry(change, patient);
      throw error;
    }
  };
  const shown = await set(own);
  if (!host.statusPerChange) return shown;
  for (const change of changes.filter((one) => one !== own).slice(0, MAX_TOLD)) {
    try {
      await set(change);
    } catch (error) {
      log.warn({ err: error }, "could not set the commit status for another change request with the same head");
    }
  }
  return shown;
}
