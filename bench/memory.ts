import { setTimeout as delay } from "node:timers/promises";
import { appKeys, GITHUB_APP, startSandbox } from "../sandbox/world.js";
import { memoryOf, startBuiltService } from "./built-service.js";
import { applicationOf, changedValues, chartRepository, manifestsOf } from "./charts.js";

const SECRET = "bench-webhook-secret";
const REPOSITORY = "acme/deploy";
const LISTED = 10_000;
const PLANNED = 500;

/** The memory of the built service while it plans 500 of the 10,000 applications that Argo CD lists. */
async function main(): Promise<void> {
  const world = await startSandbox({ github: true });
  const { github: forge, argocd, argocdToken } = world;
  if (forge === undefined) throw new Error("the sandbox has no code host");
  const names = Array.from({ length: LISTED }, (_, index) => `app-${index}`);
  const planned = names.slice(0, PLANNED);
  const cloneUrl = forge.cloneUrl(REPOSITORY);
  await forge.createRepository(REPOSITORY, chartRepository(planned, cloneUrl));
  forge.setAccess(REPOSITORY, "ana", "write");
  for (const name of names) {
    argocd.addApplication(applicationOf(name, planned.includes(name) ? cloneUrl : "https://git.example.com/other.git"));
  }
  for (const name of planned) argocd.setManifests(name, "*", manifestsOf(name, 2));
  const service = await startBuiltService({
    server: { host: "127.0.0.1", port: 0, log_level: "info", base_url: "http://svc.example.com" },
    deployer: { server_url: argocd.url, token: argocdToken },
    hosta: {
      app_id: GITHUB_APP.id,
      private_key: appKeys().privateKey,
      webhook_secret: SECRET,
      api_url: forge.apiUrl,
      web_url: forge.url,
    },
  });
  const pid = service.child.pid ?? 0;
  forge.connect({ url: `${service.url}/webhook/hosta`, secret: SECRET });
  const before = await memoryOf(pid);
  const number = await forge.open({ repository: REPOSITORY, by: "ana", changes: changedValues(planned, 2) });
  const comments = () => forge.changeRequest(REPOSITORY, number).comments;
  while (comments().length === 0) await delay(100);
  const after = await memoryOf(pid);
  console.log(`Memory of the service (Node ${process.versions.node}); Argo CD lists ${LISTED} applications\n`);
  console.log("| | MiB resident |\n|---|--:|");
  console.log(`| started | ${before.now.toFixed(0)} |`);
  console.log(`| after a plan of ${PLANNED} | ${after.now.toFixed(0)} |`);
  console.log(`| highest | ${after.highest.toFixed(0)} |`);
  await service.stop();
  await world.stop();
}

await main();
