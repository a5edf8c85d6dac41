/**
 * Measures the memory of the built service while it plans 500 of the 10,000 applications that Argo CD lists:
 * `tsx bench/memory.ts [--listed 10000] [--planned 500] [--build dist]`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { appKeys, GITHUB_APP, startSandbox } from "../sandbox/world.js";
import { STATUS_NAME } from "../src/names.js";
import { memoryOf, startBuiltService } from "./built-service.js";
import { applicationOf, changedValues, chartRepository, manifestsOf } from "./charts.js";
import { WEBHOOK_SECRET } from "./signed-events.js";

const REPOSITORY = "acme/deploy";
const PLANNING = "planning";
const ELSEWHERE = "https://git.example.com/acme/other.git";

const { values: options } = parseArgs({
  options: {
    listed: { type: "string", default: "10000" },
    planned: { type: "string", default: "500" },
    build: { type: "string", default: "dist" },
  },
});
const LISTED = Number(options.listed);
const PLANNED = Number(options.planned);

async function main(): Promise<void> {
  const world = await startSandbox({ github: true });
  const { github: forge, argocd, argocdToken } = world;
  if (forge === undefined) throw new Error("the sandbox has no code host");
  const names = Array.from({ length: LISTED }, (_, index) => `app-${index}`);
  const planned = names.slice(0, PLANNED);
  const cloneUrl = `${forge.url}/${REPOSITORY}.git`;
  await forge.createRepository(REPOSITORY, chartRepository(planned, cloneUrl));
  forge.setAccess(REPOSITORY, "ana", "write");
  for (const name of planned) argocd.addApplication(applicationOf(name, cloneUrl));
  const [first = ""] = planned;
  await argocd.deploy(first);
  const tip = argocd.application(first)?.status.sync.revision;
  if (typeof tip !== "string") throw new Error(`${first} was not compared`);
  for (const name of planned) {
    argocd.setManifests(name, "*", manifestsOf(name, 2));
    argocd.setManifests(name, tip, manifestsOf(name, 1));
  }
  for (const name of names.slice(PLANNED)) argocd.addApplication(applicationOf(name, ELSEWHERE));
  const service = await startBuiltService(
    {
      server: { host: "127.0.0.1", port: 0, base_url: "http://svc.example.com" },
      deployer: { server_url: argocd.url, token: argocdToken },
      hosta: {
        app_id: GITHUB_APP.id,
        private_key: appKeys().privateKey,
        webhook_secret: WEBHOOK_SECRET,
        api_url: forge.apiUrl,
        web_url: forge.url,
      },
    },
    options.build,
  );
  const pid = service.child.pid ?? 0;
  forge.connect({ url: `${service.url}/webhook/hosta`, secret: WEBHOOK_SECRET });
  const before = await memoryOf(pid);
  const number = await forge.open({ repository: REPOSITORY, by: "ana", changes: changedValues(planned, 2) });
  const { headRevision } = forge.changeRequest(REPOSITORY, number);
  // The commit status is set after the last part of the comment.
  const told = () => forge.statuses(REPOSITORY, headRevision).findLast(({ name }) => name === STATUS_NAME);
  while ((told()?.description ?? PLANNING) === PLANNING) await delay(100);
  const after = await memoryOf(pid);
  const text = forge
    .changeRequest(REPOSITORY, number)
    .comments.map(({ body }) => body)
    .join("\n");
  const unseen = planned.filter((name) => !text.includes(`\`${name}\``));
  process.stdout.write(
    [
      `Memory of the service (Node ${process.versions.node}); Argo CD lists ${LISTED} applications, ${PLANNED} are planned`,
      `The status says: ${told()?.description ?? ""}`,
      `Applications that the comments do not name: ${unseen.length}`,
      "",
      "| | MiB resident |",
      "|---|--:|",
      `| started | ${before.now.toFixed(0)} |`,
      `| after the plan | ${after.now.toFixed(0)} |`,
      `| highest | ${after.highest.toFixed(0)} |`,
      "",
    ].join("\n"),
  );
  await service.stop();
  await world.stop();
}

await main();
