import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

export interface LocalServer {
  readonly url: string;
  /** `GET /path?query` of each request, in order. */
  readonly requests: string[];
  stop(): Promise<void>;
}

/** A real HTTP or HTTPS server on a free loopback port. */
export async function localServer(answer: RequestListener, tls?: string): Promise<LocalServer> {
  const requests: string[] = [];
  const listener: RequestListener = (request, response) => {
    requests.push(`${request.method ?? ""} ${request.url ?? ""}`);
    answer(request, response);
  };
  const server: Server =
    tls === undefined ? createServer(listener) : createTlsServer({ key: tls, cert: tls }, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    requests,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
