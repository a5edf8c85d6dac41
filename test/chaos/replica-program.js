// Starts the built service as `svc -c FILE` does, but with shorter waits: a round shall not last as long as a real take-over.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [dist = "", file = "", timing = "{}"] = process.argv.slice(2);
const built = (name) => import(pathToFileURL(join(dist, name)).href);
const [{ loadServerConfig }, { createLogger }, { startService }] = await Promise.all([
  built("config/server.js"),
  built("log.js"),
  built("service.js"),
]);
const loaded = loadServerConfig([{ name: file, text: readFileSync(file, "utf8") }], {});
if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
const log = createLogger(loaded.config.server.logLevel, { terminal: false });
const service = await startService(loaded.config, log, { queueTiming: JSON.parse(timing) });
log.info({ url: service.url }, "listening");
process.on("SIGTERM", () => {
  void service.close().then(
    () => process.exit(0),
    (error) => {
      log.error({ err: error }, "stopping failed");
      process.exit(1);
    },
  );
});
