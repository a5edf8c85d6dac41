import type { Logger } from "pino";
import { Director } from "./director.js";
import { listenNear } from "./listen-near.js";
import { pageApp } from "./page-app.js";
import type { Snapshot } from "./snapshot.js";
import { Stage } from "./stage.js";

export interface DemoOptions {
  /** Port of the page on 127.0.0.1. With 0, or if it is in use, a free port is chosen. */
  readonly port: number;
  /** Log of the service. */
  readonly log: Logger;
}

/** The running demo. */
export interface Demo {
  /** Address of the page. */
  readonly url: string;
  /** False if the requested port was in use. */
  readonly gotPort: boolean;
  /** The current content of the page. */
  snapshot(): Promise<Snapshot>;
  /** Stops everything and removes the temporary folders. */
  stop(): Promise<void>;
}

/** Resolves once the page is served and both hosts have a change request with a plan. */
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
