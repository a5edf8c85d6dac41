import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, nameOn, startBot, type Bot } from "../scenarios/bot.js";
import { applicationResource, asYaml, configMap, type ApplicationOptions } from "../scenarios/resources.js";
import { cloneUrlOf, generatedApplication, names, shopsResource } from "../scenarios/sets.js";

const POLICY = "if grep -q evil; then echo forbidden; exit 1; fi";
const PLATFORM = [...new Set(HOSTS.map((host) => nameOn(host, "acme/platform")))];
const CHECKS = [
  { name: "values", applications: "prod*", command: ["sh", "-c", POLICY], overridable_by: PLATFORM },
  { name: "shops", applications: "shop-*", command: ["sh", "-c", POLICY] },
];
const AUTO = { spec: { syncPolicy: { automated: {} } } };
const NEW = "v3.5.1";
/** Before 3.1, Argo CD drops `enabled`, and takes what is left for auto-sync. */
const OLD = "v3.0.12";
const OFF = { spec: { syncPolicy: { automated: { enabled: false } } } };

const child = (name: string, repoURL: string, more: Partial<ApplicationOptions> = {}) =>
  applicationResource(name, { repoURL, namespace: "argocd", ...more });

/** A parent `root`, whose child `prod` Argo CD deploys by itself. */
function family(
  host: HostId,
  more: FileChanges = {},
  prod: Partial<ApplicationOptions> = AUTO,
  version = NEW,
): Promise<Bot> {
  return startBot({
    host,
    argocd: { version },
    applications: [],
    config: { checks: CHECKS },
    files: (url) => ({
      "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
      "children/prod.yaml": asYaml(child("prod", url, prod)),
      "apps/prod/configmap.yaml": configMap("prod", { value: "1" }),
      "apps/evil/configmap.yaml": configMap("prod", { value: "evil" }),
      ...more,
    }),
    prepare: (world, forge) => {
      const url = cloneUrlOf(forge);
      const annotations = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/prod" };
      world.argocd.addApplication(applicationResource("root", { repoURL: url, path: "children" }));
      world.argocd.addApplication(child("prod", url, { ...prod, annotations }));
      world.argocd.addApplication(generatedApplication("de", { repoURL: url }));
    },
  });
}

const defines = (bot: Bot, name: string, more: Partial<ApplicationOptions>): FileChanges => ({
  [`children/${name}.yaml`]: asYaml(child(name, cloneUrlOf(bot.forge), more)),
});

async function expectBarred(bot: Bot, one: number, sentence: string): Promise<void> {
  await bot.approve(one);
  for (const ask of ["svc sync -a root", "svc sync -a root --dry-run"]) {
    await bot.comment(one, ask);
    expect(bot.lastComment(one)).toContain(sentence);
  }
  expect(bot.changes()).toEqual([]);
}

describe.each(HOSTS)("a sync of a parent on %s", (host) => {
  test.each<[string, (bot: Bot) => FileChanges, string, string]>([
    [
      "its child",
      (bot) => defines(bot, "prod", { path: "apps/evil", ...AUTO }),
      "`root`: check values of prod failed",
      NEW,
    ],
    [
      "a new child",
      (bot) => defines(bot, "prod-2", { path: "apps/evil", ...AUTO }),
      "`root`: check values of prod-2 failed: exit code 1",
      NEW,
    ],
    [
      "a new child whose auto-sync only newer versions take for switched off",
      (bot) => defines(bot, "prod-2", { path: "apps/evil", ...OFF }),
      "`root`: check values of prod-2 failed: exit code 1",
      OLD,
    ],
    [
      "its child that runs with auto-sync, of which git says that it is switched off",
      (bot) => defines(bot, "prod", { path: "apps/evil", ...OFF }),
      "`root`: check values of prod failed",
      OLD,
    ],
  ])(
    "is refused while a required check of %s fails, which Argo CD would deploy at once",
    async (_w, changes, text, version) => {
      const bot = await family(host, {}, AUTO, version);
      const one = await bot.open(changes(bot));
      await expectBarred(bot, one, text);
    },
  );

  test("is refused while a required check fails of a child that gets auto-sync", async () => {
    const bot = await family(host, {}, {});
    const one = await bot.open(defines(bot, "prod", { path: "apps/evil", ...AUTO }));
    await expectBarred(bot, one, "`root`: check values of prod failed");
  });

  test("is refused while a check fails of what a set that it applies generates", async () => {
    const set = (url: string, path: string) => {
      const resource = shopsResource(url, names("de"), { path, spec: { syncPolicy: { automated: {} } } });
      return asYaml({ ...resource, metadata: { name: "shops", namespace: "argocd" } });
    };
    const bot = await family(host);
    await bot.forge.pushToBranch("acme/deploy", "main", {
      "children/set.yaml": set(cloneUrlOf(bot.forge), "apps/prod"),
    });
    const one = await bot.open({ "children/set.yaml": set(cloneUrlOf(bot.forge), "apps/evil") });
    await expectBarred(bot, one, "`root`: check shops of shop-de failed");
  });

  test.each([
    ["first", "a-set"],
    ["last", "z-set"],
  ])(
    "is refused while a check fails of what one of two sets makes of an application, also if the other comes %s",
    async (_, other) => {
      const bot = await family(host);
      const set = (name: string, path: string) => {
        const automated = { syncPolicy: { automated: {} } };
        const resource = shopsResource(cloneUrlOf(bot.forge), names("fr"), { path, spec: automated });
        return { [`children/${name}.yaml`]: asYaml({ ...resource, metadata: { name, namespace: "argocd" } }) };
      };
      const one = await bot.open({ ...set("set", "apps/evil"), ...set(other, "apps/prod") });
      await expectBarred(bot, one, "`root`: check shops of shop-fr failed");
    },
  );

  test("goes on once somebody approves who may lift the check, and for a child that is synced by itself", async () => {
    const bot = await family(host);
    bot.forge.setTeam("acme/platform", ["bo"]);
    const one = await bot.open(defines(bot, "prod", { path: "apps/evil", ...AUTO }));
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).not.toContain("succeeded");
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toContain("succeeded");

    const calm = await family(host, {}, {});
    const two = await calm.open(defines(calm, "prod", { path: "apps/evil" }));
    calm.expectChanges("sync root");
    await calm.comment(two, "svc sync -a root");
    expect(calm.changes()).toEqual(["sync root"]);
    await calm.push(two, defines(calm, "prod-2", { path: "apps/evil", ...OFF }));
    await calm.approve(two);
    await calm.comment(two, "svc sync -a root");
    expect(calm.lastComment(two)).toContain("succeeded");
    await calm.comment(two, "svc sync -a prod");
    expect(calm.lastComment(two)).toContain("`prod`: check values failed");
    expect(calm.changes()).toEqual(["sync root", "sync root"]);
  });
});
