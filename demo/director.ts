import type { Logger } from "pino";
import { rememberingRenderer, snapshotOf, type Snapshot } from "./snapshot.js";
import { Stage } from "./stage.js";

/** Replaces the stage when the visitor starts again. */
export class Director {
  readonly #log: Logger;
  #stage: Stage | undefined;
  #render = rememberingRenderer();
  #problem: string | undefined;
  #resetting: Promise<void> | undefined;
  #onChange: () => void = () => undefined;

  constructor(stage: Stage, log: Logger) {
    this.#stage = stage;
    this.#log = log;
  }

  /** Undefined while a new one starts. */
  get stage(): Stage | undefined {
    return this.#stage;
  }

  /** Calls `onChange` whenever the snapshot may have changed; replaces an earlier listener. */
  watch(onChange: () => void): void {
    this.#onChange = onChange;
    this.#stage?.watch(onChange);
  }

  async snapshot(): Promise<Snapshot> {
    if (this.#stage !== undefined) return snapshotOf(this.#stage, this.#render);
    if (this.#problem === undefined) return { phase: "starting", hosts: [] };
    return { phase: "failed", problem: this.#problem, hosts: [] };
  }

  /** Starts over, or waits for a restart in progress. */
  reset(): Promise<void> {
    this.#resetting ??= this.#replace().finally(() => (this.#resetting = undefined));
    return this.#resetting;
  }

  async stop(): Promise<void> {
    await this.#resetting;
    await this.#stage?.stop();
    this.#stage = undefined;
  }

  async #replace(): Promise<void> {
    const old = this.#stage;
    this.#stage = undefined;
    this.#problem = undefined;
    this.#onChange();
    try {
      await old?.stop();
      this.#stage = await Stage.start(this.#log);
      this.#render = rememberingRenderer();
      this.#stage.watch(this.#onChange);
    } catch (error) {
      this.#log.error({ err: error }, "could not restart the demo");
      const reason = error instanceof Error ? error.message : "unknown";
      this.#problem = `The demo could not start over: ${reason}. Press "Start over" again, or stop the demo with Ctrl-C and run npm run demo again.`;
    }
    this.#onChange();
  }
}
