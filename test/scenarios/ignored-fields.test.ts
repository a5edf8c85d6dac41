import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot, type Bot, type BotOptions } from "./bot.js";
import { section } from "./plan-comment.js";
import { asYaml, deployment } from "./resources.js";

const REPLICAS = { group: "apps", kind: "Deployment", jsonPointers: ["/spec/replicas"] };
const RESPECTED = { syncPolicy: { syncOptions: ["RespectIgnoreDifferences=true"] } };

/** An application that is deployed with 2 replicas, of which somebody has made 7. */
async function scaled(options: BotOptions, rule: object = REPLICAS): Promise<Bot> {
  const bot = await startBot({
    config: { deployer: { server_dry_run: "auto" } },
    resources: () => ({ web: { spec: { ignoreDifferences: [rule], ...RESPECTED } } }),
    files: () => ({ "apps/web/deployment.yaml": deployment(2) }),
    ...options,
  });
  await bot.argocd.deploy("web");
  const live = bot.argocd.liveObject("Deployment", "guestbook", "web");
  bot.argocd.putLiveObject({ ...live, spec: { ...(live?.spec as object), replicas: 7 } });
  return bot;
}

describe.each(HOSTS)("fields that a sync leaves, in diff_mode: branch, on %s", (host) => {
  test.each([
    ["a JSON pointer", REPLICAS],
    [
      "a jq expression, which Argo CD evaluates",
      { ...REPLICAS, jsonPointers: [], jqPathExpressions: [".spec.replicas"] },
    ],
  ])("a change of one alone is shown, marked and not counted, by %s", async (_, rule) => {
    const bot = await scaled({ host }, rule);
    const one = await bot.open({ "apps/web/deployment.yaml": deployment(5) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain(
      "**Changes:** 0 to create, 0 to update\n\n**Left as is:** 1 that no sync changes; the diff says why\n",
    );
    expect(web).toContain(
      "# update: apps/Deployment guestbook/web\n# Ignored by ignoreDifferences: a sync leaves it.\n@@",
    );
    expect(web).toContain("-  replicas: 2\n+  replicas: 5");
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.expectChanges("sync web");
    await bot.approve(one, "bo");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.argocd.liveObject("Deployment", "guestbook", "web")).toMatchObject({ spec: { replicas: 7 } });
  });

  test("beside another change it is named, and the object counts", async () => {
    const bot = await scaled({ host });
    const one = await bot.open({ "apps/web/deployment.yaml": deployment(5, "web:2") });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 0 to create, 1 to update");
    expect(web).toContain("# Ignored by ignoreDifferences: a sync leaves /spec/replicas.\n@@");
    expect(web).not.toContain("Left as is");
  });

  test("a change of them alone may be left by ApplyOutOfSyncOnly, as it counts as none; beside another one it is written", async () => {
    const spec = { ignoreDifferences: [REPLICAS], syncPolicy: { syncOptions: ["ApplyOutOfSyncOnly=true"] } };
    const bot = await scaled({ host, resources: () => ({ web: { spec } }) });
    const one = await bot.open({ "apps/web/deployment.yaml": deployment(5) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 0 to create, 1 to update");
    expect(web).toContain("# Perhaps ignored by ignoreDifferences: a sync may leave /spec/replicas.\n@@");
    await bot.push(one, { "apps/web/deployment.yaml": deployment(5, "web:2") });
    expect(section(bot.lastComment(one), "web")).not.toContain("gnored by ignoreDifferences");
  });

  test.each([
    ["takes the sync option away", { ignoreDifferences: [REPLICAS] }, true],
    ["takes a rule away", { ignoreDifferences: [], ...RESPECTED }, true],
    ["adds a rule", { ignoreDifferences: [{ ...REPLICAS, name: "x" }, REPLICAS], ...RESPECTED }, false],
    [
      "adds a field to a rule",
      {
        ignoreDifferences: [{ ...REPLICAS, jsonPointers: ["/spec/paused", "/spec/replicas"] }],
        ...RESPECTED,
      },
      false,
    ],
  ])(
    "a definition that %s: the plan says whether a sync writes ignored fields of all objects",
    async (_, spec, told) => {
      const bot = await scaled({ host });
      const one = await bot.open({ "argocd/web.yaml": asYaml(bot.resourceOf("web", { spec })) });
      expect(section(bot.lastComment(one), "web").includes("- Overwrites ignored fields, also of objects")).toBe(told);
      bot.expectChanges("update web", "sync web");
      await bot.comment(one, "svc sync");
      const replicas = told ? 2 : 7;
      expect(bot.argocd.liveObject("Deployment", "guestbook", "web")).toMatchObject({ spec: { replicas } });
    },
  );

  test("a definition that has a sync apply also what does not change: the plan says what it writes", async () => {
    const skipping = (...more: readonly string[]) => ({
      syncPolicy: { syncOptions: ["ApplyOutOfSyncOnly=true", ...more] },
    });
    const spec = { ignoreDifferences: [REPLICAS], ...skipping() };
    const bot = await scaled({ host, resources: () => ({ web: { spec } }) });
    const taken = { ignoreDifferences: [REPLICAS], syncPolicy: { syncOptions: [] } };
    const one = await bot.open({ "argocd/web.yaml": asYaml(bot.resourceOf("web", { spec: taken })) });
    expect(section(bot.lastComment(one), "web")).toContain("- Overwrites ignored fields, also of objects");
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.argocd.liveObject("Deployment", "guestbook", "web")).toMatchObject({ spec: { replicas: 2 } });
    const replaced = await startBot({ host, resources: () => ({ web: { spec: skipping("Replace=true") } }) });
    await replaced.argocd.deploy("web");
    const whole = { syncPolicy: { syncOptions: ["Replace=true"] } };
    const two = await replaced.open({ "argocd/web.yaml": asYaml(replaced.resourceOf("web", { spec: whole })) });
    expect(section(replaced.lastComment(two), "web")).toContain("- Overwrites every object whole");
  });

  test("without the sync option a sync writes it, and nothing is marked", async () => {
    const spec = { ignoreDifferences: [REPLICAS] };
    const bot = await scaled({ host, resources: () => ({ web: { spec } }) });
    const one = await bot.open({ "apps/web/deployment.yaml": deployment(5) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 0 to create, 1 to update");
    expect(web).not.toContain("gnored by ignoreDifferences");
  });
});
