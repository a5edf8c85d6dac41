import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("replica-program.js", import.meta.url));

/** A process that has loaded a build, or is about to, and starts the service when it is told what to start. */
export type Spare = ReturnType<typeof spawnSpare>;

/** Processes that load a build before they are needed: loading takes longer than all the rest of a start. */
export class SpareProcesses {
  readonly #waiting = new Map<string, Spare[]>();

  /** `count` of each build wait. */
  constructor(private readonly count: number) {}

  /** One with this build; another one takes its place. */
  take(build: string): Spare {
    const waiting = this.#waiting.get(build) ?? [];
    this.#waiting.set(build, waiting);
    const taken = waiting.shift() ?? spawnSpare(build);
    if (hasEnded(taken)) throw new Error(`a process could not load ${build}`);
    while (waiting.length < this.count) waiting.push(spawnSpare(build));
    return taken;
  }

  async stop(): Promise<void> {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    await Promise.all(
      all.map(async (spare: ChildProcess) => {
        const ended = once(spare, "exit");
        if (spare.kill("SIGKILL")) await ended;
      }),
    );
  }
}

export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function spawnSpare(build: string) {
  return spawn(process.execPath, [PROGRAM, build], {
    env: { PATH: process.env.PATH ?? "" },
    stdio: ["pipe", "pipe", "pipe"],
  });
}
