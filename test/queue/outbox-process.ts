import { systemClock } from "../../src/service/service.js";
import { RedisConnection } from "../../src/store/redis/connection.js";
import { createDurableOutbox } from "../../src/store/redis/outbox.js";
import { recordingLog } from "../recording-log.js";

// A replica in a process of its own: prints the message that it delivers, and never learns the answer.
const [address = "", receiver = "", id = ""] = process.argv.slice(2);
const log = recordingLog();
const outbox = createDurableOutbox({
  receivers: [receiver],
  deliver: (message) => {
    process.stdout.write(`${message.id}\n`);
    return new Promise(() => undefined);
  },
  onAttempt: () => undefined,
  retryAfterMs: [10, 20],
  clock: systemClock,
  log,
  connection: new RedisConnection({ address, db: 0, tls: false }, log),
  timing: { leaseMs: 500, lookEveryMs: 100 },
});
await outbox.add([{ receiver, id, body: `body of ${id}` }]);
