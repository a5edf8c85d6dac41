import { cpus } from "node:os";
import { applicationNames, changedValues } from "./charts.js";
import { measurePlan, RENDER_CONCURRENCY, type MeasuredPlan } from "./measure-plan.js";
import { startRunningService, type Check } from "./running-service.js";

/** Roughly what a real Argo CD takes to render a small chart. */
const RENDER_MS = 200;

/** A program that does nothing: what is left is the cost of running one for each application. */
const TRIVIAL: Check = { name: "trivial", command: ["true"] };

/** Prints the cost of plans of different sizes, of the next push to each, and of one changed application out of 200. */
async function main(counts: readonly number[]): Promise<void> {
  const about = `${cpus().length} cores, Node ${process.versions.node}`;
  print(`Plans with Argo CD answering each render in ${RENDER_MS} ms, ${RENDER_CONCURRENCY} at a time (${about})`);
  print("");
  print("| plan | renders | GETs | other calls | KiB from Argo CD | service CPU | plan | bound | ratio |");
  print("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
  for (const count of counts) {
    await planAndPush(`${count} changed`, applicationNames(count), count);
    await planAndPush(`${count} changed, one check`, applicationNames(count), count, [TRIVIAL]);
  }
  await planAndPush("1 of 200 changed", applicationNames(200), 1);
}

/** A pull request that changes the values of the first applications, then a push that changes them again. */
async function planAndPush(
  title: string,
  applications: readonly string[],
  changed: number,
  checks: readonly Check[] = [],
): Promise<void> {
  const service = await startRunningService(applications, RENDER_MS, checks);
  const names = applications.slice(0, changed);
  try {
    // The service has cloned the repository already.
    await service.timed({ name: "open", number: 1, changes: { "README.md": "hello\n" } });
    const opened = { name: "open", number: 2, changes: changedValues(names, 2) } as const;
    print(row(`${title}, opened`, await measurePlan(service, opened)));
    const pushed = { name: "push", number: 2, changes: changedValues(names, 3) } as const;
    print(row(`${title}, pushed again`, await measurePlan(service, pushed)));
  } finally {
    await service.stop();
  }
}

function row(title: string, measured: MeasuredPlan): string {
  const { renders, gets, otherCalls, bytes, cpuMs, planMs, boundMs } = measured;
  const cells = [renders, gets, otherCalls, Math.ceil(bytes / 1024), seconds(cpuMs), seconds(planMs), seconds(boundMs)];
  return `| ${[title, ...cells, (planMs / boundMs).toFixed(2)].join(" | ")} |`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const asked = process.argv.slice(2).map(Number);
await main(asked.length > 0 ? asked : [1, 50, 500]);
