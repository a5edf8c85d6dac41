import { gzipSync } from "node:zlib";
import type { Exchange } from "../sandbox/argocd/exchanges.js";
import type { Manifest } from "../sandbox/argocd/manifest.js";
import type { FileChanges, Forge } from "../sandbox/forge.js";
import { appKeys, startSandbox, type SandboxWorld } from "../sandbox/world.js";
import { STATUS_NAME } from "../src/names.js";
import { applicationOf, chartRepository, manifestsOf } from "./charts.js";
import { answerOrders } from "./other-process.js";

export const REPOSITORY = "acme/deploy";

/** Orders to the process that runs GitHub and Argo CD. */
export type Order =
  | { readonly name: "start"; readonly applications: readonly string[]; readonly renderMs: number }
  | { readonly name: "connect"; readonly url: string; readonly secret: string }
  | { readonly name: "open" | "push"; readonly number: number; readonly changes: FileChanges }
  /** A person without access opens it from a fork. */
  | { readonly name: "open-fork"; readonly changes: FileChanges }
  | {
      readonly name: "render";
      readonly application: string;
      readonly base: readonly Manifest[];
      readonly head: readonly Manifest[];
    }
  | { readonly name: "status"; readonly number: number }
  | { readonly name: "calls" }
  | { readonly name: "stop" };

/** The addresses of both, for the service's configuration. */
export interface Started {
  readonly argocdUrl: string;
  readonly argocdToken: string;
  readonly githubUrl: string;
  readonly githubApiUrl: string;
  /** Private key of the sandbox's GitHub App, PEM. */
  readonly githubKey: string;
}

/** One call to Argo CD; `bytes` is the compressed size of the answer. */
export interface SeenCall {
  readonly path: string;
  readonly query: string;
  readonly bytes: number;
}

interface Running {
  readonly world: SandboxWorld;
  readonly forge: Forge;
  readonly exchanges: Exchange[];
}

let running: Running | undefined;

answerOrders(obey);

async function obey(order: Order): Promise<unknown> {
  if (order.name === "start") return start(order.applications, order.renderMs);
  if (running === undefined) throw new Error("the sandbox was not started");
  const { world, forge, exchanges } = running;
  switch (order.name) {
    case "connect":
      forge.connect({ url: order.url, secret: order.secret });
      return undefined;
    case "open":
      await forge.open({ repository: REPOSITORY, by: "ana", changes: order.changes });
      return forge.idle();
    case "open-fork":
      return forge.open({ repository: REPOSITORY, by: "mallory", fork: true, changes: order.changes });
    case "render":
      world.argocd.setManifests(order.application, "*", order.head);
      world.argocd.setManifests(order.application, tipOf(world, order.application), order.base);
      return undefined;
    case "status": {
      const { headRevision } = forge.changeRequest(REPOSITORY, order.number);
      return forge.statuses(REPOSITORY, headRevision).findLast(({ name }) => name === STATUS_NAME)?.description;
    }
    case "push":
      await forge.push(REPOSITORY, order.number, order.changes);
      return forge.idle();
    case "calls":
      return exchanges.splice(0).map(seenCall);
    case "stop":
      await forge.idle();
      return world.stop();
  }
}

async function start(applications: readonly string[], renderMs: number): Promise<Started> {
  const world = await startSandbox({ github: true });
  const { github: forge, argocd, argocdToken } = world;
  if (forge === undefined) throw new Error("the sandbox has no code host");
  const cloneUrl = `${forge.url}/${REPOSITORY}.git`;
  await forge.createRepository(REPOSITORY, chartRepository(applications, cloneUrl));
  forge.setAccess(REPOSITORY, "ana", "write");
  for (const name of applications) argocd.addApplication(applicationOf(name, cloneUrl));
  await prepareRenders(world, applications);
  argocd.slowRender(renderMs);
  const exchanges: Exchange[] = [];
  argocd.onExchange((exchange) => exchanges.push(exchange));
  running = { world, forge, exchanges };
  return {
    argocdUrl: argocd.url,
    argocdToken,
    githubUrl: forge.url,
    githubApiUrl: forge.apiUrl,
    githubKey: appKeys().privateKey,
  };
}

/** Prepares manifests and compares every application in advance, so that a render only waits. */
async function prepareRenders(world: SandboxWorld, applications: readonly string[]): Promise<void> {
  const { argocd } = world;
  for (const name of applications) argocd.setManifests(name, "*", manifestsOf(name, 2));
  const [first = ""] = applications;
  await argocd.deploy(first);
  const tip = tipOf(world, first);
  for (const name of applications) argocd.setManifests(name, tip, manifestsOf(name, 1));
  await argocd.pollGit();
}

/** The commit of the base branch that Argo CD compared the application with. */
function tipOf({ argocd }: SandboxWorld, application: string): string {
  const tip = argocd.application(application)?.status.sync.revision;
  if (typeof tip !== "string") throw new Error(`${application} was not compared`);
  return tip;
}

function seenCall({ path, query, answer }: Exchange): SeenCall {
  return { path, query, bytes: gzipSync(JSON.stringify(answer)).length };
}
