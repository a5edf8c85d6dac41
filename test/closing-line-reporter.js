import { writeSync } from "node:fs";

/**
 * Ends the run with one line `N passed, N failed`, so that a run without tests cannot pass for one. Jest adds its own
 * summary behind all configured reporters, therefore the line waits for the end of the process.
 */
export default class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    process.once("exit", () => writeSync(1, `\n${results.numPassedTests} passed, ${failed} failed\n`));
  }
}
