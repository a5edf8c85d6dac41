/**
 * Measures the memory of the built service while it plans 500 of the 10,000 applications that Argo CD lists, and while it
 * reads each large content, with what the image sets: `tsx bench/memory.ts [--listed 10000] [--planned 500] [--build dist]
 * [--node 26] [--heap 0] [--only Applications]`, the words of the rows to measure. Another Node.js than that of this process comes
 * from npm. `--heap 0` leaves the limit of the heap to V8, as without a limit of the container.
 */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import type { FileChanges } from "../sandbox/forge.js";
import { installNode } from "../scripts/node-version.js";
import { imageSettings, memoryOf } from "./built-service.js";
import { applicationNames, changedValues } from "./charts.js";
import { LARGE_CONTENT, type Measured, startMeasured, statusOf } from "./large-content.js";

const { values: options } = parseArgs({
  options: {
    listed: { type: "string", default: "10000" },
    planned: { type: "string", default: "500" },
    build: { type: "string", default: "dist" },
    node: { type: "string" },
    heap: { type: "string", default: "512" },
    only: { type: "string", default: "" },
  },
});
const { build } = options;
/** What V8 takes as the limit of its heap in a container of 1 GiB, the chart's limit: half of that. */
const heapMb = Number(options.heap);
const node = options.node === undefined ? process.execPath : installNode(options.node).node;
const image = await imageSettings();
/** An option of the image has precedence over the same one in NODE_OPTIONS. */
const start = { node, ...image, env: { ...image.env, NODE_OPTIONS: heapMb > 0 ? heapOptions(node) : "" } };
const PLANNED = applicationNames(Number(options.planned));

/**
 * What V8 takes from a limit of the container. It shrinks the space for young objects in proportion below a heap of 2 GiB, which the
 * option for the heap alone does not.
 */
function heapOptions(node: string): string {
  const heap = `--max-old-space-size=${heapMb}`;
  const limit = execFileSync(node, [heap, "-p", "v8.getHeapStatistics().heap_size_limit / 2 ** 20"], {
    encoding: "utf8",
  });
  const semiSpaceMb = (Number(limit) - heapMb) / 3;
  return `${heap} --max-semi-space-size=${Math.max(1, Math.floor((semiSpaceMb * Math.min(heapMb, 2048)) / 2048))}`;
}

async function main(): Promise<void> {
  process.stdout.write(`Memory of the service in MiB resident (Node ${options.node ?? process.versions.node})\n\n`);
  process.stdout.write("| | started | after the plan | highest |\n|---|--:|--:|--:|\n");
  const told: string[] = [];
  const listed = `${PLANNED.length} of ${options.listed} applications changed`;
  if (listed.includes(options.only)) {
    const elsewhere = Array.from({ length: Number(options.listed) - PLANNED.length }, (_, index) => `other-${index}`);
    const service = await startMeasured({ build, applications: PLANNED, elsewhere, large: false, start });
    told.push(await measured(listed, changedValues(PLANNED, 2), service));
  }
  for (const { what, changes } of LARGE_CONTENT.filter((one) => one.what.includes(options.only))) {
    const service = await startMeasured({ build, start });
    told.push(await measured(what, changes(service.repositoryUrl), service));
  }
  process.stdout.write(`\n${told.join("\n")}\n`);
}

/** Prints a row; returns what became of the pull request. */
async function measured(what: string, changes: FileChanges, { sandbox, pid, stop }: Measured): Promise<string> {
  const before = await memoryOf(pid);
  await sandbox.ask({ name: "open", number: 1, changes });
  const status = await statusOf(sandbox, 1);
  const after = await memoryOf(pid);
  const cells = [before.now, after.now, after.highest].map((mebibytes) => mebibytes.toFixed(0));
  process.stdout.write(`| ${[what, ...cells].join(" | ")} |\n`);
  await stop();
  return `Status of "${what}": ${status}`;
}

await main();
