import { expect, test } from "@jest/globals";
import { applicationName, repositoryName } from "../../src/core/model/brand.js";
import { type ChangeRequest, type ChangeRequestRef, changeRequestRef } from "../../src/core/model/change-request.js";
import type { HostEvent } from "../../src/core/model/event.js";
import type { CodeHost } from "../../src/core/ports/code-host.js";
import type { RunEnd, RunTicket } from "../../src/core/ports/event-queue.js";
import { createInProcessQueue } from "../../src/queue/in-process.js";
import { Publisher } from "../../src/run/around/publisher.js";
import { bringUpToDate } from "../../src/run/around/revisit.js";
import type { Run } from "../../src/run/line/run.js";
import { MemoryMarkStore } from "../../src/store/memory/lock-store.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";

const change: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 1 };

const closed = { ...changeRequestRef(change), state: "closed" } as ChangeRequest;

/** Runs passes for what is marked; other events do nothing, like a push to a repository without automatic plans. */
function startLine(getChangeRequest: CodeHost["getChangeRequest"]) {
  const [clock, log] = [new ManualClock(), recordingLog()];
  const marks = new MemoryMarkStore(clock);
  const host: Partial<CodeHost> = { getChangeRequest, scarceUntil: () => undefined };
  const run = async (event: HostEvent, { signal }: RunTicket): Promise<RunEnd> => {
    if (event.kind !== "marked") return "done";
    await bringUpToDate(event.change, event, { host, signal, publisher, clock, log } as Partial<Run> as Run);
    return "done";
  };
  const queue = createInProcessQueue({ concurrency: 4, run, clock, log });
  const publisher = new Publisher({ marks, queue, clock, log });
  const look = async () => {
    clock.advance(1000);
    await publisher.look();
  };
  return { marks, queue, publisher, log, look };
}

test("a pass that a push stops is done again, whatever the push leads to", async () => {
  let reads = 0;
  const { queue, publisher, log, look } = startLine((_ref, signal) => {
    reads += 1;
    if (reads > 1) return Promise.resolve(closed);
    return new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
    });
  });
  await publisher.mark(change);
  await look();
  expect(reads).toBe(1);
  await queue.push({ kind: "updated", reason: "pushed", delivery: "push", change });
  await queue.idle();
  for (let second = 1; second <= 70; second += 1) {
    await look();
    await queue.idle();
  }
  expect(reads).toBe(2);
  expect(log.lines.filter(({ level }) => level === "warn")).toEqual([]);
});

test("a change request that is found closed is not looked at again, although nobody told of its close", async () => {
  const web = applicationName("web");
  let reads = 0;
  const { marks, queue, publisher, look } = startLine(() => {
    reads += 1;
    return Promise.resolve(closed);
  });
  await publisher.concern(change, [web]);
  for (let act = 1; act <= 3; act += 1) {
    await publisher.touched(web);
    await look();
    await queue.idle();
  }
  expect(await marks.concernedBy(web)).toEqual([]);
  expect(reads).toBe(1);
});
