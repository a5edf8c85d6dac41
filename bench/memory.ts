/**
 * Measures the memory of the built service while it plans 500 of the 10,000 applications that Argo CD lists, and while it
 * reads each large content: `tsx bench/memory.ts [--listed 10000] [--planned 500] [--build dist] [--only Applications]`, the
 * words of the rows to measure.
 */
import { parseArgs } from "node:util";
import type { FileChanges } from "../sandbox/forge.js";
import { memoryOf } from "./built-service.js";
import { applicationNames, changedValues } from "./charts.js";
import { LARGE_CONTENT, type Measured, startMeasured, statusOf } from "./large-content.js";

const { values: options } = parseArgs({
  options: {
    listed: { type: "string", default: "10000" },
    planned: { type: "string", default: "500" },
    build: { type: "string", default: "dist" },
    only: { type: "string", default: "" },
  },
});
const { build } = options;
const PLANNED = applicationNames(Number(options.planned));

async function main(): Promise<void> {
  process.stdout.write(`Memory of the service in MiB resident (Node ${process.versions.node})\n\n`);
  process.stdout.write("| | started | after the plan | highest |\n|---|--:|--:|--:|\n");
  const told: string[] = [];
  const listed = `${PLANNED.length} of ${options.listed} applications changed`;
  if (listed.includes(options.only)) {
    const elsewhere = Array.from({ length: Number(options.listed) - PLANNED.length }, (_, index) => `other-${index}`);
    const service = await startMeasured({ build, applications: PLANNED, elsewhere, large: false });
    told.push(await measured(listed, changedValues(PLANNED, 2), service));
  }
  for (const { what, changes } of LARGE_CONTENT.filter((one) => one.what.includes(options.only))) {
    const service = await startMeasured({ build });
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
