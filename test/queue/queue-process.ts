import { createDurableQueue } from "../../src/queue/durable.js";
import { systemClock } from "../../src/service/service.js";
import { RedisConnection } from "../../src/store/redis/connection.js";
import { recordingLog } from "../recording-log.js";

// A replica in a process of its own: prints each event that it starts, and never finishes one.
const [address = ""] = process.argv.slice(2);
const log = recordingLog();
createDurableQueue({
  concurrency: 4,
  run: (event) => {
    process.stdout.write(`${event.delivery}\n`);
    return new Promise(() => undefined);
  },
  refuse: () => Promise.resolve("refused"),
  log,
  clock: systemClock,
  connection: new RedisConnection({ address, db: 0, tls: false }, log),
  timing: { leaseMs: 1_000, heartbeatMs: 100, lookEveryMs: 200 },
});
