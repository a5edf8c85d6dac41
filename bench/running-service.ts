import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { stringify } from "yaml";
import { GITHUB_APP } from "../sandbox/world.js";
import { loadServerConfig } from "../src/config/server.js";
import { startService } from "../src/service.js";
import type { Order, SeenCall, Started } from "./sandbox-process.js";

const SECRET = "bench-webhook-secret";

/** The service with default settings, and beside it a process that plays GitHub and Argo CD. */
export interface RunningService {
  readonly argocdUrl: string;
  readonly argocdToken: string;
  /** Lets something happen on the code host; the milliseconds that the service took for the event that follows from it. */
  timed(order: Extract<Order, { readonly name: "open" | "push" }>): Promise<number>;
  /** The calls to Argo CD since it was asked last. */
  calls(): Promise<readonly SeenCall[]>;
  stop(): Promise<void>;
}

/** @throws {Error} when the configuration of the benchmark does not fit the service any more. */
export async function startRunningService(applications: readonly string[], renderMs: number): Promise<RunningService> {
  const sandbox = startSandboxProcess();
  const started = (await sandbox.ask({ name: "start", applications, renderMs })) as Started;
  const handled: number[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => noteDuration(line, handled) });
  const service = await startService(configOf(started), log);
  await sandbox.ask({ name: "connect", url: `${service.url}/webhook/hosta`, secret: SECRET });
  const { argocdUrl, argocdToken } = started;
  return {
    argocdUrl,
    argocdToken,
    async timed(order) {
      handled.length = 0;
      await sandbox.ask(order);
      await service.idle();
      if (handled.length === 0) throw new Error("the service did nothing");
      return Math.max(...handled);
    },
    calls: async () => (await sandbox.ask({ name: "calls" })) as readonly SeenCall[],
    async stop() {
      await service.close();
      await sandbox.stop();
    },
  };
}

interface SandboxProcess {
  /** @throws {Error} with the sandbox's reason. */
  ask(order: Order): Promise<unknown>;
  stop(): Promise<void>;
}

/** One order at a time. */
function startSandboxProcess(): SandboxProcess {
  const program = fileURLToPath(new URL("sandbox-process.ts", import.meta.url));
  const child = fork(program, { execArgv: ["--import", "tsx"] });
  async function ask(order: Order): Promise<unknown> {
    const answered = once(child, "message");
    child.send(order);
    const [reply] = (await answered) as [{ readonly answer?: unknown; readonly failure?: string }];
    if (reply.failure !== undefined) throw new Error(reply.failure);
    return reply.answer;
  }
  return {
    ask,
    async stop() {
      const ended = once(child, "exit");
      await ask({ name: "stop" });
      child.disconnect();
      await ended;
    },
  };
}

function configOf({ argocdUrl, argocdToken, githubUrl, githubApiUrl, githubKey }: Started) {
  const text = stringify({
    server: { host: "127.0.0.1", port: 0, base_url: "http://svc.example.com" },
    deployer: { server_url: argocdUrl, token: argocdToken },
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

/** The service says itself how long each event took, from its beginning to the posted comment. */
function noteDuration(line: string, into: number[]): void {
  const entry = JSON.parse(line) as { readonly msg?: unknown; readonly ms?: unknown; readonly level?: unknown };
  if (entry.msg === "event handled" && typeof entry.ms === "number") into.push(entry.ms);
  if (typeof entry.level === "number" && entry.level >= 50) process.stderr.write(line);
}
