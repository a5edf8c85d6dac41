import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import type { Log } from "../../core/ports/log.js";
import { listen } from "../../http/listen.js";

export interface MetricsServer {
  close(): Promise<void>;
}

/** Serves `/metrics`, and nothing else, on a port of its own. */
export async function startMetricsServer(
  registry: Registry,
  address: { readonly host: string; readonly port: number },
  log: Log,
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://metrics");
    if (pathname !== "/metrics") send(response, 404, "only /metrics is here\n");
    else if (request.method !== "GET" && request.method !== "HEAD") send(response, 405, "only GET is allowed\n");
    else void answer(registry, response, log);
  });
  await listen(server, { ...address, key: "server.metrics_port" });
  return {
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(registry: Registry, response: ServerResponse, log: Log): Promise<void> {
  try {
    send(response, 200, await registry.metrics(), registry.contentType);
  } catch (error) {
    log.error({ err: error }, "could not collect the metrics");
    send(response, 500, "could not collect the metrics\n");
  }
}

function send(response: ServerResponse, status: number, body: string, type = "text/plain; charset=utf-8"): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
}
