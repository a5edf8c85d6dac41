/**
 * Measures what the image carries beside Node.js and git, and what a start of it takes: the time until the service listens,
 * its CPU time until then, and its memory when idle: `tsx bench/start.ts [--node 26] [--starts 7] [--idle 20]`. Another
 * Node.js than that of this process comes from npm. From 24 on it collects what a start left behind only after 100 s
 * without work: `--node 26 --idle 110`. Expected: less than 60 MB, listening within 1 s, less than 90 MiB.
 */
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { appKeys, GITHUB_APP, GITLAB_TOKEN, startSandbox } from "../sandbox/world.js";
import { installNode } from "../scripts/node-version.js";
import { freePort } from "../test/redis-server.js";
import { cpuSecondsOf, imageSettings, memoryOf, startBuiltService } from "./built-service.js";
import { quantile } from "./send-events.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FILES = ["dist", "package.json", "openapi.yaml", "LICENSE", "views"];
const SECRET = "bench-webhook-secret";
const run = promisify(execFile);

const { values: options } = parseArgs({
  options: {
    node: { type: "string" },
    starts: { type: "string", default: "7" },
    idle: { type: "string", default: "20" },
  },
});

const node = options.node === undefined ? process.execPath : installNode(options.node).node;
const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
const world = await startSandbox({ github: true, gitlab: true });
try {
  // Away from the packages, as in the image.
  for (const name of FILES) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  say(`svc in the image: ${await megabytes(FILES)} MB`);
  say("| configuration | listening after | CPU until then | resident when idle |\n|---|--:|--:|--:|");
  for (const [name, sections] of Object.entries(await configurations())) await measure(name, sections);
} finally {
  await world.stop();
  await rm(folder, { recursive: true, force: true });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** MB that these files hold. */
async function megabytes(names: readonly string[]): Promise<string> {
  const paths = names.map((name) => join(ROOT, name));
  const { stdout } = await run("du", ["--apparent-size", "--block-size=1", "--summarize", "--total", ...paths]);
  return (Number(/^(\d+)\ttotal$/m.exec(stdout)?.[1]) / 1e6).toFixed(1);
}

async function configurations(): Promise<Readonly<Record<string, object>>> {
  const { github, gitlab, argocd, argocdToken } = world;
  const server = { host: "127.0.0.1", port: 0 };
  const deployer = { server_url: argocd.url, token: argocdToken };
  const hosta = {
    app_id: GITHUB_APP.id,
    private_key: appKeys().privateKey,
    webhook_secret: SECRET,
    api_url: github?.apiUrl,
    web_url: github?.url,
  };
  const hostb = { url: gitlab?.url, token: GITLAB_TOKEN, webhook_secret: SECRET };
  return {
    "GitLab alone": { server, deployer, hostb },
    "GitHub alone": { server, deployer, hosta },
    "both hosts, with metrics": { server: { ...server, metrics_port: await freePort() }, deployer, hosta, hostb },
  };
}

/** Starts the service a few times, and looks at the memory of the last one when it has been idle for a while. */
async function measure(name: string, sections: object): Promise<void> {
  const milliseconds: number[] = [];
  const cpuSeconds: number[] = [];
  let memory = Number.NaN;
  for (let left = Number(options.starts); left > 0; left -= 1) {
    const begun = performance.now();
    const service = await startBuiltService(sections, join(folder, "dist"), { node, ...(await imageSettings()) });
    milliseconds.push(performance.now() - begun);
    const pid = service.child.pid ?? 0;
    cpuSeconds.push(await cpuSecondsOf(pid));
    if (left === 1) {
      await delay(Number(options.idle) * 1000);
      memory = (await memoryOf(pid)).now;
    }
    await service.stop();
  }
  const median = (numbers: number[]) =>
    quantile(
      numbers.sort((one, other) => one - other),
      0.5,
    );
  say(
    `| ${name} | ${median(milliseconds).toFixed(0)} ms | ${median(cpuSeconds).toFixed(2)} s | ${memory.toFixed(0)} MiB |`,
  );
}
