import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../redis-server.js";
import { tlsOnly, type Certificates } from "./certificates.js";

export interface SentinelServer {
  readonly address: string;
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * One Sentinel that watches the primary on this port under the name `main`. Its password is `sentinel-password`.
 * @param certificates If given, it speaks TLS with everybody.
 */
export async function startSentinel(primaryPort: number, certificates?: Certificates): Promise<SentinelServer> {
  const folder = await mkdtemp(join(tmpdir(), "svc-sentinel-"));
  const port = await freePort();
  const file = join(folder, "sentinel.conf");
  const transport = certificates === undefined ? { port } : tlsOnly(port, certificates);
  const lines = [
    ...Object.entries(transport).map(([name, value]) => `${name} ${value}`),
    "bind 127.0.0.1",
    `dir ${folder}`,
    `sentinel monitor main 127.0.0.1 ${primaryPort} 1`,
    "sentinel down-after-milliseconds main 1000",
    "sentinel failover-timeout main 5000",
    "requirepass sentinel-password",
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  const running = spawn("redis-server", [file, "--sentinel"], { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise<void>((resolve, reject) => {
    let output = "";
    running.once("error", reject);
    running.once("exit", () => reject(new Error(`the Sentinel ended:\n${output}`)));
    running.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes("+monitor master main")) resolve();
    });
  });
  return {
    address: `127.0.0.1:${port}`,
    port,
    async stop() {
      const ended = once(running, "exit");
      running.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
