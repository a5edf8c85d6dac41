import { createContext, Script } from "node:vm";
import { jest } from "@jest/globals";
import fc from "fast-check";

/** What is fuzzed, one test file each. A time limit for all is shared out among them. */
export const TARGETS = [
  "comment-parser",
  "webhook-decoders",
  "repository-file",
  "repository-url",
  "plan-comment",
  "answer-comment",
  "pattern",
  "pumped",
  "pumped-files",
  "next-step",
  "judged-as-done",
] as const;
export type Target = (typeof TARGETS)[number];

const FEW_RUNS = 300;
/** A plain test run tries the same inputs each time: it must not fail for a change that has nothing to do with it. */
const USUAL_SEED = 20260302;
/** The time limit of a test that was given many runs. */
export const HOUR_MS = 60 * 60 * 1000;

/** A property's part of the runs and seconds of a target. */
export interface Share {
  readonly runs?: number;
  /** Runs of a plain test run, instead of its share of 300. */
  readonly few?: number;
  readonly seconds?: number;
}

/**
 * Tries a property with many generated inputs. `SVC_FUZZ_RUNS` says how many (300), and makes each run try others;
 * `SVC_FUZZ_SECONDS` is a limit for all targets together. A failure names seed and path: with `SVC_SEED` and `SVC_PATH`
 * it is told again.
 */
export function fuzz<T>(target: Target, inputs: fc.Arbitrary<T>, holds: (input: T) => void, share: Share = {}): void {
  const property = fc.property(inputs, (input) => holds(input));
  const { many, one } = parametersOf(share);
  const details = fc.check(property, many);
  report(target, isUntried(details) ? fc.check(property, one) : details);
}

/** `fuzz` for what is done elsewhere. */
export async function fuzzAsync<T>(
  target: Target,
  inputs: fc.Arbitrary<T>,
  holds: (input: T) => Promise<void>,
  share: Share = {},
): Promise<void> {
  const property = fc.asyncProperty(inputs, holds);
  const { many, one } = parametersOf(share);
  const details = await fc.check(property, many);
  report(target, isUntried(details) ? await fc.check(property, one) : details);
}

/** On a busy machine the first input may take longer than the limit for all. */
function isUntried({ interrupted, numRuns }: { readonly interrupted: boolean; readonly numRuns: number }): boolean {
  return interrupted && numRuns === 0;
}

function parametersOf({ runs: someRuns = 1, few = FEW_RUNS * someRuns, seconds: someSeconds = 1 }: Share) {
  const { SVC_FUZZ_RUNS: runs, SVC_FUZZ_SECONDS: seconds, SVC_SEED: given, SVC_PATH: path } = process.env;
  const usual = runs === undefined ? USUAL_SEED : Math.floor(Math.random() * 2 ** 31);
  jest.setTimeout(HOUR_MS);
  const one = {
    seed: given === undefined ? usual : Number(given),
    numRuns: 1,
    ...(path === undefined ? {} : { path }),
  };
  const many = {
    ...one,
    numRuns: Math.ceil(runs === undefined ? few : Number(runs) * someRuns),
    ...(seconds === undefined
      ? {}
      : { interruptAfterTimeLimit: (Number(seconds) * 1000 * someSeconds) / TARGETS.length }),
  };
  return { many, one };
}

function report<T>(target: Target, details: fc.RunDetails<T>): void {
  const { seed } = details;
  if (process.env.SVC_FUZZ_RUNS !== undefined || process.env.SVC_PATH !== undefined) {
    process.stdout.write(`fuzz ${target}: ${details.numRuns} inputs tried, seed ${seed}\n`);
  }
  if (!details.failed) return;
  const again = `SVC_SEED=${seed} SVC_PATH=${details.counterexamplePath ?? ""} npm test -- /${target}.test`;
  throw new Error(`${fc.defaultReportMessage(details) ?? ""}\n\nTo see it again: ${again}`, {
    cause: details.errorInstance,
  });
}

/** Runs in this thread; V8 interrupts it at the deadline, inside a regular expression as well. */
export function beforeDeadline<T>(run: () => T, deadlineMs: number): T {
  return new Script("run()").runInContext(createContext({ run }), { timeout: deadlineMs }) as T;
}
