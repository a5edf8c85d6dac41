import { createServer, type RequestListener } from "node:http";

export interface LoopbackServer {
  /** Root URL without a final slash. */
  readonly url: string;
  /** Closes the port and every open connection. */
  stop(): Promise<void>;
}

/** Serves an Express application (or any listener) on a free port of 127.0.0.1. */
export async function listenOnLoopback(listener: RequestListener): Promise<LoopbackServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port");
  let stopped: Promise<void> | undefined;
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop: () =>
      (stopped ??= new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      })),
  };
}
