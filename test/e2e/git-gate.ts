import { once } from "node:events";
import { createServer } from "node:http";
import express from "express";
import { smartHttp } from "../../sandbox/git/smart-http.js";
import type { Forges } from "../../sandbox/world.js";
import { reasonOf } from "./argocd-api.js";
import type { GitAddress } from "./options.js";

/** A git server for Argo CD with the repositories of the hosts in miniature, which stay on loopback themselves. */
export interface GitGate {
  /** As Argo CD reaches it. */
  readonly url: string;
  /** Reads of a repository so far. */
  reads(): number;
  close(): Promise<void>;
}

/** Everybody who reaches it may read: the repositories hold nothing but the run's manifests. @throws {Error} */
export async function openGitGate(forges: Forges, { host, port, url }: GitAddress): Promise<GitGate> {
  let reads = 0;
  const app = express();
  app.disable("x-powered-by");
  app.use((request, response, next) => {
    const store = forges.all
      .map((one) => one.store)
      .find((one) => one.names().some((name) => isOf(name, request.path)));
    if (store === undefined) {
      response.status(404).type("text/plain").send("There is no such repository in this run.\n");
      return;
    }
    reads += 1;
    smartHttp(
      store,
      () => true,
      (path) => store.names().find((name) => isOf(name, `${path}/`)),
    )(request, response, next);
  });
  const server = createServer(app);
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const where = `${host}:${port} (${reasonOf(error)})`;
    throw new Error(`the git server cannot listen on ${where}: check --git-listen`, { cause: error });
  }
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the git server has no port");
  return {
    url: url ?? `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    reads: () => reads,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function isOf(name: string, path: string): boolean {
  return path.startsWith(`/${name}/`) || path.startsWith(`/${name}.git/`);
}
