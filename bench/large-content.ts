import { setTimeout as delay } from "node:timers/promises";
import type { Manifest } from "../sandbox/argocd/manifest.js";
import type { FileChanges } from "../sandbox/forge.js";
import { GITHUB_APP } from "../sandbox/world.js";
import { hostileFiles } from "../test/attacks/hostile-files.js";
import { startBuiltService, type StartOptions } from "./built-service.js";
import { applicationNames, applicationOf, changedValues } from "./charts.js";
import { type OtherProcess, startOtherProcess } from "./other-process.js";
import { REPOSITORY, type Order, type Started } from "./sandbox-process.js";
import { WEBHOOK_SECRET } from "./signed-events.js";

const MANY = 10_000;
const SLOW_FILES = 40;
const LARGE_OBJECTS = 40;
const LARGE_BYTES = 400_000;
/** Argo CD runs it; what it renders may be large. */
export const RENDERED = "app-001";

/** A pull request of somebody who may deploy, with more in it than people write. */
export interface LargeContent {
  readonly what: string;
  readonly changes: (repositoryUrl: string) => FileChanges;
}

/** Each is opened at a service that has just started. */
export const LARGE_CONTENT: readonly LargeContent[] = [
  { what: "10,000 Applications in one pull request", changes: newApplications },
  { what: "10,000 broken Applications in one pull request", changes: brokenApplications },
  { what: "40 YAML files that are slow to read", changes: slowFiles },
  { what: "40 ConfigMaps of 400 KB that differ in every line", changes: () => changedValues([RENDERED], 2) },
];

/** Each in a file of its own. */
function newApplications(repositoryUrl: string): Readonly<Record<string, string>> {
  const { spec } = applicationOf(RENDERED, repositoryUrl);
  return Object.fromEntries(
    Array.from({ length: MANY }, (_, index) => {
      const name = `new-${index}`;
      return [`argocd/${name}.yaml`, `${JSON.stringify({ ...applicationOf(name, repositoryUrl), spec }, null, 2)}\n`];
    }),
  );
}

/** Every second one is not valid YAML, the others have no destination. */
function brokenApplications(repositoryUrl: string): FileChanges {
  return Object.fromEntries(
    Object.entries(newApplications(repositoryUrl)).map(([path, text], index) => [
      path,
      index % 2 === 0 ? `${text}spec: [\n` : text.replace('"destination"', '"destinations"'),
    ]),
  );
}

function slowFiles(): FileChanges {
  const kinds = Object.entries(hostileFiles());
  return Object.fromEntries(
    Array.from({ length: SLOW_FILES }, (_, index) => {
      const [path = "", text = ""] = kinds[index % kinds.length] ?? [];
      // Equal files are read once.
      return [`${index}/${path}`, `${text}# ${index}\n`];
    }),
  );
}

/** ConfigMaps of which every line differs between the two sides. */
function largeObjects(side: string): readonly Manifest[] {
  return Array.from({ length: LARGE_OBJECTS }, (_, index) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `large-${index}` },
    data: { text: `${side} of a line that differs\n`.repeat(LARGE_BYTES / (side.length + 26)) },
  }));
}

/** The built service and its sandbox, each in a process of its own. */
export interface Measured {
  readonly sandbox: OtherProcess<Order>;
  readonly repositoryUrl: string;
  readonly url: string;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

export interface SceneOptions {
  readonly build: string;
  readonly sections?: object;
  readonly applications?: readonly string[];
  /** Applications of another repository. */
  readonly elsewhere?: readonly string[];
  readonly renderMs?: number;
  /** Whether the first application renders large objects. */
  readonly large?: boolean;
  readonly start?: StartOptions;
}

export async function startMeasured({
  build,
  sections = {},
  applications = applicationNames(1),
  elsewhere = [],
  renderMs = 0,
  large = true,
  start = {},
}: SceneOptions): Promise<Measured> {
  const sandbox = startOtherProcess<Order>(new URL("sandbox-process.ts", import.meta.url));
  const started = (await sandbox.ask({ name: "start", scene: { applications, elsewhere, renderMs } })) as Started;
  const [base, head] = [largeObjects("one side"), largeObjects("the other")];
  if (large) await sandbox.ask({ name: "render", application: RENDERED, base, head });
  const service = await startBuiltService(
    {
      server: { host: "127.0.0.1", port: 0, base_url: "http://svc.example.com" },
      deployer: { server_url: started.argocdUrl, token: started.argocdToken },
      hosta: {
        app_id: GITHUB_APP.id,
        private_key: started.githubKey,
        webhook_secret: WEBHOOK_SECRET,
        api_url: started.githubApiUrl,
        web_url: started.githubUrl,
        commit_status: true,
      },
      // Events of other repositories, which measure the answers, end at once.
      defaults: { allowed_repos: [REPOSITORY] },
      ...sections,
    },
    build,
    start,
  );
  await sandbox.ask({ name: "connect", url: `${service.url}/webhook/hosta`, secret: WEBHOOK_SECRET });
  return {
    sandbox,
    repositoryUrl: started.repositoryUrl,
    url: service.url,
    pid: service.child.pid ?? 0,
    async stop() {
      await service.stop();
      await sandbox.stop();
    },
  };
}

/** Resolves with the commit status once it says more than that the pull request is being planned. */
export async function statusOf(sandbox: OtherProcess<Order>, number: number): Promise<string> {
  for (;;) {
    const status = String(await sandbox.ask({ name: "status", number }));
    if (!/^(?:undefined|planning)$/.test(status)) return status;
    await delay(200);
  }
}
