import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { makeNextBuild } from "./next-build.js";
import { playRound, type RoundResult } from "./round.js";
import { KEPT_SEEDS } from "./seeds.js";
import { SpareProcesses } from "./spare-processes.js";

/** In every such round the replicas are replaced by the next version instead of being disturbed. */
const ROLL_EVERY = 4;
/** A round uses a few numbers from its seed on. */
const SEED_STEP = 10;
/** Things that every round must have ended. */
const KEEPS_ALIVE = ["ProcessWrap", "TCPServerWrap", "TCPSocketWrap", "Timeout"];

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string" },
    /** Of how many rounds one has a stranger with hostile change requests: 1 for all, 0 for none. */
    hostile: { type: "string", default: "4" },
    /** Of how many rounds one has stages, a followed rollout and a revert, which take minutes: 1 for all, 0 for none. */
    long: { type: "string", default: "9" },
    /** How many rounds are played at a time: they mostly wait. */
    parallel: { type: "string", default: "1" },
    /** Folder that `npm run build:modules` made. */
    build: { type: "string", default: fileURLToPath(new URL("../../build", import.meta.url)) },
  },
});
const { build } = values;
const hostileEvery = Number(values.hostile);
const longEvery = Number(values.long);
const nextBuild = `${build}-next`;
const rounds = Number(values.rounds);
// The second of the random rounds is a rolling update.
const random = SEED_STEP * (ROLL_EVERY * Math.floor(Math.random() * 100_000) + ROLL_EVERY - 2);
const first = values.seed === undefined ? random : Number(values.seed);
// Seeds that failed once come first; a seed that is asked for comes alone.
const seeds = [
  ...(values.seed === undefined ? KEPT_SEEDS : []),
  ...Array.from({ length: rounds }, (_, index) => first + SEED_STEP * index),
];
await makeNextBuild(build, nextBuild);
print(`${seeds.length} rounds, the first random one with --seed ${first}`);
const spares = new SpareProcesses(Number(values.parallel));
const waiting = [...seeds];
let done = 0;
let failed = 0;
await Promise.all(Array.from({ length: Number(values.parallel) }, playAll));
await spares.stop();
print(`${done - failed} rounds passed, ${failed} failed`);
// What something forgot must not keep the process for ever. It is a mistake of these programs, and so it is named.
// The loop closes what the last turn ended.
for (let turn = 0; turn < 3; turn += 1) await nextTurn();
const kept = process.getActiveResourcesInfo().filter((name) => KEEPS_ALIVE.includes(name));
if (kept.length > 0) print(`still open after the last round: ${kept.join(", ")}`);
process.exit(failed === 0 ? 0 : 1);

async function playAll(): Promise<void> {
  for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) await playOne(seed);
}

async function playOne(seed: number): Promise<void> {
  const rolls = Math.floor(seed / SEED_STEP) % ROLL_EVERY === ROLL_EVERY - 1;
  // Not always together with a rolling update.
  const hostile = hostileEvery > 0 && Math.floor(seed / SEED_STEP / ROLL_EVERY) % hostileEvery === 0;
  const long = longEvery > 0 && Math.floor(seed / SEED_STEP) % longEvery === 0;
  const began = Date.now();
  const seconds = (): string => ((Date.now() - began) / 1000).toFixed(1);
  try {
    const result = await playRound({ seed, build, spares, hostile, long, ...(rolls ? { nextBuild } : {}) });
    done += 1;
    const passes = result.violations.length === 0;
    if (!passes) failed += 1;
    print(
      `${passes ? "ok" : "FAILED"} ${done}/${seeds.length} seed ${seed} (${summaryOf(result, { rolls, hostile, long })}; ${seconds()} s)`,
    );
    if (!passes) print(detailsOf(result));
  } catch (error) {
    done += 1;
    failed += 1;
    print(`FAILED ${done}/${seeds.length} seed ${seed} (${seconds()} s): the round itself broke: ${String(error)}`);
  }
}

interface Kind {
  readonly rolls: boolean;
  readonly hostile: boolean;
  readonly long: boolean;
}

function summaryOf({ counts }: RoundResult, { rolls, hostile, long }: Kind): string {
  const { commands, syncs, merged, refused, kills, cuts, restarts } = counts;
  const weather = rolls ? "rolling update" : `storm: ${kills} kills, ${cuts} cuts, ${restarts} restarts of Redis`;
  const who = `${hostile ? "; a stranger" : ""}${long ? "; the long way" : ""}`;
  return `${weather}${who}; ${commands} commands, ${syncs} syncs, ${merged} merged, ${refused} events refused`;
}

function detailsOf({ notes, violations, folder }: RoundResult): string {
  const lines = [...notes, ...violations.map((one) => `VIOLATION ${one}`), `logs: ${folder}`];
  return lines.map((line) => `  ${line}`).join("\n");
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
