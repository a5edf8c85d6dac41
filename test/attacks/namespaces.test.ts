import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { asYaml } from "../scenarios/resources.js";

const OWN = "https://kubernetes.default.svc";
const UNAPPROVED = "PR must be approved before sync";
const BOUND = "the rules of prod hold, because prod deploys to the namespace shop, too";
const WHO_MAY = new RegExp(`may not run \`svc (?:sync|rollback)\` for:\\s+- \`dev\`: only bo may; ${BOUND}\n`);

/** `prod` deploys to `shop`, `dev` to `dev`, and only `prod` is protected, by its name. */
function start(host: Bot["host"], rule = "require_approval: true", more: Partial<BotOptions> = {}): Promise<Bot> {
  return startBot({
    host,
    applications: ["dev", "prod"],
    resources: () => ({
      dev: { spec: { destination: { server: OWN, namespace: "dev" } } },
      prod: { spec: { destination: { name: "in-cluster", namespace: "shop" } } },
    }),
    files: () => ({ ".svc.yaml": `sync_requirements: [{name: prod, ${rule}}]\n` }),
    ...more,
  });
}

function object(kind: string, name: string, namespace: string | undefined, more: object = {}): string {
  return asYaml({ apiVersion: kind === "Job" ? "batch/v1" : "v1", kind, metadata: { name, namespace }, ...more });
}

describe.each(HOSTS)("the namespace of a protected application on %s", (host) => {
  test.each<[string, string]>([
    ["a Job beside its Secrets", object("Job", "steal", "shop", { spec: { template: {} } })],
    ["Endpoints of its Service", object("Endpoints", "prod", "shop", { subsets: [] })],
    ["the Namespace itself", object("Namespace", "shop", undefined)],
  ])("another application does not bring %s without what its rules require", async (_what, manifest) => {
    const bot = await start(host);
    const one = await bot.open({ "apps/dev/more.yaml": manifest });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.lastComment(one)).toContain(BOUND);
    expect(bot.changes()).toEqual([]);
    await bot.approve(one);
    bot.expectChanges("sync dev");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync dev"]);
  });

  test("another application that deploys there changes and prunes nothing without what its rules require", async () => {
    const bot = await start(host, "allowed_users: [bo]", {
      resources: () => {
        const destination = { server: OWN, namespace: "shop" };
        return { dev: { spec: { destination } }, prod: { spec: { destination } } };
      },
      files: () => ({
        ".svc.yaml": "sync_requirements: [{name: prod, allowed_users: [bo]}]\n",
        "apps/dev/more.yaml": object("ConfigMap", "more", undefined),
      }),
    });
    const one = await bot.open({ "apps/dev/more.yaml": null });
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toMatch(WHO_MAY);
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync dev");
    await bot.comment(one, "svc sync --prune", "bo");
    expect(bot.changes()).toEqual(["sync dev"]);
  });

  test("a person must be allowed by each application that deploys there", async () => {
    const bot = await start(host, "allowed_users: [bo]", {
      files: () => ({
        ".svc.yaml": "sync_requirements: [{name: prod, allowed_users: [bo]}, {name: dev, allowed_users: [ana]}]\n",
      }),
    });
    const one = await bot.open({ "apps/dev/more.yaml": object("ConfigMap", "more", "shop") });
    for (const by of ["ana", "bo"]) {
      await bot.comment(one, "svc sync", by);
      expect(bot.lastComment(one)).toContain("may not run `svc sync` for");
    }
    expect(bot.changes()).toEqual([]);
  });

  test("rules that became stricter since the plan hold at the sync", async () => {
    const bot = await start(host, "require_approval: false", { files: () => ({}) });
    const one = await bot.open({ "apps/dev/more.yaml": object("ConfigMap", "more", "shop") });
    const strict = "sync_requirements: [{name: prod, require_approval: true}]\n";
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": strict });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.lastComment(one)).toContain(BOUND);
    expect(bot.changes()).toEqual([]);
  });

  // Argo CD's list of applications is remembered for ten seconds.
  test.each([1, 60])("an application that came to the namespace %i s before the sync binds it", async (seconds) => {
    const bot = await start(host, "require_approval: true", { applications: ["dev"] });
    const one = await bot.open({ "apps/dev/more.yaml": object("ConfigMap", "more", "shop") });
    const destination = { name: "in-cluster", namespace: "shop" };
    bot.argocd.addApplication(bot.resourceOf("prod", { spec: { destination } }));
    bot.clock.advance(seconds * 1000);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.lastComment(one)).toContain(BOUND);
    expect(bot.changes()).toEqual([]);
  });

  test("an application that comes to the namespace while a sync is checked binds it", async () => {
    const bot = await start(host, "require_approval: true", { applications: ["dev"] });
    const one = await bot.open({ "apps/dev/more.yaml": object("ConfigMap", "more", "shop") });
    bot.meanwhile("argocd", { method: "GET", path: /\/applications\/dev$/ }, () => {
      bot.clock.advance(1000);
      bot.argocd.addApplication(
        bot.resourceOf("prod", { spec: { destination: { name: "in-cluster", namespace: "shop" } } }),
      );
    });
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual([]);
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.lastComment(one)).toContain(BOUND);
  });

  test.each([
    ["of the head", undefined],
    ["of an earlier commit", { "README.md": "hello" }],
  ])("an application that came to the namespace since the plan %s binds the rollback", async (_which, push) => {
    const bot = await start(host, "allowed_users: [bo]", { applications: ["dev"] });
    const one = await bot.open({ "apps/dev/more.yaml": object("ConfigMap", "more", "shop") });
    bot.expectChanges("sync dev");
    await bot.comment(one, "svc sync");
    bot.clock.advance(1000);
    bot.argocd.addApplication(
      bot.resourceOf("prod", { spec: { destination: { name: "in-cluster", namespace: "shop" } } }),
    );
    if (push !== undefined) await bot.forge.pushSilently(REPOSITORY, one, push);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toMatch(WHO_MAY);
    expect(bot.changes()).toEqual(["sync dev"]);
    bot.expectChanges("sync dev");
    await bot.comment(one, "svc rollback", "bo");
    expect(bot.changes()).toEqual(["sync dev", "sync dev"]);
  });

  test("in a namespace of its own nothing more is required", async () => {
    const bot = await start(host);
    const one = await bot.open({ "apps/dev/more.yaml": object("ConfigMap", "more", undefined) });
    bot.expectChanges("sync dev");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync dev"]);
  });
});
