import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type IncomingMessage, request as ask, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import type { Forge } from "../../sandbox/forge.js";
import { startSandbox, type SandboxWorld } from "../../sandbox/world.js";
import { localServer, type LocalServer } from "../local-server.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PEM = readFileSync(new URL("../fixtures/argocd-adapter/self-signed.pem", import.meta.url), "utf8");
/** What the build and the trial read of svc's repository. */
const PUBLISHED = ["deploy/kind", "views", "openapi.yaml", "package.json", "app.yml"];
export const TRIED = "acme/shop";

interface Kept {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly stringData?: Readonly<Record<string, string>>;
}

/** A reader of docs/trial.md: an empty folder, and kind, kubectl, docker and npm of `fake-programs/` in front of a sandbox. */
export class TrialWorld {
  /** Calls of the programs that only a real cluster or registry could answer. */
  readonly called: string[] = [];
  /** What was applied to the cluster. */
  readonly applied: Kept[] = [];
  readonly #servers: LocalServer[] = [];
  readonly #typed: Typed[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "svc-trial-"));
  #env: Record<string, string> = {};

  private constructor(readonly sandbox: SandboxWorld) {}

  static async start(): Promise<TrialWorld> {
    const world = new TrialWorld(await startSandbox({ github: true, gitlab: true }));
    const cluster = await localServer((request, response) => void world.#answer(request, response));
    const argocd = await localServer((request, response) => void world.#forward(request, response), PEM);
    world.#servers.push(cluster, argocd);
    world.#env = {
      HOME: world.#folder,
      PATH: [join(ROOT, "test/deploy/fake-programs"), dirname(process.execPath), process.env.PATH ?? ""].join(
        delimiter,
      ),
      FAKE_CLUSTER: cluster.url,
      FAKE_ARGOCD_PORT: new URL(argocd.url).port,
      FAKE_FOLDER: world.#folder,
      SVC_SOURCE: ROOT,
      ...world.#publish(),
    };
    return world;
  }

  forge(host: string): Forge {
    const forge = host === "github" ? this.sandbox.github : this.sandbox.gitlab;
    if (forge === undefined) throw new Error(`no ${host}`);
    return forge;
  }

  /** Makes git find svc's repository, of which one commit holds what the trial needs. @returns Variables for git. */
  #publish(): Readonly<Record<string, string>> {
    const source = join(this.#folder, "published");
    for (const path of PUBLISHED) cpSync(join(ROOT, path), join(source, path), { recursive: true });
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-c", "user.name=svc", "-c", "user.email=svc@example.org", ...args], { cwd: source });
    git("init", "--quiet");
    git("add", "--all");
    git("commit", "--quiet", "--message", "svc");
    return {
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: `url.file://${source}.insteadOf`,
      GIT_CONFIG_VALUE_0: "https://github.com/acme/svc",
    };
  }

  /** The fake programs report here, and ask for applications. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { argocd } = this.sandbox;
    const name = /^\/applications\/(.+)$/.exec(request.url ?? "")?.[1];
    if (request.url === "/called") this.called.push(body);
    if (request.url === "/apply") {
      const object = parse(body) as Kept;
      this.applied.push(object);
      // The first sync is Argo CD's: this one need not deploy anything.
      if (object.kind === "Application") argocd.addApplication({ ...object, operation: undefined });
    }
    const known = name === undefined || argocd.applications().some(({ metadata }) => metadata.name === name);
    response.writeHead(known ? 200 : 404).end();
  }

  /** Argo CD behind the forwarded port: with TLS, and a login that the sandbox does not have. */
  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === "/api/v1/session") {
      const known = (await text(request)) === '{"username":"admin","password":"initial-password"}';
      response.writeHead(known ? 200 : 401).end(JSON.stringify({ token: this.sandbox.argocdToken }));
      return;
    }
    const { method = "GET", headers } = request;
    const onward = ask(new URL(request.url ?? "", this.sandbox.argocd.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  }

  /** The folder into which the reader cloned. */
  path(name: string): string {
    return join(this.#folder, "svc", name);
  }

  /** Types lines into a shell, in the folder that an earlier `cd` led to. */
  type(lines: string, { cloned = true, stdin = "", env = {} } = {}): Typed {
    const cwd = cloned ? this.path("") : this.#folder;
    const options = { cwd, env: { ...this.#env, ...env }, detached: true } as const;
    const child = spawn("bash", ["-c", `set -euo pipefail\n${lines}`], options);
    child.stdin.end(stdin);
    const typed = new Typed(child.pid ?? 0, once(child, "exit") as Promise<[number | null]>);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (part: string) => (typed.said += part));
    }
    this.#typed.push(typed);
    return typed;
  }

  /** Ends what still runs. */
  async interrupt(): Promise<void> {
    for (const typed of this.#typed.splice(0)) await typed.interrupt();
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await server.stop();
    await this.sandbox.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Puts a repository with one folder of manifests on a host. */
  async createRepository(host: string): Promise<void> {
    const forge = this.forge(host);
    const kept = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: web, namespace: web }\ndata: { size: "1" }\n`;
    await forge.createRepository(TRIED, { "apps/web/settings.yaml": kept });
    forge.setAccess(TRIED, "ana", "write");
  }
}

/** Lines that run. */
class Typed {
  said = "";
  #ended = false;

  constructor(
    private readonly group: number,
    private readonly exit: Promise<[number | null]>,
  ) {
    void exit.then(() => (this.#ended = true));
  }

  /** Waits for a text. @throws {Error} with all that was said, if the lines end before, or after a minute. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    const limit = Date.now() + 60_000;
    for (;;) {
      const found = pattern.exec(this.said);
      if (found !== null) return found;
      if (this.#ended || Date.now() > limit) throw new Error(`${String(pattern)} was not said:\n${this.said}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async ended(): Promise<number | null> {
    const [code] = await this.exit;
    return code;
  }

  /** Ctrl-C. */
  async interrupt(): Promise<void> {
    if (!this.#ended) process.kill(-this.group, "SIGINT");
    await this.exit;
  }
}
