import { cpus } from "node:os";
import type { FileChanges } from "../sandbox/forge.js";
import { RENDER_CONCURRENCY } from "./bare-calls.js";
import { applicationNames, changedValues, setFile } from "./charts.js";
import { measurePlan, type MeasuredPlan } from "./measure-plan.js";
import { startRunningService, type RunningService, type ServiceOptions } from "./running-service.js";
import type { Scene } from "./sandbox-process.js";

/** Roughly what a real Argo CD takes to render a small chart. */
const RENDER_MS = 200;
/** Default of `argocd.preview_limit`. */
const GENERATED = 100;
/** A program that does nothing: what is left is the cost of running one for each application. */
const TRIVIAL = { name: "trivial", command: ["true"] };

/** Another application, of the first pull request. */
const PLANNED_BEFORE = "planned-before";

/** A pull request and the next push to it. */
interface Case {
  readonly what: string;
  readonly scene: Scene;
  readonly options?: ServiceOptions;
  readonly opened: (service: RunningService) => FileChanges;
  readonly pushed: FileChanges;
}

/** Prints the cost of plans of different sizes, and of the next push to each. */
async function main(cases: readonly Case[]): Promise<void> {
  const about = `${cpus().length} cores, Node ${process.versions.node}`;
  print(`Plans with Argo CD answering each render in ${RENDER_MS} ms, ${RENDER_CONCURRENCY} at a time (${about})`);
  print("");
  print(
    "| plan | renders | GETs | other calls | KiB from Argo CD | service CPU | first render | plan | bound | ratio |",
  );
  print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
  for (const one of cases) await planAndPush(one);
}

/** Changes the values of the first applications. */
function changed(count: number, of = count): Case {
  const names = applicationNames(of).slice(0, count);
  return {
    what: count === of ? `${count} changed` : `${count} of ${of} changed`,
    scene: { applications: applicationNames(of), renderMs: RENDER_MS },
    opened: () => changedValues(names, 2),
    pushed: changedValues(names, 3),
  };
}

/** Asks Kubernetes about the changed objects once the plan is posted. */
function tried(count: number): Case {
  const plain = changed(count);
  return {
    ...plain,
    what: `${count} changed and tried`,
    scene: { ...plain.scene, deployed: true },
    options: { dryRun: true },
  };
}

function checked(count: number): Case {
  return { ...changed(count), what: `${count} changed, one check`, options: { checks: [TRIVIAL] } };
}

/** Adds an application of each chart to an ApplicationSet. Another one runs in the project, so that they may be rendered. */
function generated(): Case {
  const [running = "", ...charts] = applicationNames(GENERATED + 1);
  return {
    what: `${GENERATED} generated`,
    scene: { applications: [running], charts, renderMs: RENDER_MS },
    opened: ({ repositoryUrl }) => setFile(charts, repositoryUrl),
    pushed: changedValues(charts, 3),
  };
}

async function planAndPush({ what, scene, options, opened, pushed }: Case): Promise<void> {
  const running = { ...scene, applications: [...scene.applications, PLANNED_BEFORE] };
  const service = await startRunningService(running, options);
  try {
    // The service has cloned the repository, and planned, already.
    await service.timed({ name: "open", number: 1, changes: changedValues([PLANNED_BEFORE], 2) });
    await service.timed({ name: "push", number: 1, changes: changedValues([PLANNED_BEFORE], 3) });
    const open = { name: "open", number: 2, changes: opened(service) } as const;
    printRows(`${what}, opened`, await measurePlan(service, open));
    const push = { name: "push", number: 2, changes: pushed } as const;
    printRows(`${what}, pushed again`, await measurePlan(service, push));
  } finally {
    await service.stop();
  }
}

/** The moment when the plan is posted, and the one when it has Kubernetes' answers. */
function printRows(title: string, measured: MeasuredPlan): void {
  print(row(title, measured));
  const { answeredMs, answeredBoundMs } = measured;
  if (answeredMs === undefined) return;
  print(row(`${title}, with the answers`, { ...measured, planMs: answeredMs, boundMs: answeredBoundMs }));
}

function row(title: string, measured: MeasuredPlan): string {
  const { renders, gets, otherCalls, bytes, cpuMs, firstMs, planMs, boundMs } = measured;
  const times = [cpuMs, firstMs, planMs, boundMs].map(seconds);
  const cells = [renders, gets, otherCalls, Math.ceil(bytes / 1024), ...times];
  return `| ${[title, ...cells, (planMs / boundMs).toFixed(2)].join(" | ")} |`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** `tsx bench/plan.ts 50 generated` prints some of them. */
function asked(word: string): readonly Case[] {
  switch (word) {
    case "generated":
      return [generated()];
    case "tried":
      return [tried(50), tried(500)];
    case "tried-50":
      return [tried(50)];
    case "tried-500":
      return [tried(500)];
    case "one":
      return [changed(1, 200)];
    default:
      return [changed(Number(word)), checked(Number(word))];
  }
}

const words = process.argv.slice(2);
await main((words.length > 0 ? words : ["1", "50", "500", "one", "generated", "tried"]).flatMap(asked));
