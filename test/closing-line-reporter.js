import { mkdirSync, writeFileSync, writeSync } from "node:fs";

/** Read by `npm run house`. */
const LAST_RUN = new URL("../node_modules/.cache/svc/last-run.json", import.meta.url);

/**
 * Ends the run with one line `N passed, N failed`, so that a run without tests cannot pass for one. Jest adds its own
 * summary behind all configured reporters, therefore the line waits for the end of the process.
 */
export default class ClosingLineReporter {
  #isWhole;

  constructor({ testPathPatterns, testNamePattern, nonFlagArgs, onlyChanged, collectCoverage, shard }) {
    const isPart = testPathPatterns.patterns.length > 0 || nonFlagArgs.length > 0 || Boolean(testNamePattern ?? shard);
    const isOther =
      process.env.SVC_NIGHTLY === "1" || process.env.SVC_CASES === "1" || process.argv.includes("--config");
    this.#isWhole = !isPart && !isOther && !onlyChanged && !collectCoverage;
  }

  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    if (this.#isWhole && failed === 0 && !results.wasInterrupted) {
      mkdirSync(new URL(".", LAST_RUN), { recursive: true });
      writeFileSync(LAST_RUN, JSON.stringify({ seconds: Math.round((Date.now() - results.startTime) / 1000) }));
    }
    process.once("exit", () => writeSync(1, `\n${results.numPassedTests} passed, ${failed} failed\n`));
  }
}
