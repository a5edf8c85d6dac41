import express, { type NextFunction, type Request, type Response } from "express";
import { GitStore } from "../sandbox/git/git-store.js";
import { smartHttp } from "../sandbox/git/smart-http.js";
import { listenOnLoopback } from "../sandbox/loopback.js";
import { monorepo, serviceFolder, SERVICES } from "./monorepo.js";
import { answerOrders } from "./other-process.js";

const NAME = "acme/monorepo";

/** Orders to the process that serves the monorepo. */
export type Order =
  | { readonly name: "start" }
  /** Changes one file of one service as the head of change request 1. Returns the commit id. */
  | { readonly name: "push"; readonly round: number }
  /** Returns the number of bytes sent so far. */
  | { readonly name: "sent" }
  | { readonly name: "stop" };

/** The repository's URL and the tip of its main branch. */
export interface Served {
  readonly origin: string;
  readonly url: string;
  readonly base: string;
}

const store = await GitStore.create();
let sent = 0;
const server = await listenOnLoopback(
  express().use(
    countBytes,
    smartHttp(
      store,
      () => true,
      (path) => path.slice(1).replace(/\.git$/, ""),
    ),
  ),
);

answerOrders(async (order: Order) => {
  switch (order.name) {
    case "start":
      return serve();
    case "push":
      return push(order.round);
    case "sent":
      return sent;
    case "stop":
      await server.stop();
      return store.remove();
  }
});

async function serve(): Promise<Served> {
  const url = `${server.url}/${NAME}.git`;
  await store.createRepository(NAME, monorepo(url));
  return { origin: server.url, url, base: (await store.resolve(NAME, "main")) ?? "" };
}

async function push(round: number): Promise<string> {
  const path = `${serviceFolder((round * 37) % SERVICES)}/deployment-0.yaml`;
  const from = (await store.resolve(NAME, "change")) ?? (await store.resolve(NAME, "main")) ?? "";
  const text = `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: round-${round}\nspec:\n  replicas: ${round}\n`;
  const head = await store.commit(NAME, "change", { [path]: text }, { from });
  await store.setRef(NAME, "refs/pull/1/head", head);
  return head;
}

function countBytes(_request: Request, response: Response, next: NextFunction): void {
  const { socket } = response;
  const before = socket?.bytesWritten ?? 0;
  response.once("close", () => (sent += (socket?.bytesWritten ?? 0) - before));
  next();
}
