import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { appKeys, GITHUB_APP, GITLAB_TOKEN, startSandbox, type SandboxWorld } from "../sandbox/world.js";
import { RedisServer } from "../test/redis-server.js";
import { ROOT } from "./generated-files.js";
import { installNode } from "./node-version.js";
import { converse, WEBHOOK_SECRET } from "./smoke-conversation.js";

/** Time limit of a run: only for what hangs. */
const MOST_MS = 300_000;

/**
 * Starts the built service on another version of Node.js against the sandbox and a Redis, checks its health, its pages and its logins, has it
 * plan, deploy and merge a change request on each host, and stops it.
 */
async function smoke(version: string): Promise<void> {
  const { node } = installNode(version);
  const say = (line: string) => process.stdout.write(`Node.js ${version}: ${line}\n`);
  const folder = await mkdtemp(join(tmpdir(), "svc-smoke-"));
  const world = await startSandbox({ github: true, gitlab: true });
  const redis = await RedisServer.start();
  const started: ChildProcess[] = [];
  const start = (...args: readonly string[]) => {
    const child = new Program(node, args);
    started.push(child.process);
    return child;
  };
  try {
    const file = join(folder, "svc.yaml");
    await writeFile(file, stringify(settings(world, redis.address)));
    for (const args of [["--version"], ["check", file]]) {
      const { code, output } = await start(...args).ended;
      if (code !== 0) throw new Error(`${args.join(" ")} exited with ${String(code)}: ${output}`);
      say(output.trim());
    }
    const service = start("-c", file);
    const address = await service.printed(/"url":"(http:[^"]+)","version"/);
    for (const path of ["/health", "/ready", "/status", "/assets/style.css"]) {
      const answer = await fetch(`${address}${path}`);
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
      const text = await answer.text();
      say(`${path} ${text.length > 200 ? `${text.length} characters` : text}`);
    }
    await converse(world, address, say);
    service.process.kill("SIGTERM");
    const { code, output } = await service.ended;
    if (code !== 0) throw new Error(`the service exited with ${String(code)}: ${output}`);
    say("ended when asked to");
    await writeFile(file, stringify({ ...settings(world, redis.address), auth: logins(world) }));
    const guarded = start("-c", file);
    const guardedAt = await guarded.printed(/"url":"(http:[^"]+)","version"/);
    for (const provider of ["hosta", "hostb"]) {
      const answer = await fetch(`${guardedAt}/auth/${provider}/login`, { redirect: "manual" });
      const to = answer.headers.get("location") ?? "";
      if (!to.includes("code_challenge=")) throw new Error(`the login of ${provider} led to ${answer.status} ${to}`);
      say(`the login of ${provider} leads to ${new URL(to).pathname}`);
    }
    guarded.process.kill("SIGTERM");
    await guarded.ended;
  } finally {
    for (const child of started) child.kill("SIGKILL");
    await world.stop();
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A run of the built service. */
class Program {
  readonly process: ChildProcess;
  readonly ended: Promise<{ readonly code: unknown; readonly output: string }>;
  #output = "";
  #waiting: (() => void) | undefined;

  constructor(node: string, args: readonly string[]) {
    const child = spawn(node, ["dist/main.js", ...args], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: MOST_MS,
    });
    this.process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        this.#output += chunk.toString("utf8");
        this.#waiting?.();
      });
    }
    this.ended = once(child, "close").then(([code]: unknown[]) => ({ code, output: this.#output }));
  }

  /** The first group of the first match in the output. @throws {Error} if the program exits without one. */
  async printed(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.#output);
      if (found?.[1] !== undefined) return found[1];
      const more = new Promise<boolean>((resolve) => (this.#waiting = () => resolve(true)));
      if (!(await Promise.race([more, this.ended.then(() => false)]))) {
        throw new Error(`the service did not start: ${this.#output}`);
      }
    }
  }
}

function logins({ gitlab }: SandboxWorld): object {
  const client = { client_id: "smoke-client", client_secret: "smoke-client-secret" };
  return {
    enabled: true,
    session_secret: "0".repeat(64),
    cookie_secure: false,
    hosta: { ...client, allowed_orgs: ["acme"] },
    hostb: { ...client, url: gitlab?.url, allowed_groups: ["acme"] },
  };
}

function settings({ github, gitlab, argocd, argocdToken }: SandboxWorld, redisAddress: string): object {
  if (github === undefined || gitlab === undefined) throw new Error("the sandbox has no hosts");
  return {
    server: { host: "127.0.0.1", port: 0, base_url: "http://svc.example.com", shutdown_grace: "3s" },
    kvstore: { address: redisAddress },
    deployer: { server_url: argocd.url, token: argocdToken },
    defaults: { auto_merge: true },
    redact: ["password-[0-9]+"],
    hosta: {
      app_id: GITHUB_APP.id,
      private_key: appKeys().privateKey,
      webhook_secret: WEBHOOK_SECRET,
      api_url: github.apiUrl,
      web_url: github.url,
    },
    hostb: { url: gitlab.url, token: GITLAB_TOKEN, webhook_secret: WEBHOOK_SECRET },
  };
}

const [version = "26"] = process.argv.slice(2);
await smoke(version);
