import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { pino } from "pino";
import { stringify } from "yaml";
import { GITHUB_APP } from "../sandbox/world.js";
import type * as Server from "../src/config/server/server.js";
import type * as Service from "../src/service/service.js";
import { builtModule } from "./built-module.js";
import { startOtherProcess } from "./other-process.js";
import type { Order, Scene, SeenCall, Started } from "./sandbox-process.js";

const { loadServerConfig } = await builtModule<typeof Server>("config/server/server.js");
const { startService } = await builtModule<typeof Service>("service/service.js");

/** An entry of `checks`. */
export interface Check {
  readonly name: string;
  readonly command: readonly string[];
}

/** How the service differs from its defaults. */
export interface ServiceOptions {
  /** Plans ask what Kubernetes would say. */
  readonly dryRun?: boolean;
  readonly checks?: readonly Check[];
}

const SECRET = "bench-webhook-secret";

/**
 * Times (`performance.now()`) when webhooks of pull requests arrived, when renders were asked for, and when the host had taken comments
 * and edits. The `push` event of the branch, which comes first, plans nothing and does not count.
 */
const webhooks: number[] = [];
const renders: number[] = [];
const comments: number[] = [];
const edits: number[] = [];
subscribe("http.server.request.start", (message) => {
  const { request } = message as { readonly request: IncomingMessage };
  if (request.headers["x-github-event"] === "pull_request") webhooks.push(performance.now());
});
subscribe("undici:request:create", (message) => {
  if (isRender(requestOf(message))) renders.push(performance.now());
});
subscribe("undici:request:trailers", (message) => {
  if (isComment(requestOf(message))) comments.push(performance.now());
  if (isEdit(requestOf(message))) edits.push(performance.now());
});

interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** See undici's documentation of DiagnosticsChannel. */
function requestOf(message: unknown): SentRequest {
  return (message as { readonly request: SentRequest }).request;
}

function isRender({ path }: SentRequest): boolean {
  return /\/applications\/[^/]+\/manifests(?:\?|$)/.test(path);
}

function isComment({ method, path }: SentRequest): boolean {
  return method === "POST" && /\/issues\/\d+\/comments$/.test(path);
}

/** Edits that mark an earlier plan as outdated do not count: nobody waits for them. */
function isEdit({ method, path, body }: SentRequest): boolean {
  return method === "PATCH" && /\/issues\/comments\/\d+$/.test(path) && !String(body).includes("Outdated plan");
}

/** Milliseconds from the arrival of the pull request's webhook. */
export interface Timed {
  /** Until the host had taken the comment. */
  readonly planMs: number;
  /** Until the host had taken the answers of Kubernetes, with the plan or after it; undefined if it asks nothing. */
  readonly answeredMs: number | undefined;
  /** Until the first render was asked for; infinite if none was. */
  readonly firstMs: number;
}

/** The service, and a separate process with GitHub and Argo CD. */
export interface RunningService {
  readonly argocdUrl: string;
  readonly argocdToken: string;
  /** URL of the repository, as Application resources name it. */
  readonly repositoryUrl: string;
  /** Triggers an event on the code host and waits until the service is idle. */
  timed(order: Extract<Order, { readonly name: "open" | "push" }>): Promise<Timed>;
  /** The calls to Argo CD since the last call of this method. */
  calls(): Promise<readonly SeenCall[]>;
  stop(): Promise<void>;
}

/** @throws {Error} if the service rejects the benchmark's configuration. */
export async function startRunningService(scene: Scene, options: ServiceOptions = {}): Promise<RunningService> {
  const sandbox = startOtherProcess<Order>(new URL("sandbox-process.ts", import.meta.url));
  const started = (await sandbox.ask({ name: "start", scene: { ...scene, recordsCalls: true } })) as Started;
  const log = pino({ level: "error" }, process.stderr);
  const service = await startService(configOf(started, options), log);
  await sandbox.ask({ name: "connect", url: `${service.url}/webhook/hosta`, secret: SECRET });
  const { argocdUrl, argocdToken, repositoryUrl } = started;
  return {
    argocdUrl,
    argocdToken,
    repositoryUrl,
    async timed(order) {
      webhooks.length = renders.length = comments.length = edits.length = 0;
      await sandbox.ask(order);
      await service.idle();
      if (comments.length === 0) throw new Error("the service posted no comment");
      const arrived = Math.min(...webhooks);
      const posted = Math.max(...comments);
      const answered = Math.max(posted, ...edits);
      return {
        planMs: posted - arrived,
        answeredMs: options.dryRun === true ? answered - arrived : undefined,
        firstMs: Math.min(...renders) - arrived,
      };
    },
    calls: async () => (await sandbox.ask({ name: "calls" })) as readonly SeenCall[],
    async stop() {
      await service.close();
      await sandbox.stop();
    },
  };
}

function configOf(
  { argocdUrl, argocdToken, githubUrl, githubApiUrl, githubKey }: Started,
  { dryRun = false, checks = [] }: ServiceOptions,
) {
  const text = stringify({
    server: { host: "127.0.0.1", port: 0, base_url: "http://svc.example.com" },
    deployer: { server_url: argocdUrl, token: argocdToken, server_dry_run: dryRun ? "auto" : "off" },
    checks,
    // Every event is timed by its comment.
    comments: { nothing_affected: "comment" },
    hosta: {
      app_id: GITHUB_APP.id,
      private_key: githubKey,
      webhook_secret: SECRET,
      api_url: githubApiUrl,
      web_url: githubUrl,
    },
  });
  const loaded = loadServerConfig([{ name: "svc.yaml", text }], {});
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}
