/**
 * Measures the memory of the built service while strangers send it large bodies, and how it answers ordinary deliveries
 * meanwhile: `tsx bench/webhook-flood.ts [--connections 80] [--mib 24] [--build dist]`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { appKeys } from "../sandbox/world.js";
import { WEBHOOK_PATHS } from "../src/names.js";
import { localServer } from "../test/local-server.js";
import { sendLargeBodies } from "./attacks/large-bodies.js";
import { memoryOf, startBuiltService } from "./built-service.js";
import { quantile } from "./send-events.js";
import { signedEvents, WEBHOOK_SECRET } from "./signed-events.js";

const { values: options } = parseArgs({
  options: {
    connections: { type: "string", default: "80" },
    mib: { type: "string", default: "24" },
    build: { type: "string", default: "dist" },
  },
});
const CONNECTIONS = Number(options.connections);
const BYTES = Number(options.mib) * 1024 * 1024;
/** How long after an attack the memory is looked at. */
const LATER_MS = 10_000;

const SIGNED = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };
const ATTACKS = {
  "without a signature": { headers: {} },
  "with a signature that looks right": { headers: SIGNED },
  "the same in chunks of one byte": { headers: SIGNED, tiny: true },
};

async function main(): Promise<void> {
  const silent = await localServer(() => undefined);
  const service = await startBuiltService(
    {
      server: { host: "127.0.0.1", port: 0, trust_proxy: true },
      deployer: { server_url: silent.url, token: "bench" },
      hosta: {
        app_id: 1,
        private_key: appKeys().privateKey,
        webhook_secret: WEBHOOK_SECRET,
        api_url: silent.url,
        web_url: silent.url,
      },
      defaults: { allowed_repos: ["nobody/nothing"] },
    },
    options.build,
  );
  const pid = service.child.pid ?? 0;
  const url = service.url + WEBHOOK_PATHS.hosta;
  await deliverUntil(url, delay(1000));
  print(`${CONNECTIONS} connections with bodies of ${options.mib} MiB (Node ${process.versions.node})\n`);
  print("| | before | highest | 10 s after | answers to the bodies | ordinary deliveries: p50, p99, not accepted |");
  print("|---|--:|--:|--:|---|---|");
  for (const [name, kind] of Object.entries(ATTACKS)) {
    const before = await memoryOf(pid);
    const attack = sendLargeBodies(url, { connections: CONNECTIONS, bytes: BYTES, ...kind });
    const { latencies, refused } = await deliverUntil(url, attack);
    const { highest } = await memoryOf(pid);
    // Deliveries go on: V8 collects what the attack left when something is allocated.
    await deliverUntil(url, delay(LATER_MS));
    const after = await memoryOf(pid);
    const answers = [...(await attack)].map(([status, count]) => `${count} × ${status}`).join(", ");
    const times = [0.5, 0.99].map((part) => `${quantile(latencies, part).toFixed(0)} ms`).join(", ");
    const sizes = [before.now, highest, after.now].map((mib) => `${mib.toFixed(0)} MiB`).join(" | ");
    print(`| ${name} | ${sizes} | ${answers} | ${times}, ${refused} |`);
  }
  await service.stop();
  await silent.stop();
}

/** Sends ordinary deliveries one after the other until something else is over. */
async function deliverUntil(url: string, other: Promise<unknown>) {
  const state = { over: false };
  void other.then(() => (state.over = true));
  const latencies: number[] = [];
  let refused = 0;
  while (!state.over) {
    for (const { headers, body } of signedEvents("hosta", 3, 10)) {
      const started = performance.now();
      const response = await fetch(url, { method: "POST", headers, body });
      await response.arrayBuffer();
      latencies.push(performance.now() - started);
      if (!response.ok) refused += 1;
    }
  }
  return { latencies: latencies.sort((left, right) => left - right), refused };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
