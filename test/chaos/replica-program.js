// Starts the built service as `svc -c FILE` does, but with shorter waits: a round shall not last as long as a real take-over.
// It loads the build first and then waits for a line that tells it what to start, so that a spare one starts at once.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [dist = ""] = process.argv.slice(2);
const built = (name) => import(pathToFileURL(join(dist, name)).href);
const [{ loadServerConfig }, { createLogger }, { startService }] = await Promise.all([
  built("config/server/server.js"),
  built("observe/log.js"),
  built("service/service.js"),
  built("queue/durable.js"),
  built("store/redis/redis-stores.js"),
]);
const lines = createInterface({ input: process.stdin });
// Nobody is left who could stop it. At an exit the log would try for ever to write its last lines to a pipe without a reader.
lines.once("close", () => process.kill(process.pid, "SIGKILL"));
lines.once("line", (line) => void run(JSON.parse(line)));

async function run({ file, timing, followsForMs }) {
  const loaded = loadServerConfig([{ name: file, text: readFileSync(file, "utf8") }], {});
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  const log = await createLogger(loaded.config.server.logLevel, { terminal: false });
  const config = { ...loaded.config, afterMerge: { timeout: followsForMs } };
  const service = await startService(config, log, { queueTiming: timing });
  log.info({ url: service.url }, "listening");
  // What it does by itself every few minutes, or seconds, now.
  lines.on("line", (line) => {
    const work = line === "follow" ? [service.follow()] : [service.reconcile(), service.sweep()];
    Promise.all(work).catch((error) => log.warn({ err: error }, "cleaning up failed"));
  });
  process.on("SIGTERM", () => {
    service.close().then(
      () => process.exit(0),
      (error) => {
        log.error({ err: error }, "stopping failed");
        process.exit(1);
      },
    );
  });
}
