import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import type { RolloutStore } from "../../src/core/ports/stores.js";
import type { HostId } from "../../src/names.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "./bot.js";
import { HookReceiver } from "./hook-receiver.js";
import { ownRedis, startReplica } from "./own-redis.js";
import { applicationResource, asYaml, changeOf, configMap } from "./resources.js";
import { cloneUrlOf, generatedApplication, names, runsShops, shopsResource } from "./sets.js";

const redis = ownRedis();
const SECRET = `whsec_${Buffer.alloc(32, "rollout").toString("base64")}`;
const EVENTS = ["rolled_out", "rollout_failed"];
const AUTO = { syncPolicy: { automated: { prune: true } } };
const AUTO_SYNCED: BotOptions["resources"] = () => ({ web: { spec: AUTO }, api: { spec: AUTO } });

/** Nobody but Argo CD changes anything here. */
async function start(host: HostId, more: Partial<BotOptions> = {}): Promise<Bot> {
  const bot = await startBot({ host, resources: AUTO_SYNCED, ...more });
  await bot.argocd.pollGit();
  return bot;
}

async function merge(bot: Bot, one: number): Promise<void> {
  await bot.forge.mergeByHand(REPOSITORY, one, "bo");
  await bot.idle();
}

/** Lets time go by, and svc look. */
async function look(bot: Bot, afterMs = 15_000): Promise<void> {
  bot.clock.advance(afterMs);
  await bot.service.follow();
  await bot.idle();
}

async function rollOut(bot: Bot): Promise<void> {
  await bot.argocd.pollGit();
  await look(bot);
}

const plan = (bot: Bot, one: number) => bot.answers(one).find((body) => body.includes("## svc Plan")) ?? "";
const failures = (bot: Bot, one: number) =>
  bot.answers(one).filter((body) => body.includes("## svc Failed after the merge"));
const lists = (bot: Bot) =>
  bot.argocd.requests.filter(({ query }) => String(query.fields).includes("status.operationState.phase")).length;

describe.each(HOSTS)("the rollout after a merge, on %s", (host) => {
  test("auto-synced applications are followed until they run the merged commit", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web", "api"]));
    const before = bot.answers(one).length;
    await merge(bot, one);
    expect(plan(bot, one)).toContain("0 of 2 applications rolled out");
    await look(bot);
    expect(plan(bot, one)).toMatch(/- ⏳ .*web.* \(`auto-synced`\) was not compared with `?[0-9a-f]{8}`? yet/);
    await bot.argocd.pollGit();
    bot.clock.advance(90_000);
    await look(bot);
    expect(bot.liveValue("web")).toBe("2");
    expect(plan(bot, one)).toMatch(
      /✅ \*\*After the merge\*\* as `[0-9a-f]{8}`, all 2 applications rolled out in 2 min\./,
    );
    expect(bot.answers(one)).toHaveLength(before);
    await look(bot, 60 * 60_000);
    expect(bot.answers(one)).toHaveLength(before);
    expect((await bot.stores.audit.list({ limit: 10, filter: { action: "rolled-out" } })).length).toBe(1);
  });

  test("a new application is waited for until Argo CD has it, a deleted one until it is gone, for one list per look", async () => {
    const bot = await start(host);
    const one = await bot.open({
      "argocd/shop.yaml": asYaml(bot.resourceOf("shop", { spec: AUTO })),
      "apps/shop/configmap.yaml": configMap("shop", { value: "1" }),
      "argocd/api.yaml": null,
    });
    await merge(bot, one);
    const earlier = lists(bot);
    await look(bot);
    expect(lists(bot) - earlier).toBe(1);
    expect(plan(bot, one)).toMatch(/- ⏳ .*shop.* \(`new`\) is not in Argo CD yet/);
    expect(plan(bot, one)).toMatch(/- ⏳ .*api.* \(`deleted`\) is still there/);
    bot.argocd.addApplication(bot.resourceOf("shop", { spec: AUTO }));
    bot.argocd.removeApplication("api");
    await rollOut(bot);
    expect(plan(bot, one)).toMatch(/- ✅ .*shop.* runs at [0-9a-f]{8}/);
    expect(plan(bot, one)).toMatch(/- ✅ .*api.* is gone/);
    expect(plan(bot, one)).toContain("all 2 applications rolled out in");
    const quiet = lists(bot);
    await look(bot);
    expect(lists(bot)).toBe(quiet);
    expect(failures(bot, one)).toEqual([]);
  });

  test("a failed sync is told in a comment of its own, once, and its repair in the plan", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web", "api"]));
    await merge(bot, one);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await rollOut(bot);
    expect(plan(bot, one)).toMatch(/- ⚠️ .*web.* could not be synced at [0-9a-f]{8}: `no room`/);
    expect(failures(bot, one)).toEqual([]);
    await look(bot, 2 * 60_000);
    await look(bot);
    expect(failures(bot, one)).toHaveLength(1);
    expect(failures(bot, one)[0]).toMatch(/- ❌ .*web.* could not be synced at [0-9a-f]{8}: `no room`/);
    expect(failures(bot, one)[0]).toContain("svc revert");
    expect(plan(bot, one)).toMatch(/❌ \*\*After the merge\*\* as `[0-9a-f]{8}`, `web` has not rolled out after/);
    const [entry] = await bot.stores.audit.list({ limit: 1, filter: { action: "rolled-out" } });
    expect(entry?.applications.map(({ outcome }) => outcome).sort()).toEqual(["failed", "reached"]);
  });

  test("another application that fails later is told in another comment, since nobody is notified of an edit", async () => {
    const bot = await start(host, { config: { defaults: { require_healthy: true } } });
    const one = await bot.open(changeOf(["web", "api"]));
    await merge(bot, one);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    bot.argocd.playHealth("api", [{ status: "Progressing" }]);
    await rollOut(bot);
    await look(bot, 2 * 60_000);
    expect(failures(bot, one)).toHaveLength(1);
    expect(failures(bot, one)[0]).toContain("1 application has not rolled out");
    bot.argocd.removeApplication("api");
    await look(bot);
    await look(bot, 2 * 60_000);
    await look(bot);
    expect(failures(bot, one)).toHaveLength(2);
    expect(failures(bot, one)[0]).toContain("1 application has not rolled out");
    expect(failures(bot, one)[1]).toContain("2 applications have not rolled out");
    expect(failures(bot, one)[1]).toMatch(/- ❌ .*api.* is not in Argo CD any more/);
  });

  test("a merge that is reported again, even days later, starts no second rollout and says nothing twice", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    await merge(bot, one);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await rollOut(bot);
    await look(bot, 2 * 60_000);
    const said = bot.answers(one);
    bot.clock.advance(3 * 24 * 60 * 60_000);
    await bot.stores.waiting.join(applicationName("api"), bot.ref(one));
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.stores.waiting.list()).toEqual([]);
    expect(await bot.stores.rollouts.list()).toEqual([]);
    expect(bot.answers(one)).toEqual(said);
  });

  test("one that must get healthy and does not in time has failed, with what Argo CD says", async () => {
    const bot = await start(host, { config: { defaults: { require_healthy: true }, after_merge: { timeout: "10m" } } });
    const one = await bot.open(changeOf(["web"]));
    await merge(bot, one);
    bot.argocd.playHealth("web", [{ status: "Progressing" }]);
    await rollOut(bot);
    expect(plan(bot, one)).toMatch(/- ⏳ .*web.* is synced at [0-9a-f]{8}, and Progressing/);
    await look(bot, 9 * 60_000);
    expect(failures(bot, one)).toEqual([]);
    await look(bot, 60_000);
    expect(failures(bot, one)).toHaveLength(1);
    expect(plan(bot, one)).toContain("`web` has not rolled out after 10 min");
  });

  test("one that is Degraded and gets healthy in time is rolled out", async () => {
    const bot = await start(host, { config: { defaults: { require_healthy: true } } });
    const one = await bot.open(changeOf(["web"]));
    await merge(bot, one);
    bot.argocd.playHealth("web", [{ status: "Degraded" }, { status: "Degraded" }, { status: "Healthy" }]);
    await rollOut(bot);
    expect(plan(bot, one)).toMatch(/- ⚠️ .*web.* is synced at [0-9a-f]{8}, and Degraded/);
    await look(bot, 60_000);
    await look(bot, 60_000);
    expect(plan(bot, one)).toContain("the application rolled out in");
    expect(failures(bot, one)).toEqual([]);
  });

  test("one that was Degraded at the merge already has until the time-out, and is told with that", async () => {
    const bot = await start(host, { config: { defaults: { require_healthy: true }, after_merge: { timeout: "10m" } } });
    const earlier = await bot.open(changeOf(["web"]));
    await merge(bot, earlier);
    bot.argocd.playHealth("web", [{ status: "Degraded" }]);
    await rollOut(bot);
    await look(bot, 2 * 60_000);
    expect(failures(bot, earlier)[0]).toMatch(/- ❌ .*web.* is synced at [0-9a-f]{8}, and Degraded\n/);
    const one = await bot.open({ "apps/web/configmap.yaml": configMap("web", { value: "3" }) });
    await merge(bot, one);
    await rollOut(bot);
    await look(bot, 2 * 60_000);
    await look(bot, 2 * 60_000);
    expect(failures(bot, one)).toEqual([]);
    expect(plan(bot, one)).toMatch(/- ⏳ .*web.* is synced at [0-9a-f]{8}, and Degraded, as before the merge/);
    await look(bot, 6 * 60_000);
    expect(failures(bot, one)[0]).toMatch(/- ❌ .*web.* and Degraded, as before the merge/);
  });

  test("one that is deleted or renamed meanwhile is named with that", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    await merge(bot, one);
    await look(bot);
    bot.argocd.removeApplication("web");
    await look(bot);
    await look(bot, 2 * 60_000);
    expect(failures(bot, one)[0]).toMatch(
      /- ❌ .*web.* is not in Argo CD any more: it was deleted or renamed after the merge/,
    );
  });

  test("a head that nobody approved is followed, and named as deployed without the approval", async () => {
    const bot = await start(host, { config: { defaults: { require_approval: true } } });
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    await bot.approve(two);
    await merge(bot, one);
    await merge(bot, two);
    await rollOut(bot);
    expect(plan(bot, one)).toContain("without the approval that its rules require");
    expect(plan(bot, one)).toContain("the application rolled out");
    expect(plan(bot, two)).not.toContain("without the approval");
    const [entry] = await bot.stores.audit.list({ limit: 1, filter: { change: bot.ref(one), action: "rolled-out" } });
    expect(entry?.reason).toContain("without the required approval");
  });

  test("what nothing syncs by itself is named with who has to", async () => {
    const bot = await start(host, { resources: () => ({ web: { spec: AUTO } }) });
    const one = await bot.open(changeOf(["web", "api"]));
    await merge(bot, one);
    await rollOut(bot);
    expect(plan(bot, one)).toMatch(
      /- ✋ .*api.* \(`not deployed before the merge`\) has no auto-sync: whoever may sync it in Argo CD has to do so/,
    );
    expect(plan(bot, one)).toContain("`api` has to be synced in Argo CD by hand.");
    expect(failures(bot, one)).toEqual([]);
  });

  test("a later commit of the branch that holds the merged one is as good", async () => {
    const bot = await start(host);
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    await merge(bot, one);
    await merge(bot, two);
    const before = lists(bot);
    await rollOut(bot);
    expect(lists(bot) - before).toBe(1);
    expect(plan(bot, one)).toContain("the application rolled out");
    expect(plan(bot, two)).toContain("the application rolled out");
  });

  test("a child of an auto-synced parent and what a set generates are followed", async () => {
    const child = (repoURL: string, path: string) =>
      asYaml(applicationResource("child", { repoURL, path, namespace: "argocd", spec: AUTO }));
    const destination = { server: "https://kubernetes.default.svc", namespace: "argocd" };
    const bot = await start(host, {
      applications: ["root"],
      resources: () => ({ root: { spec: { ...AUTO, destination } } }),
      files: (url) => ({
        "apps/root/configmap.yaml": null,
        "apps/root/child.yaml": child(url, "apps/child"),
        "apps/root/set.yaml": asYaml(shopsResource(url, names("de"), { namespace: "argocd", spec: AUTO })),
        "apps/child/configmap.yaml": configMap("child", { value: "1" }),
        "apps/other/configmap.yaml": configMap("child", { value: "2" }),
        "shops/de/configmap.yaml": configMap("de", { value: "1" }),
        "shops/it/configmap.yaml": configMap("it", { value: "1" }),
      }),
    });
    const url = bot.forge.cloneUrl(REPOSITORY);
    const one = await bot.open({
      "apps/root/child.yaml": child(url, "apps/other"),
      "apps/root/set.yaml": asYaml(shopsResource(url, names("it"), { namespace: "argocd", spec: AUTO })),
    });
    await bot.approve(one);
    await merge(bot, one);
    await look(bot);
    expect(plan(bot, one)).toMatch(/- ⏳ .*child/);
    expect(plan(bot, one)).toMatch(/- ⏳ .*shop-it/);
    for (let round = 0; round < 3; round += 1) await rollOut(bot);
    expect(plan(bot, one)).toMatch(/- ✅ .*child.* runs at/);
    expect(plan(bot, one)).toMatch(/- ✅ .*shop-it.* \(`generated by shops`\) runs at/);
    expect(plan(bot, one)).toMatch(/- ✅ .*shop-de.* \(`generated by shops`\) is gone/);
  });

  test("a new definition that renders the same is rolled out once it is there, not when time is up", async () => {
    const child = (url: string, more: object = {}) => {
      const spec = { syncPolicy: { ...AUTO.syncPolicy, ...more } };
      return asYaml(applicationResource("child", { repoURL: url, namespace: "argocd", spec }));
    };
    const destination = { server: "https://kubernetes.default.svc", namespace: "argocd" };
    const bot = await start(host, {
      applications: ["root"],
      resources: () => ({ root: { spec: { ...AUTO, destination } } }),
      files: (url) => ({
        "apps/root/configmap.yaml": null,
        "apps/root/child.yaml": child(url),
        "apps/child/configmap.yaml": configMap("child", { value: "1" }),
      }),
    });
    const one = await bot.open({
      "apps/root/child.yaml": child(bot.forge.cloneUrl(REPOSITORY), { syncOptions: ["CreateNamespace=true"] }),
    });
    await bot.approve(one);
    await merge(bot, one);
    bot.argocd.failNextSync("root", { phase: "Failed", message: "no room" });
    await rollOut(bot);
    expect(plan(bot, one)).toMatch(/- ⏳ .*child.* does not have its new definition yet/);
    await bot.argocd.deploy("root");
    await rollOut(bot);
    expect(plan(bot, one)).toMatch(/all \d applications rolled out/);
  });

  test("what a set's policy keeps is not waited for", async () => {
    const set = { namespace: "argocd", spec: AUTO, syncPolicy: { applicationsSync: "create-update" } };
    const resource = (url: string, ...all: readonly string[]) => shopsResource(url, names(...all), set);
    const bot = await start(host, {
      applications: ["web"],
      files: (url) => ({
        "sets/shops.yaml": asYaml(resource(url, "de")),
        "shops/de/configmap.yaml": configMap("de", { value: "1" }),
        "shops/it/configmap.yaml": configMap("it", { value: "1" }),
      }),
      prepare: (world, forge) => {
        const repoURL = cloneUrlOf(forge);
        runsShops(world, resource(repoURL, "de"), [generatedApplication("de", { repoURL, spec: AUTO })]);
      },
    });
    const url = bot.forge.cloneUrl(REPOSITORY);
    const one = await bot.open({ "sets/shops.yaml": asYaml(resource(url, "it")) });
    expect(plan(bot, one)).toContain("its policy create-update keeps removed applications");
    await merge(bot, one);
    expect(plan(bot, one)).toMatch(/- ⏳ .*shop-it/);
    expect(plan(bot, one)).not.toMatch(/- ⏳ .*shop-de/);
  });

  test("what the policy of a set below an auto-synced parent keeps is not waited for to go", async () => {
    const set = { namespace: "argocd", spec: AUTO, syncPolicy: { applicationsSync: "create-update" } };
    const resource = (url: string, ...all: readonly string[]) => asYaml(shopsResource(url, names(...all), set));
    const destination = { server: "https://kubernetes.default.svc", namespace: "argocd" };
    const bot = await start(host, {
      applications: ["root"],
      resources: () => ({ root: { spec: { ...AUTO, destination } } }),
      files: (url) => ({
        "apps/root/configmap.yaml": null,
        "apps/root/shops.yaml": resource(url, "de", "it"),
        "shops/de/configmap.yaml": configMap("de", { value: "1" }),
        "shops/it/configmap.yaml": configMap("it", { value: "1" }),
      }),
      prepare: async ({ argocd }) => {
        await argocd.deploy("root");
        await argocd.deploy("shop-de");
        await argocd.deploy("shop-it");
      },
    });
    const one = await bot.open({ "apps/root/shops.yaml": resource(bot.forge.cloneUrl(REPOSITORY), "it") });
    await merge(bot, one);
    await bot.argocd.deploy("root");
    await rollOut(bot);
    expect(plan(bot, one)).toContain("the application rolled out");
    expect(bot.argocd.application("shop-de")).toBeDefined();
  });

  test("a definition that a set's policy keeps from running applications is not waited for", async () => {
    const resource = (url: string, ...all: readonly string[]) => {
      const path = all.length === 1 ? "shops/de" : "shops/{{ .name }}";
      return shopsResource(url, names(...all), { spec: AUTO, path, syncPolicy: { applicationsSync: "create-only" } });
    };
    const bot = await start(host, {
      applications: ["web"],
      files: (url) => ({
        "sets/shops.yaml": asYaml(resource(url, "fr")),
        "shops/de/configmap.yaml": configMap("de", { value: "1" }),
        "shops/fr/configmap.yaml": configMap("fr", { value: "1" }),
        "shops/it/child.yaml": asYaml(
          applicationResource("child", { repoURL: url, path: "apps/web", namespace: "argocd" }),
        ),
      }),
      prepare: (world, forge) => {
        const repoURL = cloneUrlOf(forge);
        const running = generatedApplication("fr", { repoURL, path: "shops/de", spec: AUTO });
        runsShops(world, resource(repoURL, "fr"), [running]);
      },
    });
    const url = bot.forge.cloneUrl(REPOSITORY);
    const one = await bot.open({ "sets/shops.yaml": asYaml(resource(url, "fr", "it")) });
    expect(plan(bot, one)).toContain("its policy create-only leaves existing applications as they are");
    await merge(bot, one);
    expect(plan(bot, one)).toMatch(/- ⏳ .*shop-it/);
    expect(plan(bot, one)).toMatch(/- ⏳ .*child/);
    expect(plan(bot, one)).not.toMatch(/- ⏳ .*shop-fr/);
  });

  test("a new process goes on, and says nothing twice", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    await merge(bot, one);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await rollOut(bot);
    await bot.restart();
    await look(bot, 2 * 60_000);
    await bot.restart();
    await look(bot);
    expect(failures(bot, one)).toHaveLength(1);
    expect(plan(bot, one)).toContain("`web` has not rolled out after");
    expect((await bot.stores.audit.list({ limit: 10, filter: { action: "rolled-out" } })).length).toBe(1);
  });

  test("environments and receivers follow", async () => {
    const receiver = await HookReceiver.start();
    try {
      const bot = await start(host, {
        config: {
          defaults: { require_approval: true },
          [host]: { [host === "hosta" ? "deployments" : "environments"]: true },
          notifications: [{ name: "records", url: receiver.url, format: "json", secret: SECRET, events: EVENTS }],
        },
      });
      const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
      await merge(bot, one);
      await look(bot);
      const states = () => bot.forge.deployments.seen(REPOSITORY).map((seen) => [seen.environment, seen.states.at(-1)]);
      expect(states()).toEqual([["in-cluster/guestbook/web", host === "hosta" ? "in_progress" : "running"]]);
      await rollOut(bot);
      expect(states()).toEqual([["in-cluster/guestbook/web", "success"]]);
      await merge(bot, two);
      bot.argocd.failNextSync("api", { phase: "Failed", message: "no room" });
      await rollOut(bot);
      await look(bot, 2 * 60_000);
      const failed = ["in-cluster/guestbook/api", host === "hosta" ? "failure" : "failed"];
      expect(states()).toContainEqual(failed);
      await receiver.until(2);
      const bodies = receiver.messages.map(({ body }) => JSON.parse(body) as { type: string; data: object });
      expect(bodies.map(({ type }) => type)).toEqual(["rolled_out", "rollout_failed"]);
      expect(bodies[0]?.data).toMatchObject({
        unapproved: true,
        applications: [{ name: "web", outcome: "succeeded" }],
      });
      expect(bodies[1]?.data).toMatchObject({ unapproved: true, applications: [{ name: "api", outcome: "failed" }] });
    } finally {
      await receiver.stop();
    }
  });

  test("an environment does not stay in progress for what nothing syncs by itself", async () => {
    const bot = await start(host, {
      resources: () => ({ web: { spec: AUTO } }),
      config: { [host]: { [host === "hosta" ? "deployments" : "environments"]: true } },
    });
    const one = await bot.open(changeOf(["web", "api"]));
    await merge(bot, one);
    await look(bot);
    const last = (name: string) =>
      bot.forge.deployments
        .seen(REPOSITORY)
        .find((seen) => seen.environment.endsWith(`/${name}`))
        ?.states.at(-1);
    expect(last("api")).toBe(host === "hosta" ? "in_progress" : "running");
    await rollOut(bot);
    expect(plan(bot, one)).toContain("`api` has to be synced in Argo CD");
    expect([last("web"), last("api")]).toEqual(["success", host === "hosta" ? "failure" : "failed"]);
  });

  test("one whose repository is gone, or not served any more, is not followed for ever", async () => {
    const allowed: string[] = [];
    const bot = await start(host, { config: () => ({ defaults: { allowed_repos: allowed } }) });
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    for (const number of [one, two]) await merge(bot, number);
    const gone = { path: new RegExp(`/${one}$`), fault: { kind: "status", status: 404 } } as const;
    bot.forge.faults.add(gone);
    await look(bot, 15_000);
    const followed = async () => (await bot.stores.rollouts.list()).map(({ change }) => change.number);
    expect(await followed()).toEqual([one, two]);
    await look(bot, 60 * 60_000);
    expect(await followed()).toEqual([]);
    const three = await bot.open(changeOf(["web"], "3"));
    await merge(bot, three);
    expect(await followed()).toEqual([three]);
    allowed.push("acme/other");
    await bot.restart();
    await look(bot);
    expect(await followed()).toEqual([]);
  });

  test("one that failed where the host takes no comment, as in an archived repository, is not followed for ever", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    await merge(bot, one);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    const refused = { kind: "status", status: 403, body: "{}" } as const;
    bot.forge.faults.add({ method: "POST", path: /\/(comments|notes)$/, fault: refused });
    await rollOut(bot);
    await look(bot, 60 * 60_000);
    await look(bot);
    expect(await bot.stores.rollouts.list()).toEqual([]);
    expect((await bot.stores.audit.list({ limit: 10, filter: { action: "rolled-out" } })).length).toBe(1);
  });

  test("receivers and the audit trail are told how one ended whose repository is gone", async () => {
    const receiver = await HookReceiver.start();
    try {
      const sent = { name: "records", url: receiver.url, format: "json", secret: SECRET, events: EVENTS };
      const bot = await start(host, { config: { notifications: [sent] } });
      const one = await bot.open(changeOf(["web"]));
      await merge(bot, one);
      bot.forge.faults.add({ path: new RegExp(`/${one}$`), fault: { kind: "status", status: 404 } });
      for (const ms of [60 * 60_000, 15_000]) await look(bot, ms);
      expect(await bot.stores.audit.list({ limit: 10, filter: { action: "rolled-out" } })).toMatchObject([
        { who: "svc", applications: [{ application: "web", outcome: "failed" }] },
      ]);
      await receiver.until(1);
      const bodies = receiver.messages.map(({ body }) => JSON.parse(body) as { type: string; data: object });
      expect(bodies).toEqual([
        expect.objectContaining({
          type: "rollout_failed",
          data: expect.objectContaining({ applications: [{ name: "web", outcome: "failed" }] }),
        }),
      ]);
    } finally {
      await receiver.stop();
    }
  });

  test("with after_merge.timeout off nothing is followed", async () => {
    const bot = await start(host, { config: { after_merge: { timeout: "off" } } });
    const one = await bot.open(changeOf(["web"]));
    await merge(bot, one);
    expect(await bot.stores.rollouts.list()).toEqual([]);
    expect(plan(bot, one)).not.toContain("After the merge");
  });

  test("two replicas look as one: an application that fails is told once", async () => {
    const options: BotOptions = { host, resources: AUTO_SYNCED, stores: () => redis.stores() };
    const bot = await start(host, options);
    const other = await startReplica(bot, options);
    try {
      const one = await bot.open(changeOf(["web", "api"]));
      await merge(bot, one);
      bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
      await bot.argocd.pollGit();
      for (const ms of [15_000, 120_000, 15_000]) {
        bot.clock.advance(ms);
        await Promise.all([bot.service.follow(), other.follow()]);
        await bot.idle();
        await other.idle();
      }
      expect(failures(bot, one)).toHaveLength(1);
      expect(plan(bot, one)).toContain("`web` has not rolled out after");
      expect(await bot.stores.audit.list({ limit: 10, filter: { action: "rolled-out" } })).toHaveLength(1);
    } finally {
      await other.close();
    }
  });

  test("what was told and not stored is not told again", async () => {
    const stores = { fails: false };
    const bot = await start(host, {
      stores(clock) {
        const real = createMemoryStores(clock);
        const rollouts: RolloutStore = {
          find: (change) => real.rollouts.find(change),
          list: () => real.rollouts.list(),
          save: (rollout, now) =>
            stores.fails ? Promise.reject(new StoreUnavailable("away")) : real.rollouts.save(rollout, now),
        };
        return { ...real, rollouts };
      },
    });
    const one = await bot.open(changeOf(["web"]));
    await merge(bot, one);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await rollOut(bot);
    stores.fails = true;
    await look(bot, 2 * 60_000);
    await look(bot);
    stores.fails = false;
    expect((await bot.stores.rollouts.list()).map(({ ended }) => ended)).toEqual([undefined]);
    await look(bot);
    expect((await bot.stores.rollouts.list()).map(({ ended }) => ended)).not.toContain(undefined);
    expect(failures(bot, one)).toHaveLength(1);
    expect(await bot.stores.audit.list({ limit: 10, filter: { action: "rolled-out" } })).toHaveLength(1);
  });
});
