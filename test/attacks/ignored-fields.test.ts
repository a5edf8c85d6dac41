import { describe, expect, test } from "@jest/globals";
import type { Compute } from "../../src/core/ports/compute.js";
import { HOSTS, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { section } from "../scenarios/plan-comment.js";
import { applicationResource, asYaml } from "../scenarios/resources.js";
import { sharedPool } from "../workers/shared-pool.js";

const RESPECT = { syncPolicy: { syncOptions: ["RespectIgnoreDifferences=true"] } };
const IGNORED = { ignoreDifferences: [{ kind: "ConfigMap", jsonPointers: ["/data/value"] }] };
const FILE = "apps/web/configmap.yaml";

function configMap(value: string, metadata: object = {}): string {
  return asYaml({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", ...metadata }, data: { value } });
}

const start = (host: Bot["host"], spec: object, more: Partial<BotOptions> = {}) =>
  startBot({
    host,
    applications: ["web"],
    config: { deployer: { diff_mode: "branch", server_dry_run: "auto" } },
    resources: () => ({ web: { spec } }),
    files: () => ({ [FILE]: configMap("1") }),
    ...more,
  });

/** The plan counts the change, and says at most that a sync may leave it. */
function expectCounted(bot: Bot, number: number, said: string | undefined): void {
  const web = section(bot.lastComment(number), "web");
  expect(web).toContain("**Changes:** 0 to create, 1 to update");
  expect(web).not.toContain("Left as is");
  expect(web).not.toContain("# Ignored by");
  if (said === undefined) expect(web).not.toContain("gnored by ignoreDifferences");
  else expect(web).toContain(`# Perhaps ignored by ignoreDifferences: a sync may leave ${said}.\n@@`);
}

describe.each(HOSTS)("a change that hides behind ignoreDifferences on %s", (host) => {
  test("an object that the cluster does not have is created with its ignored fields, which count", async () => {
    const bot = await start(host, { ...IGNORED, ...RESPECT });
    const one = await bot.open({ [FILE]: configMap("2") });
    expectCounted(bot, one, "/data/value");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.argocd.liveObject("ConfigMap", "guestbook", "web")).toMatchObject({ data: { value: "2" } });
  });

  test.each<[string, object, object]>([
    ["a rule", RESPECT, IGNORED],
    ["the option", IGNORED, RESPECT],
  ])("%s that comes with the change hides nothing", async (_, before, added) => {
    let url = "";
    const bot = await start(host, before, {
      resources: (repoURL) => {
        url = repoURL;
        return { web: { spec: before } };
      },
    });
    await bot.argocd.deploy("web");
    const definition = applicationResource("web", { repoURL: url, spec: { ...before, ...added } });
    const one = await bot.open({ [FILE]: configMap("2"), "argocd/web.yaml": asYaml(definition) });
    expectCounted(bot, one, "/data/value");
  });

  test("what svc cannot evaluate is told as possible, and counts", async () => {
    const rules = [{ kind: "ConfigMap", jqPathExpressions: [".data.other"], managedFieldsManagers: ["somebody"] }];
    const bot = await start(host, { ignoreDifferences: rules, ...RESPECT });
    await bot.argocd.deploy("web");
    const one = await bot.open({ [FILE]: configMap("2") });
    expectCounted(bot, one, "what its jqPathExpressions select and what its managedFieldsManagers select");
  });

  test("an object that a sync replaces counts, and so does one that Kubernetes was not asked about", async () => {
    const replaced = { annotations: { "argocd.argoproj.io/sync-options": "Replace=true" } };
    const bot = await start(host, { ...IGNORED, ...RESPECT }, { files: () => ({ [FILE]: configMap("1", replaced) }) });
    await bot.argocd.deploy("web");
    const one = await bot.open({ [FILE]: configMap("2", replaced) });
    expect(section(bot.lastComment(one), "web")).toContain("**Changes:** 0 to create, 1 to update");
    expect(bot.lastComment(one)).not.toContain("Left as is");

    const quiet = await start(host, { ...IGNORED, ...RESPECT }, { config: { deployer: { diff_mode: "branch" } } });
    await quiet.argocd.deploy("web");
    const two = await quiet.open({ [FILE]: configMap("2") });
    expectCounted(quiet, two, "/data/value");
  });

  test("a path cannot add lines to the plan", async () => {
    const rules = [{ kind: "ConfigMap", jsonPointers: ["/data/a\n# Ignored by ignoreDifferences: a sync leaves it."] }];
    const key = "a\n# Ignored by ignoreDifferences: a sync leaves it.";
    const map = (value: string) =>
      asYaml({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web" }, data: { [key]: value } });
    const bot = await start(host, { ignoreDifferences: rules, ...RESPECT }, { files: () => ({ [FILE]: map("1") }) });
    const one = await bot.open({ [FILE]: map("2") });
    expect(section(bot.lastComment(one), "web")).not.toMatch(/^# Ignored/m);
  });

  test("rules of many fields are compared beside the thread that answers everybody, however small the objects are", async () => {
    const pool = sharedPool();
    const tasks: string[] = [];
    const compute = {
      run(...asked: Parameters<Compute["run"]>) {
        tasks.push(asked[0].name);
        return pool.run(...asked);
      },
    } as Compute;
    const rule = { kind: "ConfigMap", jsonPointers: Array.from({ length: 2000 }, (_, at) => `/data/x${at}`) };
    const bot = await start(host, { ignoreDifferences: [rule], ...RESPECT }, { compute });
    await bot.open({ [FILE]: configMap("2") });
    expect(tasks).toContain("diff");
  });

  test("rules of many fields and a very long name are compared in no time, and in little memory", async () => {
    let definition = applicationResource("web", { repoURL: "" });
    const bot = await start(host, RESPECT, {
      resources: (repoURL) => {
        const rule = { kind: "ConfigMap", name: "a".repeat(120_000), jsonPointers: Array<string>(20_000).fill("/a") };
        definition = applicationResource("web", { repoURL, spec: { ignoreDifferences: [rule], ...RESPECT } });
        return { web: { spec: RESPECT } };
      },
    });
    await bot.argocd.deploy("web");
    const before = performance.now();
    const one = await bot.open({ [FILE]: configMap("2"), "argocd/web.yaml": JSON.stringify(definition) });
    expect(performance.now() - before).toBeLessThan(20_000);
    expectCounted(bot, one, undefined);
  });
});
