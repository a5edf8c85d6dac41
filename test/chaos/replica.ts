import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { TcpProxy } from "./tcp-proxy.js";

const PROGRAM = fileURLToPath(new URL("replica-program.js", import.meta.url));
/** Waits of the queue, in milliseconds; the ratio to each other is that of the real ones. */
const TIMING = { leaseMs: 2_000, heartbeatMs: 200, lookEveryMs: 500, retryAfterMs: [300, 1_000, 2_000] };
const STARTS_WITHIN_MS = 30_000;

/** Ports of the outside world. */
export interface Peers {
  readonly github: number;
  readonly gitlab: number;
  readonly argocd: number;
  readonly redis: number;
}

export type Lines = Readonly<Record<keyof Peers, TcpProxy>>;

/** One process of the built service, with a line of its own to each peer. */
export class Replica {
  #process: ChildProcess | undefined;
  #url: string | undefined;

  private constructor(
    readonly name: string,
    readonly lines: Lines,
    private readonly folder: string,
    private readonly file: string,
  ) {}

  /** `sections` makes the configuration from the ports that this replica shall use. */
  static async create(
    name: string,
    peers: Peers,
    folder: string,
    sections: (ports: Peers) => object,
  ): Promise<Replica> {
    const [github, gitlab, argocd, redis] = await Promise.all([
      TcpProxy.start(peers.github),
      TcpProxy.start(peers.gitlab),
      TcpProxy.start(peers.argocd),
      TcpProxy.start(peers.redis),
    ]);
    const lines = { github, gitlab, argocd, redis };
    const file = join(folder, `${name}.yaml`);
    const ports = { github: github.port, gitlab: gitlab.port, argocd: argocd.port, redis: redis.port };
    await writeFile(file, stringify(sections(ports)));
    return new Replica(name, lines, folder, file);
  }

  /** Where it listens; undefined while it does not run. */
  get url(): string | undefined {
    return this.#url;
  }

  /** Starts the build in this folder; resolves when it listens. */
  async start(dist: string): Promise<void> {
    const child = spawn(process.execPath, [PROGRAM, dist, this.file, JSON.stringify(TIMING)], {
      env: { PATH: process.env.PATH ?? "" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    const log = join(this.folder, `${this.name}.log`);
    child.stderr.on("data", (chunk: Buffer) => void appendFile(log, chunk));
    const listening = new Promise<string>((resolve, reject) => {
      let output = "";
      const timer = setTimeout(() => reject(new Error(`${this.name} did not start: ${output}`)), STARTS_WITHIN_MS);
      child.stdout.on("data", (chunk: Buffer) => {
        void appendFile(log, chunk);
        output += chunk.toString();
        const url = /"url":"(http[^"]+)","msg":"listening"/.exec(output)?.[1];
        if (url === undefined) return;
        clearTimeout(timer);
        output = "";
        resolve(url);
      });
      child.once("exit", (code) => {
        clearTimeout(timer);
        reject(new Error(`${this.name} ended with ${String(code)}: ${output}`));
      });
    });
    const url = await listening;
    if (this.#process === child) this.#url = url;
  }

  /** SIGKILL; what it had sent and what has not arrived is lost. */
  async kill(): Promise<void> {
    const child = this.#forget();
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    for (const line of Object.values(this.lines)) line.cut();
    await ended;
  }

  /** SIGTERM; resolves with the exit code. */
  async stop(): Promise<number | null> {
    const child = this.#forget();
    if (child === undefined) return 0;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const [code] = (await ended) as [number | null];
    return code;
  }

  async remove(): Promise<void> {
    await this.kill();
    await Promise.all(Object.values(this.lines).map((line) => line.stop()));
  }

  #forget(): ChildProcess | undefined {
    const child = this.#process;
    this.#process = undefined;
    this.#url = undefined;
    return child?.exitCode === null && child.signalCode === null ? child : undefined;
  }
}
