import { groupStatus, type GroupStanding, UNPLANNED, worstOf } from "../../comments/commit-status.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { type HeadRef, sameChangeRequest } from "../../core/model/change-request.js";
import { HostFailure, isFinal, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import { reached, takingEffect } from "../../core/policy/effect-rules.js";
import type { MergeGroup } from "../../core/ports/code-host.js";
import { hasCommitStatus } from "../answer/status.js";
import { silent, type Silent } from "../line/outcome.js";
import type { Run } from "../line/run.js";

/** For how long a merge group is looked at again while host or store fail, or the queue does not show it. */
const PATIENCE_MS = 10 * 60_000;
const LOOK_EVERY_MS = 15_000;

/** Sets the status of a merge group's head, which never stays pending: a queue waits for it, and what cannot be told is a failure. */
export async function judgeGroup(group: MergeGroup, run: Run): Promise<Silent> {
  if (!hasCommitStatus(run)) return silent("nothing-to-update");
  const until = run.clock.now().getTime() + PATIENCE_MS;
  while (!(await isJudged(group, run.clock.now().getTime() >= until, run))) {
    run.ticket.stepAside();
    await run.clock.sleep(LOOK_EVERY_MS);
  }
  return silent("status-updated");
}

/** Fails a merge group that crashes svc whenever it is judged. */
export async function giveUpGroup(group: MergeGroup, run: Run): Promise<Silent> {
  if (!hasCommitStatus(run)) return silent("nothing-to-update");
  const text = groupStatus({ kind: "failed" }, run.hostWords[group.host]);
  await run.host.setStatus(group, { ...text, url: undefined });
  return silent("status-updated");
}

/** @param last Whether there is no other look. */
async function isJudged(group: MergeGroup, last: boolean, run: Run): Promise<boolean> {
  const set = (standing: GroupStanding) => {
    const text = groupStatus(standing, run.hostWords[group.host]);
    return run.host.setStatus(group, { ...text, url: undefined });
  };
  try {
    // In the commit's turn: it may be the head of a change request by now, which must not get a success from here.
    return await run.statuses.exclusively(group, async (isOurs) => {
      const standing = await standingOf(group, run);
      if (standing === undefined && !last) return false;
      await set(standing ?? { kind: "unknown" });
      return standing?.kind !== "ready" || isOurs();
    });
  } catch (error) {
    const expected = [HostFailure, StoreUnavailable, StoredValueUnreadable].some((kind) => error instanceof kind);
    if (!expected) throw error;
    run.log.warn({ err: error }, "could not judge a merge group");
    if (!last && !isFinal(error)) return false;
    const forbidden = error instanceof HostFailure && error.reason === "forbidden";
    await set({ kind: forbidden ? "forbidden" : "failed" });
    return true;
  }
}

/** Undefined while the queue does not show the group. */
async function standingOf(group: MergeGroup, run: Run): Promise<GroupStanding | undefined> {
  const found = await run.host.mergeGroup(group);
  if (found === undefined) return undefined;
  const { members, ahead } = found;
  const { numbers, cutOff } = await run.host.openWithHead(group);
  const [number] = numbers;
  if (number !== undefined) return { kind: "shared", change: { ...group, number } };
  if (cutOff !== undefined) return { kind: "cut-off", why: cutOff };
  for (const change of members) {
    const [first, ...others] = await run.statuses.ofHead(change);
    const known = [first, ...others].some((own) => own !== undefined && sameChangeRequest(own.change, change));
    if (first === undefined || !known) return { kind: "not-ready", change, why: UNPLANNED };
    const worst = worstOf([first, ...others], run.hostWords[group.host]);
    if (worst.state !== "success") return { kind: "not-ready", change, why: worst.description };
  }
  const changedBy = new Map<ApplicationName, HeadRef>();
  for (const change of [...ahead, ...members]) {
    for (const application of await changedIn(change, run)) {
      const other = changedBy.get(application);
      if (other !== undefined) return { kind: "clash", application, changes: [other, change] };
      changedBy.set(application, change);
    }
  }
  return { kind: "ready", members };
}

/** What its plan says that it changes, and what it has locked. One that deploys nothing may have no plan. */
async function changedIn(change: HeadRef, { plans, locks }: Run): Promise<ReadonlySet<ApplicationName>> {
  const plan = await plans.find(change);
  const planned = takingEffect(plan).flatMap((deployed) => [...reached(deployed)]);
  const locked = (await locks.list(change)).map(({ application }) => application);
  return new Set([...planned, ...locked]);
}
