import { systemClock } from "../../src/service/service.js";
import { parseCommandLine, USAGE } from "./options.js";
import { cleanEarlier, runE2e } from "./run.js";

const parsed = parseCommandLine(process.argv.slice(2), process.env.ARGOCD_TOKEN);

switch (parsed.kind) {
  case "help":
    console.log(USAGE);
    break;
  case "invalid":
    console.error(`${parsed.message}\n\n${USAGE}`);
    process.exitCode = 2;
    break;
  case "run":
  case "clean": {
    const [stop, leave] = [new AbortController(), new AbortController()];
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        if (stop.signal.aborted) leave.abort(new Error("the run was stopped a second time"));
        else console.log("\nStopping; what the run created is removed first. Once more to leave it there.");
        stop.abort(new Error("the run was stopped"));
        if (parsed.kind === "clean") leave.abort(new Error("the cleaning was stopped"));
      });
    }
    const act = parsed.kind === "run" ? runE2e : cleanEarlier;
    const code = await act({
      options: parsed.options,
      clock: systemClock,
      say: (line) => console.log(line),
      log: (line) => process.stderr.write(line),
      stop: stop.signal,
      leave: leave.signal,
    });
    // A step that was cut off may hold connections.
    process.exit(stop.signal.aborted ? 130 : code);
  }
}
