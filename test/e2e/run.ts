import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { Clock } from "../../src/core/ports/clock.js";
import type { Overrides } from "../../src/service/service.js";
import { ArgoCdApi, ArgoCdProblem } from "./argocd-api.js";
import { clean, namespaceApplication, runsIn } from "./clean.js";
import { Unexpected } from "./conversation.js";
import { nameOf, ROLES, specOf } from "./files.js";
import type { E2eOptions } from "./options.js";
import { destinationOf, OwnObjects, runName, type Place } from "./own-objects.js";
import { startScene, type Scene } from "./scene.js";
import { chainsOf, type Step } from "./steps.js";
import type { Waiting } from "./waiting.js";

/** Longer than the health of a workload may take. */
const STEP_MS = 6 * 60_000;

export interface RunParts {
  readonly options: E2eOptions;
  readonly clock: Clock;
  /** What svc runs with, in tests of the run itself. */
  readonly overrides?: Pick<Overrides, "compute" | "startGit">;
  /** Prints a line. */
  readonly say: (line: string) => void;
  /** Takes the lines of svc's log. */
  readonly log: (line: string) => void;
  /** The person stops the run; what it created is removed all the same. */
  readonly stop: AbortSignal;
  /** The person does not want to wait for the cleaning either. */
  readonly leave: AbortSignal;
}

/** 0: every step passed and nothing is left. 1: not so. */
export type ExitCode = 0 | 1;

const version = z.object({ Version: z.string() });

/** Plays the scenarios against Argo CD and removes everything again. */
export async function runE2e(parts: RunParts): Promise<ExitCode> {
  const { options, clock, say, stop, leave } = parts;
  const api = new ArgoCdApi(options.argocd);
  const id = randomBytes(3).toString("hex");
  const tally = { ok: 0, failed: 0, skipped: 0 };
  let scene: Scene | undefined;
  let problem: string | undefined;
  let left: readonly string[] = [];
  try {
    const { Version } = await api.call({ method: "GET", path: "/api/version" }, version);
    const earlier = await runsIn(api);
    say(`Argo CD ${Version} at ${options.argocd.url}; this run is ${runName(id)}`);
    if (earlier.length > 0) {
      say(`Of earlier runs there is still: ${earlier.map(runName).join(", ")}. To remove it: --clean`);
    }
    const place: Place = {
      project: options.project ?? runName(id),
      namespace: runName(id),
      destination: destinationOf(options.cluster),
    };
    const own = new OwnObjects(api, id, place, { clock, signal: stop });
    scene = await startScene({ ...parts, id, place, waiting: own.waiting });
    stop.throwIfAborted();
    await furnish(own, scene, options.project === undefined, say);
    for (const { talk, setting } of scene.acts) {
      say(`\n${talk.title}`);
      for (const chain of chainsOf(talk, own, setting)) await play(chain, own.waiting, tally, say);
    }
  } catch (error) {
    problem = stop.aborted ? "stopped before the end" : error instanceof Error ? error.message : String(error);
  }
  if (scene !== undefined) {
    // First svc, which could create temporary Applications; the git server last, which Argo CD may still ask.
    await scene.endService();
    left = await tidy(api, id, { clock, signal: leave }, say);
    await scene.close();
  }
  await api.close();
  if (problem !== undefined) say(`\nFAILED: ${problem}`);
  const { ok, failed, skipped } = tally;
  say(`\n${ok + failed + skipped} steps: ${ok} ok, ${failed} failed, ${skipped} skipped`);
  return problem === undefined && failed === 0 && left.length === 0 ? 0 : 1;
}

/** Removes what earlier runs left in Argo CD. @throws {ArgoCdProblem} */
export async function cleanEarlier({ options, clock, say, leave }: RunParts): Promise<ExitCode> {
  const api = new ArgoCdApi(options.argocd);
  try {
    const ids = await runsIn(api);
    if (ids.length === 0) say("There is nothing of an earlier run.");
    const left: string[] = [];
    for (const id of ids) left.push(...(await tidy(api, id, { clock, signal: leave }, say)));
    return left.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ArgoCdProblem)) throw error;
    say(`FAILED: ${error.message}`);
    return 1;
  } finally {
    await api.close();
  }
}

async function tidy(api: ArgoCdApi, id: string, waiting: Waiting, say: RunParts["say"]): Promise<readonly string[]> {
  const { removed, left } = await clean(api, id, waiting);
  say(`\nRemoved of ${runName(id)}: ${removed.length === 0 ? "nothing" : removed.join(", ")}`);
  for (const sentence of left) say(`LEFT BEHIND: ${sentence}`);
  if (left.length > 0) say("To try it again: npm run e2e -- --clean, with the same --argocd and token");
  return left;
}

/** Creates the project, the namespace and the applications, and deploys them. */
async function furnish(
  own: OwnObjects,
  { acts, gate }: Scene,
  ownProject: boolean,
  say: RunParts["say"],
): Promise<void> {
  const [first] = acts;
  if (first === undefined) throw new Error("there is no host");
  if (ownProject) await own.createProject(acts.map(({ setting }) => setting.repoURL));
  const space = namespaceApplication(own.id);
  await own.createApplication(space, specOf(first.setting, "namespace"));
  try {
    await own.render(space);
  } catch (error) {
    if (!(error instanceof ArgoCdProblem) || gate.reads() > 0) throw error;
    throw new ArgoCdProblem(
      `Argo CD cannot read from the git server of this run, ${gate.url} (${error.message}). ` +
        "Let it listen on an address that Argo CD's repo-server reaches: --git-listen HOST:PORT, and --git-url if that has another name there",
      error.status,
      { cause: error },
    );
  }
  await own.deploy(space);
  say(`Argo CD reads from ${gate.url} and deploys to the namespace ${own.place.namespace}`);
  await Promise.all(
    acts.flatMap(({ setting }) =>
      ROLES.map(async (role) => {
        const name = nameOf(setting, role);
        await own.createApplication(name, specOf(setting, role));
        await (role === "auto" ? own.deployed(name) : own.deploy(name));
      }),
    ),
  );
}

async function play(
  chain: readonly Step[],
  { signal }: Waiting,
  tally: Record<"ok" | "failed" | "skipped", number>,
  say: RunParts["say"],
): Promise<void> {
  let broken: string | undefined;
  for (const step of chain) {
    signal.throwIfAborted();
    if (broken !== undefined) {
      tally.skipped += 1;
      say(`  skipped          ${step.name}: it needs "${broken}"`);
      continue;
    }
    const started = performance.now();
    const took = () => `${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s`;
    try {
      await limited(step.run(), signal);
      tally.ok += 1;
      say(`  ok      ${took()}  ${step.name}`);
    } catch (error) {
      signal.throwIfAborted();
      broken = step.name;
      tally.failed += 1;
      say(`  FAILED  ${took()}  ${step.name}`);
      say(`    ${error instanceof Error ? error.message : String(error)}`);
      if (error instanceof Unexpected) for (const line of error.shown.split("\n")) say(`    | ${line}`);
    }
  }
}

/** Ends when the step does, at the limit, or when the person stops the run. */
async function limited(running: Promise<void>, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const late = async (): Promise<void> => {
    await delay(STEP_MS, undefined, { signal: either });
    throw new Error(`not finished within ${STEP_MS / 60_000} minutes`);
  };
  try {
    await Promise.race([running, late()]);
  } finally {
    over.abort();
    // What still runs ends with the scene.
    running.catch(() => undefined);
  }
}
