import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { hasEnded, type Spare, type SpareProcesses } from "./spare-processes.js";
import { TcpProxy } from "./tcp-proxy.js";

/** Waits of the queue, in milliseconds; the ratio to each other is that of the real ones. */
const TIMING = {
  leaseMs: 2_000,
  heartbeatMs: 200,
  lookEveryMs: 500,
  retryAfterMs: [300, 1_000, 2_000],
  undoubtedMs: 4_000,
};
/** What has not rolled out so long after its merge has failed. */
const FOLLOWS_FOR_MS = 12_000;
/** Only for what hangs: a start may take long on a busy machine. */
const STARTS_WITHIN_MS = 300_000;
/** The log message of a refused event. */
const REFUSED = "event refused: the store is unavailable";
/** That of the end of an event. */
const HANDLED = '"msg":"event handled"';
const LISTENING = "listening";

/** Ports of the outside world. */
export interface Peers {
  readonly github: number;
  readonly gitlab: number;
  readonly argocd: number;
  readonly redis: number;
}

export type Lines = Readonly<Record<keyof Peers, TcpProxy>>;

export interface ReplicaParts {
  /** Where its configuration and its log are written. */
  readonly folder: string;
  readonly spares: SpareProcesses;
  /** Makes the configuration from the ports that this replica shall use. */
  readonly sections: (ports: Peers) => object;
}

/** One process of the built service, with a line of its own to each peer. */
export class Replica {
  #process: Spare | undefined;
  #url: string | undefined;
  #unfinishedLine = "";
  #handled = 0;
  readonly #refused = new Set<string>();

  private constructor(
    readonly name: string,
    readonly lines: Lines,
    private readonly file: string,
    private readonly log: WriteStream,
    private readonly spares: SpareProcesses,
  ) {}

  static async create(name: string, peers: Peers, { folder, spares, sections }: ReplicaParts): Promise<Replica> {
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
    return new Replica(name, lines, file, createWriteStream(join(folder, `${name}.log`)), spares);
  }

  /** Deliveries that it answered from its memory, because Redis did not answer it in time. */
  get refused(): ReadonlySet<string> {
    return this.#refused;
  }

  /** How many events it has handled. */
  get handled(): number {
    return this.#handled;
  }

  /** Where it listens; undefined while it does not run. */
  get url(): string | undefined {
    return this.#url;
  }

  /** Starts the build in this folder; resolves when it listens. */
  async start(dist: string): Promise<void> {
    const child = this.spares.take(dist);
    this.#process = child;
    child.stderr.on("data", (chunk: Buffer) => void this.log.write(chunk));
    child.stdin.on("error", () => undefined); // its exit tells
    child.stdin.write(`${JSON.stringify({ file: this.file, timing: TIMING, followsForMs: FOLLOWS_FOR_MS })}\n`);
    const listening = new Promise<string>((resolve, reject) => {
      let output = "";
      const timer = setTimeout(() => reject(new Error(`${this.name} did not start: ${output}`)), STARTS_WITHIN_MS);
      child.stdout.on("data", (chunk: Buffer) => {
        this.log.write(chunk);
        this.#look(chunk.toString());
        if (output === LISTENING) return;
        output += chunk.toString();
        const url = /"url":"(http[^"]+)","msg":"listening"/.exec(output)?.[1];
        if (url === undefined) return;
        clearTimeout(timer);
        output = LISTENING;
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

  /** Lets it do what it does by itself every few minutes. */
  cleanUp(): void {
    this.#process?.stdin.write("clean up\n");
  }

  /** Lets it look at the rollouts now, as it does every 15 seconds. */
  follow(): void {
    this.#process?.stdin.write("follow\n");
  }

  /** SIGKILL; what it had sent and what has not arrived is lost. */
  async kill(): Promise<void> {
    const child = this.#forget();
    if (child === undefined) return;
    const ended = once(child, "close");
    child.kill("SIGKILL");
    for (const line of Object.values(this.lines)) line.cut();
    await ended;
  }

  /** SIGTERM; resolves with the exit code. */
  async stop(): Promise<number | null> {
    const child = this.#forget();
    if (child === undefined) return 0;
    const ended = once(child, "close");
    child.kill("SIGTERM");
    const [code] = (await ended) as [number | null];
    return code;
  }

  async remove(): Promise<void> {
    await this.kill();
    await Promise.all(Object.values(this.lines).map((line) => line.stop()));
    this.log.end();
  }

  #look(output: string): void {
    const lines = (this.#unfinishedLine + output).split("\n");
    this.#unfinishedLine = lines.pop() ?? "";
    this.#handled += lines.filter((one) => one.includes(HANDLED)).length;
    for (const line of lines.filter((one) => one.includes(REFUSED))) {
      const delivery = /"delivery":"([^"]+)"/.exec(line)?.[1];
      if (delivery !== undefined) this.#refused.add(delivery);
    }
  }

  #forget(): Spare | undefined {
    const child = this.#process;
    this.#process = undefined;
    this.#url = undefined;
    return child === undefined || hasEnded(child) ? undefined : child;
  }
}
