import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { applicationNames, changedValues } from "../bench/charts.js";
import { ROOT } from "./generated-files.js";

/**
 * The files of `src` with a function that runs while one application with a changed value is planned, by V8's coverage of
 * the modules in `build/`. Leaves out what runs at the start alone, and worker threads.
 */
export async function filesOfPlan(): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  // Loaded once the coverage counts.
  const { startRunningService } = await import("../bench/running-service.js");
  const names = applicationNames(1);
  const service = await startRunningService({ applications: names, renderMs: 0 });
  try {
    await service.timed({ name: "open", number: 1, changes: { "README.md": "hello\n" } });
    // Resets the counts.
    await session.post("Profiler.takePreciseCoverage");
    await service.timed({ name: "open", number: 2, changes: changedValues(names, 2) });
    const { result } = await session.post("Profiler.takePreciseCoverage");
    return result
      .filter(({ url, functions }) => url.includes("/build/") && functions.some(isCalled))
      .map(({ url }) => relative(ROOT, fileURLToPath(url)).replace(/^build\/(.*)\.js$/, "src/$1.ts"))
      .sort();
  } finally {
    await service.stop();
    session.disconnect();
  }
}

interface CoveredFunction {
  readonly functionName: string;
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
}

/** A module's own body, which has no name and begins with the file, runs when it is loaded. */
function isCalled({ functionName, ranges: [range] }: CoveredFunction): boolean {
  return range !== undefined && range.count > 0 && !(functionName === "" && range.startOffset === 0);
}
