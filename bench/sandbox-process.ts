import { gzipSync } from "node:zlib";
import type { Exchange, GrpcExchange } from "../sandbox/argocd/exchanges.js";
import { readQuery } from "../sandbox/argocd/grpc/messages.js";
import type { Manifest } from "../sandbox/argocd/manifest.js";
import type { FileChanges, Forge } from "../sandbox/forge.js";
import { runGit } from "../sandbox/git/run-git.js";
import { appKeys, startSandbox, type SandboxWorld, type StoredRepository } from "../sandbox/world.js";
import { STATUS_NAME } from "../src/names.js";
import { applicationOf, chartOf, chartRepository, manifestsOf, setFile, setOf } from "./charts.js";
import { answerOrders } from "./other-process.js";

export const REPOSITORY = "acme/deploy";
const ELSEWHERE = "https://git.example.com/acme/other.git";

/** What Argo CD runs and how it renders. */
export interface Scene {
  readonly applications: readonly string[];
  /** Charts of the repository that no application deploys yet; Argo CD runs an ApplicationSet that names none of them. */
  readonly charts?: readonly string[];
  /** Applications that Argo CD runs from another repository. */
  readonly elsewhere?: readonly string[];
  /** The objects of the applications are in the cluster. */
  readonly deployed?: boolean;
  readonly renderMs: number;
  /** Remembers the calls to Argo CD, for the order `calls`. */
  readonly recordsCalls?: boolean;
}

/** Orders to the process that runs GitHub and Argo CD. */
export type Order =
  | { readonly name: "start"; readonly scene: Scene }
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
  | { readonly name: "comment"; readonly number: number; readonly body: string }
  | { readonly name: "status"; readonly number: number }
  /** How many calls GitHub got since it was last asked. */
  | { readonly name: "host-calls" }
  | { readonly name: "calls" }
  /** Packs what was pushed, as hosts do: git is slow with tens of thousands of files. */
  | { readonly name: "pack" }
  | { readonly name: "stop" };

/** The addresses of both, for the service's configuration. */
export interface Started {
  readonly argocdUrl: string;
  readonly argocdToken: string;
  /** URL of the repository, as Application resources name it. */
  readonly repositoryUrl: string;
  readonly githubUrl: string;
  readonly githubApiUrl: string;
  /** Private key of the sandbox's GitHub App, PEM. */
  readonly githubKey: string;
}

/** One call to Argo CD. */
export interface SeenCall {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly query: string;
  /** In base64, since a message over gRPC-Web is no text. Empty without one. */
  readonly body: string;
  readonly status: number;
  /** Compressed size of the answer. */
  readonly bytes: number;
  /** The one application that it is about, perhaps a temporary one. */
  readonly application: string | undefined;
}

interface Running {
  readonly world: SandboxWorld;
  readonly forge: Forge;
  /** Compressed and counted only once the plan is over. */
  readonly calls: (() => SeenCall)[];
  /** Calls to GitHub that were asked for. */
  counted?: number;
}

let running: Running | undefined;

answerOrders(obey);

async function obey(order: Order): Promise<unknown> {
  if (order.name === "start") return start(order.scene);
  if (running === undefined) throw new Error("the sandbox was not started");
  const { world, forge, calls } = running;
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
    case "comment":
      return forge.comment(REPOSITORY, order.number, "ana", order.body);
    case "host-calls": {
      const counted = forge.requests.length - (running.counted ?? 0);
      running.counted = forge.requests.length;
      return counted;
    }
    case "status": {
      const { headRevision } = forge.changeRequest(REPOSITORY, order.number);
      return forge.statuses(REPOSITORY, headRevision).findLast(({ name }) => name === STATUS_NAME)?.description;
    }
    case "push":
      await forge.push(REPOSITORY, order.number, order.changes);
      return forge.idle();
    case "pack":
      return pack(world.repository(`${forge.url}/${REPOSITORY}.git`));
    case "calls":
      return calls.splice(0).map((seen) => seen());
    case "stop":
      await forge.idle();
      return world.stop();
  }
}

async function pack(repository: StoredRepository | undefined): Promise<void> {
  if (repository === undefined) throw new Error("there is no repository");
  await runGit(repository.store.directory(repository.name), ["repack", "-a", "-d", "-q"]);
}

async function start(scene: Scene): Promise<Started> {
  const { applications, charts = [], elsewhere = [], deployed, renderMs, recordsCalls } = scene;
  const world = await startSandbox({ github: true });
  const { github: forge, argocd, argocdToken } = world;
  if (forge === undefined) throw new Error("the sandbox has no code host");
  const cloneUrl = `${forge.url}/${REPOSITORY}.git`;
  const further = charts.length === 0 ? {} : setFile([], cloneUrl);
  for (const name of charts) Object.assign(further, chartOf(name));
  await forge.createRepository(REPOSITORY, { ...chartRepository(applications, cloneUrl), ...further });
  forge.setAccess(REPOSITORY, "ana", "write");
  for (const name of applications) argocd.addApplication(applicationOf(name, cloneUrl));
  for (const name of elsewhere) argocd.addApplication(applicationOf(name, ELSEWHERE));
  if (charts.length > 0) argocd.addApplicationSet(setOf([], cloneUrl));
  for (const name of charts) argocd.setManifests({ path: `apps/${name}` }, "*", manifestsOf(name, 1));
  await prepareRenders(world, applications);
  if (deployed === true) {
    for (const name of applications) await argocd.deploy(name);
    // Argo CD compares them again before anybody asks.
    await argocd.pollGit();
  }
  argocd.slowRender(renderMs);
  const calls: (() => SeenCall)[] = [];
  if (recordsCalls === true) {
    argocd.onExchange((exchange) => calls.push(() => seenCall(exchange)));
    argocd.onGrpc((exchange) => calls.push(() => seenGrpcCall(exchange)));
  }
  running = { world, forge, calls };
  return {
    argocdUrl: argocd.url,
    argocdToken,
    repositoryUrl: cloneUrl,
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

function seenCall({ method, path, query, requestBody, status, answer }: Exchange): SeenCall {
  return {
    method: method as SeenCall["method"],
    path,
    query,
    body: Buffer.from(requestBody).toString("base64"),
    status,
    bytes: gzipSync(JSON.stringify(answer)).length,
    application: method === "POST" && path.endsWith("/applications") ? createdName(requestBody) : nameIn(path),
  };
}

function createdName(body: string): string {
  return (JSON.parse(body) as { readonly metadata: { readonly name: string } }).metadata.name;
}

function nameIn(path: string): string | undefined {
  return /\/applications\/([^/]+)/.exec(path)?.[1];
}

function seenGrpcCall({ path, requestBody, answer }: GrpcExchange): SeenCall {
  const frameHead = 5;
  return {
    method: "POST",
    path,
    query: "",
    body: requestBody.toString("base64"),
    status: 200,
    bytes: answer.length,
    application: readQuery(requestBody.subarray(frameHead)).appName,
  };
}
