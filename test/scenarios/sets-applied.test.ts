import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { applicationResource, asYaml, configMap } from "./resources.js";
import { cloneUrlOf, names, shopsResource, type SetOptions } from "./sets.js";

/** The set `shops` among the manifests of `root`. */
const setOf = (url: string, elements: readonly string[], options: SetOptions = {}) => ({
  "children/set.yaml": asYaml(shopsResource(url, names(...elements), { namespace: "argocd", ...options })),
});

/** `root` has applied a set that makes `shop-de`. */
function startShops(host: HostId): Promise<Bot> {
  return startBot({
    host,
    applications: [],
    files: (url) => ({
      "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
      ...setOf(url, ["de"]),
      "shops/de/configmap.yaml": configMap("de", { value: "1" }),
      "shops/it/configmap.yaml": configMap("it", { value: "1" }),
    }),
    prepare: async ({ argocd }, forge) => {
      argocd.addApplication(applicationResource("root", { repoURL: cloneUrlOf(forge), path: "children" }));
      await argocd.deploy("root");
    },
  });
}

const running = (bot: Bot) =>
  bot.argocd
    .applications()
    .map(({ metadata }) => metadata.name)
    .toSorted();

describe.each(HOSTS)("a set that a parent applies, on %s", (host) => {
  test("takes effect at the sync of the parent: its applications appear and go at once", async () => {
    const bot = await startShops(host);
    expect(running(bot)).toEqual(["root", "shop-de"]);
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["it"]));
    const plan = bot.lastComment(one);
    expect(plan).toContain("A sync of `root` applies this: it takes effect at once, before the merge.");
    expect(plan).toContain("### Applications of the ApplicationSet `shops`, at the sync of `root`");
    expect(plan).not.toContain("a sync here does not");
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(running(bot)).toEqual(["root", "shop-it"]);
    expect(bot.lastComment(one)).toContain("Applied the ApplicationSet shops, which adds shop-it, removes shop-de");
  });

  test("that fails keeps its applications as they are", async () => {
    const bot = await startShops(host);
    const failing = { path: "shops/{{ .missing }}", goTemplateOptions: ["missingkey=error"] };
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["it"], failing));
    expect(bot.lastComment(one)).toContain("its applications stay as they are");
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(running(bot)).toEqual(["root", "shop-de"]);
    const result = "Applied the ApplicationSet shops, which fails: its applications stay as they are";
    expect(bot.lastComment(one)).toContain(result);
  });
});
