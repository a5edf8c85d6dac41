import { expect, test } from "@jest/globals";
import { repositoryName } from "../../src/core/model/brand.js";
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

test("a pass that a push stops is done again, whatever the push leads to", async () => {
  const [clock, log] = [new ManualClock(), recordingLog()];
  let reads = 0;
  const host: Partial<CodeHost> = {
    getChangeRequest(ref, signal) {
      reads += 1;
      if (reads > 1) return Promise.resolve({ ...changeRequestRef(ref), state: "closed" } as ChangeRequest);
      return new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      });
    },
  };
  const run = async (event: HostEvent, { signal }: RunTicket): Promise<RunEnd> => {
    // As a push to a repository without automatic plans.
    if (event.kind !== "marked") return "done";
    await bringUpToDate(event.change, event, { host, signal, publisher, clock, log } as Partial<Run> as Run);
    return "done";
  };
  const queue = createInProcessQueue({ concurrency: 4, run, clock, log });
  const publisher = new Publisher({ marks: new MemoryMarkStore(clock), queue, clock, log });
  await publisher.mark(change);
  clock.advance(1000);
  await publisher.look();
  expect(reads).toBe(1);
  await queue.push({ kind: "updated", reason: "pushed", delivery: "push", change });
  await queue.idle();
  for (let second = 1; second <= 70; second += 1) {
    clock.advance(1000);
    await publisher.look();
    await queue.idle();
  }
  expect(reads).toBe(2);
  expect(log.lines.filter(({ level }) => level === "warn")).toEqual([]);
});
