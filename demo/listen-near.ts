import { createServer, type RequestListener, type Server } from "node:http";

export interface PageServer {
  readonly url: string;
  /** False if the requested port was in use and another one was chosen. */
  readonly gotPort: boolean;
  stop(): Promise<void>;
}

/** Serves on this port of 127.0.0.1, or on a free one if it is in use. */
export async function listenNear(listener: RequestListener, port: number): Promise<PageServer> {
  const server = createServer(listener);
  const gotPort = await listen(server, port);
  if (!gotPort) await listen(server, 0);
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The page's server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    gotPort,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Returns false if the port is in use or forbidden. */
function listen(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve(false);
      else reject(error);
    };
    server.once("error", onError);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", onError);
      resolve(true);
    });
  });
}
