import { createInProcessQueue } from "../../src/queue/in-process.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";
import { eventQueueContract } from "./event-queue.contract.js";

eventQueueContract("in-process", (concurrency, run) => {
  const clock = new ManualClock();
  const log = recordingLog();
  return { queue: createInProcessQueue({ concurrency, run, log, clock }), clock, lines: log.lines };
});
