import type { Logger } from "pino";
import { pageApp } from "./page-app.js";
import { listenNear } from "./listen-near.js";
import { rememberingRenderer, snapshotOf, type Snapshot } from "./snapshot.js";
import { Stage } from "./stage.js";

export interface DemoOptions {
  /** Port of the page on 127.0.0.1; another free one is taken when it is in use, and always with 0. */
  readonly port: number;
  /** Where the service's log goes. */
  readonly log: Logger;
}

/** The running demo. */
export interface Demo {
  /** Address of the page. */
  readonly url: string;
  /** False when the port that was asked for was in use. */
  readonly gotPort: boolean;
  /** Everything that the page shows at this moment. */
  snapshot(): Promise<Snapshot>;
  /** Ends everything that it started and removes its temporary folders. */
  stop(): Promise<void>;
}

/** Resolves when the page is served and both hosts have a change request with a plan. */
export async function startDemo({ port, log }: DemoOptions): Promise<Demo> {
  const director = new Director(await Stage.start(log), log);
  try {
    const page = pageApp(director);
    const server = await listenNear(page.app, port);
    let stopped: Promise<void> | undefined;
    const stop = async () => {
      page.stop();
      await server.stop();
      await director.stop();
    };
    return {
      url: server.url,
      gotPort: server.gotPort,
      snapshot: () => director.snapshot(),
      stop: () => (stopped ??= stop()),
    };
  } catch (error) {
    await director.stop();
    throw error;
  }
}

/** Replaces the stage when the visitor starts again. */
export class Director {
  readonly #log: Logger;
  #stage: Stage | undefined;
  #render = rememberingRenderer();
  #problem: string | undefined;
  #resetting: Promise<void> | undefined;

  constructor(stage: Stage, log: Logger) {
    this.#stage = stage;
    this.#log = log;
  }

  /** Undefined while it is being replaced. */
  get stage(): Stage | undefined {
    return this.#stage;
  }

  async snapshot(): Promise<Snapshot> {
    if (this.#stage !== undefined) return snapshotOf(this.#stage, this.#render);
    if (this.#problem === undefined) return { phase: "starting", hosts: [] };
    return { phase: "failed", problem: this.#problem, hosts: [] };
  }

  /** Begins the story again; one that is under way already is waited for. */
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
    try {
      await old?.stop();
      this.#stage = await Stage.start(this.#log);
      this.#render = rememberingRenderer();
    } catch (error) {
      this.#log.error({ err: error }, "starting the demo again failed");
      const reason = error instanceof Error ? error.message : "unknown";
      this.#problem = `The demo could not start again: ${reason}. Press "Start over" once more, or end it in the terminal with Ctrl-C and run npm run demo.`;
    }
  }
}
