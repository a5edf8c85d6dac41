import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A server of somebody else: it notes every request and answers nothing useful. Always `stop` it. */
export interface StrangeServer {
  readonly url: string;
  readonly requests: readonly Pick<IncomingMessage, "method" | "url" | "headers">[];
  stop(): Promise<void>;
}

export async function startStrangeServer(): Promise<StrangeServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.setHeader("content-type", "application/json").end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
