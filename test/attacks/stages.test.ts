import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import type { HostId } from "../../src/names.js";
import { type Bot, type BotOptions, HOSTS, REPOSITORY, startBot } from "../scenarios/bot.js";
import { apart, applicationResource, asYaml, changeOf } from "../scenarios/resources.js";

const FILE = ".svc.yaml";
const TWO = "stages: [{name: dev, applications: api}, {name: prod, applications: web}]\n";
const BOTH = changeOf(["web", "api"]);
const APPLIES = { spec: { destination: { server: "https://kubernetes.default.svc", namespace: "argocd" } } };

/** Lets a soak pass, and the service look for marks that are due. */
async function pass(bot: Bot, minutes: number): Promise<void> {
  bot.clock.advance(minutes * 60_000);
  await bot.service.reconcile();
  await bot.idle();
}

/** `root` applies the definitions of `web` and `api`. */
function startFamily(host: HostId, rules: string, more: Partial<BotOptions> = {}): Promise<Bot> {
  return startBot({
    host,
    files: () => ({ [FILE]: rules }),
    prepare: async ({ argocd }, forge) => {
      const repoURL = forge.cloneUrl(REPOSITORY);
      argocd.addApplication(applicationResource("root", { repoURL, path: "argocd", ...APPLIES }));
      await argocd.deploy("root");
      for (const name of ["web", "api"]) await argocd.deploy(name);
    },
    ...more,
  });
}

describe.each(HOSTS)("a later stage on %s", (host) => {
  test("is not brought forward by a base branch of one's own without stages", async () => {
    const bot = await startBot({
      host,
      files: () => ({ [FILE]: TWO }),
      resources: () => ({ web: { targetRevision: "weak" }, api: { targetRevision: "weak" } }),
    });
    await bot.forge.pushToBranch(REPOSITORY, "weak", { [FILE]: "stages: [{name: all, applications: '*'}]\n" });
    const one = await bot.open(BOTH, { base: "weak" });
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toMatch(/it is in stage prod, and api of stage \w+ is not deployed yet/);
    expect(bot.changes()).toEqual([]);
  });

  test("is not deployed in the name of somebody who may sync the earlier one alone", async () => {
    const rules = `${TWO}sync_requirements: [{name: web, allowed_users: [olga]}]\n`;
    const bot = await startBot({ host, resources: () => apart("web", "api"), files: () => ({ [FILE]: rules }) });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`web`: only olga may");
    expect(bot.changes()).toEqual(["sync api"]);
    await pass(bot, 60);
    expect(bot.changes()).toEqual(["sync api"]);
  });

  test("is not deployed in the name of somebody who has lost their access since", async () => {
    const soaking = TWO.replace("applications: web", "applications: web, soak: 10m");
    const bot = await startBot({ host, files: () => ({ [FILE]: soaking }) });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync", "bo");
    bot.forge.setAccess(REPOSITORY, "bo", "read");
    await pass(bot, 11);
    expect(bot.lastComment(one)).toContain("`bo` has no write access to");
    expect(bot.changes()).toEqual(["sync api"]);
    bot.forge.setAccess(REPOSITORY, "bo", "write");
    await pass(bot, 60);
    expect(bot.changes()).toEqual(["sync api"]);
  });

  test("is not reached by a parent of the first stage: it waits with what it deploys", async () => {
    const rules = "stages: [{name: dev, applications: '{root,api}'}, {name: prod, applications: web}]\n";
    const automated = { syncPolicy: { automated: {} } };
    const path = "apps/moved";
    const bot = await startFamily(host, rules, {
      resources: () => ({ web: { spec: automated } }),
      checkChanges: false,
    });
    const definition = { "argocd/web.yaml": asYaml(bot.resourceOf("web", { path, spec: automated })) };
    const one = await bot.open({ ...bot.moved("web", path), ...definition, ...changeOf(["api"]) });
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toContain("it is in stage prod, and api of stage dev is not deployed yet");
    await bot.comment(one, "svc sync -a root -a api");
    expect(bot.changes().slice(-2)).toEqual(["sync api", "sync root"]);
  });

  test("that has the parent of an application of an earlier one is refused with both", async () => {
    const rules = "stages: [{name: dev, applications: web}, {name: prod, applications: root}]\n";
    const bot = await startFamily(host, rules);
    const one = await bot.open({ ...bot.moved("web"), ...changeOf(["api"]) });
    const circle =
      "it is in stage dev, and its parent root, which has to be deployed before it, in the later stage prod";
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(circle);
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toContain("it is in stage prod, and web of stage dev is not deployed yet");
    expect(bot.changes()).toEqual([]);
  });

  test("does not begin if another pull request replaces what the earlier one deployed while its sync is judged", async () => {
    const bot = await startBot({ host, files: () => ({ [FILE]: TWO.replace("web}", "web, wait: manual}") }) });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    let isReplaced = false;
    bot.meanwhile("argocd", { method: "GET", path: /applications\/api$/ }, async () => {
      // As the end of the other's sync does.
      await bot.stores.deployments.remove(applicationName("api"), bot.ref(one));
      isReplaced = true;
    });
    await bot.comment(one, "svc sync");
    expect(isReplaced).toBe(true);
    expect(bot.lastComment(one)).toContain("it is in stage prod, and api of stage dev is not deployed yet");
    expect(bot.changes()).toEqual(["sync api"]);
  });

  test("does not begin while another pull request has taken the place of what the earlier one deployed", async () => {
    const soaking = TWO.replace("applications: web", "applications: web, soak: 10m");
    const bot = await startBot({ host, files: () => ({ [FILE]: soaking }), checkChanges: false });
    const one = await bot.open(BOTH);
    await bot.comment(one, "svc sync");
    const two = await bot.open(changeOf(["api"], "3"), { by: "bo" });
    await bot.comment(two, "svc sync", "bo");
    await pass(bot, 11);
    expect(bot.lastComment(one)).toContain("it is in stage prod, and api of stage dev is not deployed yet");
    expect(bot.changes()).toEqual(["sync api", "sync api"]);
  });
});
