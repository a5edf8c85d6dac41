import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A private redis-server on a free loopback port, without persistence. Always `stop` it. */
export class RedisServer {
  #process: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly extraArguments: readonly string[],
  ) {}

  /** `extraArguments` go to redis-server, for instance `["--requirepass", "secret"]`. */
  static async start(extraArguments: readonly string[] = []): Promise<RedisServer> {
    const folder = await mkdtemp(join(tmpdir(), "svc-redis-"));
    const server = new RedisServer(await freePort(), folder, extraArguments);
    await server.restart();
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Stops answering without closing a connection. */
  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process?.kill("SIGCONT");
  }

  /** Ends at once; all data are lost. */
  async kill(): Promise<void> {
    const running = this.#process;
    if (running === undefined) return;
    this.#process = undefined;
    const ended = once(running, "exit");
    running.kill("SIGKILL");
    await ended;
  }

  /** Starts anew on the same port, empty; resolves when it takes connections. */
  async restart(): Promise<void> {
    await this.kill();
    const args = ["--port", String(this.port), "--bind", "127.0.0.1", "--dir", this.folder, "--save", ""];
    const started = spawn("redis-server", [...args, "--appendonly", "no", ...this.extraArguments], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#process = started;
    await new Promise<void>((resolve, reject) => {
      let output = "";
      started.once("error", reject);
      started.once("exit", () => reject(new Error(`redis-server ended:\n${output}`)));
      started.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes("Ready to accept connections")) resolve();
      });
    });
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/**
 * A port that is free now. It is below those that Linux gives to connections and to servers that ask for any (32768 and up, see
 * ip(7)), one of which could take it before the server starts, or while it restarts. A Redis cluster also uses the port 10,000 above.
 */
export async function freePort(): Promise<number> {
  for (let left = 100; left > 0; left -= 1) {
    const port = 10_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
  throw new Error("no port is free");
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
