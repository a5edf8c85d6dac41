import type { Logger } from "pino";
import { Director } from "./director.js";
import { listenNear } from "./listen-near.js";
import { pageApp } from "./page-app.js";
import type { Snapshot } from "./snapshot.js";
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
