import { describe, expect, test } from "@jest/globals";
import { type Bot, type BotOptions, HOSTS, REPOSITORY, startBot } from "./bot.js";
import { apart, changeOf, configMap } from "./resources.js";

const MINUTE = 60_000;

/** `api` is in the first stage and `web` in the last. */
function stages(more = "", rest = ""): Pick<BotOptions, "files"> {
  return { files: () => ({ ".svc.yaml": stagesFile(more, rest) }) };
}

function stagesFile(more: string, rest = ""): string {
  return `stages: [{name: dev, applications: api}, {name: prod, applications: web${more}}]\n${rest}`;
}

/** The comment of the newest plan. */
const planOf = (bot: Bot, number: number) =>
  bot.answers(number).findLast((body) => body.includes("## svc Plan") && !body.includes("Outdated plan")) ?? "";

async function records(bot: Bot, number: number): Promise<readonly string[]> {
  const found = await bot.stores.deployments.ofChange(bot.ref(number));
  return found.map(({ application, outcome }) => `${application}: ${outcome}`).sort();
}

/** Lets the soak pass, and the service look for marks that are due. */
async function pass(bot: Bot, minutes: number): Promise<void> {
  bot.clock.advance(minutes * MINUTE);
  await bot.service.reconcile();
  await bot.idle();
}

const BOTH = changeOf(["web", "api"]);

describe.each(HOSTS)("stages on %s", (host) => {
  test("one command deploys one stage after the other, and merges after the last alone", async () => {
    const bot = await startBot({ host, ...stages(), config: { defaults: { auto_merge: true } } });
    const one = await bot.open(BOTH);
    expect(planOf(bot, one)).toContain("1. `dev`: `api`\n2. `prod` (once `dev` is deployed and healthy): `web`");
    expect(planOf(bot, one)).toContain("comment:\n```\nsvc sync\n```");
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
    const results = bot.answers(one).filter((body) => body.includes("## svc Sync"));
    expect(results).toHaveLength(2);
    expect(results[0]).toContain("Not merged automatically:\n- `" + bot.seen(one).headRevision.slice(0, 8));
    expect(results[0]).toContain("svc merges after the last stage");
    expect(results[0]).not.toContain("was not synced");
    expect(results[0]).toMatch(/tage `prod` follows at \d{4}-\d\d-\d\d \d\d:\d\d UTC, as `?ana`? asked/);
    expect(bot.seen(one).state).toBe("merged");
    expect(planOf(bot, one)).toContain("1. `dev` ✅: `api`\n2. `prod` ✅: `web`");
  });

  test("a stage that does not get healthy ends the run, and keeps the next one out until it is", async () => {
    const bot = await startBot({ host, ...stages(), config: { defaults: { health_timeout: "2m" } } });
    const one = await bot.open(BOTH);
    bot.argocd.playHealth("api", [{ status: "Degraded" }]);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("deployed, but not healthy: `Degraded`");
    expect(bot.changes()).toEqual(["sync api"]);
    expect([...(await bot.locked(one))].sort()).toEqual(["api", "web"]);
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("it is in stage prod, and api of stage dev is not deployed yet");
    bot.argocd.playHealth("api", [{ status: "Healthy" }]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync api", "sync api", "sync web"]);
  });

  test("a manual stage waits for the next command, which the next step names", async () => {
    const bot = await startBot({ host, ...stages(", wait: manual") });
    const one = await bot.open(BOTH);
    expect(planOf(bot, one)).toContain(
      "2. `prod` (with another `svc sync`, once `dev` is deployed and healthy): `web`",
    );
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("omment:\n```\nsvc sync\n```");
    expect(bot.changes()).toEqual(["sync api"]);
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync", "bo");
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("a soak keeps the next stage back until it has passed, says until when, and survives a restart", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    expect(planOf(bot, one)).toContain("2. `prod` (10m after `dev` is deployed, if it is healthy then): `web`");
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(/tage `prod` follows at \d{4}-\d\d-\d\d \d\d:\d\d UTC, as/);
    expect(planOf(bot, one)).toMatch(/1\. `dev` ✅: `api`/);
    await bot.comment(one, "svc sync", "bo");
    expect(bot.lastComment(one)).toMatch(
      /it is in stage prod, which begins at .* UTC, 10m after stage dev was deployed/,
    );
    await bot.restart();
    await pass(bot, 5);
    expect(bot.changes()).toEqual(["sync api"]);
    bot.expectChanges("sync web");
    await pass(bot, 6);
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    await pass(bot, 60);
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("the soak counts from the nearest stage that was deployed, if the one between had nothing to deploy", async () => {
    const places = ["{name: dev, applications: api}", "{name: qa, applications: db}"];
    const file = `stages: [${places.join(", ")}, {name: prod, applications: web, soak: 10m}]\n`;
    const bot = await startBot({
      host,
      applications: ["api", "db", "web"],
      files: () => ({ ".svc.yaml": file }),
      config: { defaults: { skip_no_changes: true } },
    });
    const one = await bot.open({ ...changeOf(["api", "web"]), "apps/db/README.md": "no manifest\n" });
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync api"]);
    await bot.comment(one, "svc sync", "bo");
    expect(bot.changes()).toEqual(["sync api"]);
    expect(bot.lastComment(one)).toMatch(/it is in stage prod, which begins at .*, 10m after stage dev was deployed/);
    bot.expectChanges("sync web");
    await pass(bot, 11);
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("a host that is away when a stage is due does not keep it back for ever", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    const path = /\/(?:pulls|merge_requests)\/\d+$/;
    let asked = 0;
    const act = () => {
      asked += 1;
      // The reconciler asks, then the run that finds the stage due, and then the stage's own.
      if (asked === 3) bot.forge.faults.add({ path: /./, fault: { kind: "status", status: 500 } });
    };
    bot.forge.faults.add({ method: "GET", path, fault: { kind: "meanwhile", act } });
    await pass(bot, 11);
    expect(bot.changes()).toEqual(["sync api"]);
    bot.forge.faults.clear();
    await pass(bot, 2);
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("a stage is not refused because the clock of the replica that begins it is a little behind", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    // After the reconciler, and the run that finds the stage due.
    const own = { method: "GET", path: /\/(?:pulls|merge_requests)\/\d+$/, nth: 3 };
    bot.meanwhile("forge", own, () => bot.clock.advance(-MINUTE - 15_000));
    await pass(bot, 11);
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  const ENDS: readonly (readonly [string, (bot: Bot, one: number) => Promise<unknown>])[] = [
    ["a push", (bot, one) => bot.push(one, changeOf(["web", "api"], "3"))],
    ["a close", (bot, one) => bot.close(one)],
    [
      "an unlock and a new plan",
      async (bot, one) => {
        await bot.comment(one, "svc unlock");
        await bot.comment(one, "svc plan");
      },
    ],
    ["a new plan", (bot, one) => bot.comment(one, "svc plan", "bo")],
    [
      "a rollback",
      async (bot, one) => {
        bot.expectChanges("rollback api", "sync api");
        await bot.comment(one, "svc rollback");
      },
    ],
    [
      "a rollback that is refused",
      async (bot, one) => {
        const rules = stagesFile(", soak: 10m", "sync_requirements: [{name: api, require_approval: true}]\n");
        await bot.forge.pushToBranch(REPOSITORY, "main", {
          ".svc.yaml": rules,
          "apps/api/new.yaml": configMap("new", {}),
        });
        await bot.comment(one, "svc rollback");
        expect(bot.lastComment(one)).toContain("PR must be approved before sync");
      },
    ],
  ];

  test.each(ENDS)("%s in the soak ends the run", async (_, act) => {
    const bot = await startBot({ host, ...stages(", soak: 10m"), resources: () => apart("api", "web") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    await act(bot, one);
    await pass(bot, 60);
    expect(bot.changes().filter((change) => change.endsWith(" web"))).toEqual([]);
    expect((await bot.stores.plans.find(bot.ref(one)))?.next).toBeUndefined();
  });

  test("after a plan in the soak, which locks the first stage again, the next step names what is left", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc plan", "bo");
    expect(bot.lastComment(one)).toContain("then comment `svc sync -a web` to deploy stage `prod`");
    await pass(bot, 11);
    expect(planOf(bot, one)).toContain("```\nsvc sync -a web\n```");
    await bot.comment(one, "svc sync -a web");
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("a rollback by somebody who may not roll back does not end the run", async () => {
    const bot = await startBot({
      host,
      ...stages(", soak: 10m", "sync_requirements: [{name: api, allowed_users: [ana]}]\n"),
    });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc rollback", "bo");
    expect(bot.lastComment(one)).toContain("`bo` may not run `svc rollback` for:\n- `api`: only ana may");
    await pass(bot, 11);
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("an unlock that releases nothing does not end the run", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc unlock -a wbe", "bo");
    expect(bot.lastComment(one)).toContain("Did you mean `svc unlock -a web`?");
    await bot.comment(one, "svc unlock -a api", "bo");
    await pass(bot, 11);
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("the locks of later stages outlive the soak, however old the plan was at the sync", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.clock.advance(7 * 24 * 60 * MINUTE - 5 * MINUTE);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    await pass(bot, 11);
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("a stage that Argo CD refuses to deploy again ends the run", async () => {
    const bot = await startBot({ host, ...stages(", wait: manual") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": stagesFile("") });
    await bot.comment(one, "svc plan");
    const path = /applications\/api\/sync$/;
    const body = JSON.stringify({ error: "no", code: 3, message: "no" });
    bot.argocd.faults.add({ method: "POST", path, fault: { kind: "status", status: 400, body } });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("❌");
    expect((await bot.stores.plans.find(bot.ref(one)))?.next).toBeUndefined();
    expect(bot.changes()).toEqual(["sync api"]);
  });

  /** Lets an application get ill once Argo CD was asked for it forty times; the returned function asks. */
  function fallIll(bot: Bot, name: string): () => Promise<void> {
    const looks = 40;
    const healthy = Array.from({ length: looks }, () => ({ status: "Healthy" }) as const);
    bot.argocd.playHealth(name, [...healthy, { status: "Degraded" }]);
    const headers = { authorization: `Bearer ${bot.world.argocdToken}` };
    return async () => {
      const url = `${bot.argocd.url}/api/v1/applications/${name}`;
      for (let left = looks; left > 0; left -= 1) await fetch(url, { headers });
    };
  }

  test("health is read again at the end of the soak", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    const isIll = fallIll(bot, "api");
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    await isIll();
    await pass(bot, 11);
    expect(bot.lastComment(one)).toContain("it is in stage prod, and api of stage dev is Degraded");
    expect(bot.changes()).toEqual(["sync api"]);
    expect((await bot.stores.plans.find(bot.ref(one)))?.next).toBeUndefined();
    await pass(bot, 60);
    expect(bot.changes()).toEqual(["sync api"]);
  });

  test("so is that of all earlier stages, not of the last one alone", async () => {
    const places = ["{name: dev, applications: api}", "{name: qa, applications: db}"];
    const file = `stages: [${places.join(", ")}, {name: prod, applications: web, soak: 10m}]\n`;
    const bot = await startBot({ host, applications: ["api", "db", "web"], files: () => ({ ".svc.yaml": file }) });
    const one = await bot.open(changeOf(["api", "db", "web"]));
    const isIll = fallIll(bot, "api");
    bot.expectChanges("sync api", "sync db");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync api", "sync db"]);
    await isIll();
    await pass(bot, 11);
    expect(bot.lastComment(one)).toContain("it is in stage prod, and api of stage dev is Degraded");
    expect(bot.changes()).toEqual(["sync api", "sync db"]);
  });

  test("what somebody else synced in Argo CD during the soak is not taken for what was deployed", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m"), checkChanges: false });
    const one = await bot.open(BOTH);
    await bot.comment(one, "svc sync");
    await bot.argocd.deploy("api");
    await pass(bot, 11);
    expect(bot.lastComment(one)).toContain(
      "api of stage dev was synced by somebody else since: plan it and sync it again",
    );
    expect(bot.changes()).toEqual(["sync api"]);
  });

  test("what another one only tries during the soak changes nothing", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    const two = await bot.open(changeOf(["api"], "3"), { by: "bo" });
    bot.expectChanges("dry-run api", "sync web");
    await bot.comment(two, "svc sync --dry-run", "bo");
    expect(bot.lastComment(two)).toContain("dry run succeeded");
    await pass(bot, 11);
    expect(bot.changes()).toEqual(["sync api", "dry-run api", "sync web"]);
  });

  test("nor does a dry run that has not ended yet", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    const release = bot.argocd.holdSync("api");
    const headers = {
      authorization: `Bearer ${bot.argocd.addAccount("bo", { permissions: "all" })}`,
      "content-type": "application/json",
    };
    bot.expectChanges("dry-run api", "sync web");
    const body = JSON.stringify({ dryRun: true });
    await fetch(`${bot.argocd.url}/api/v1/applications/api/sync`, { method: "POST", headers, body });
    await pass(bot, 11);
    expect(bot.changes()).toEqual(["sync api", "dry-run api", "sync web"]);
    release();
  });

  test("a failed sync of another one is not forgotten because of a dry run after it", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    const two = await bot.open(changeOf(["api"], "3"), { by: "bo" });
    bot.argocd.failNextSync("api", { phase: "Failed", message: "one or more objects failed to apply" });
    await bot.comment(two, "svc sync", "bo");
    bot.expectChanges("dry-run api");
    await bot.comment(two, "svc sync --dry-run", "bo");
    expect(bot.lastComment(two)).toContain("dry run succeeded");
    await pass(bot, 11);
    expect(bot.lastComment(one)).toContain("api of stage dev was synced by somebody else since");
    expect(bot.changes()).toEqual(["sync api", "sync api", "dry-run api"]);
  });

  test("an approval that is lost before the second stage keeps it back", async () => {
    const rules = "sync_requirements: [{name: web, require_approval: true}]\n";
    const bot = await startBot({ host, ...stages(", soak: 10m", rules) });
    const one = await bot.open(BOTH);
    await bot.approve(one);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
    await bot.idle();
    await pass(bot, 11);
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    expect(bot.changes()).toEqual(["sync api"]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("a later stage is not synced before its earlier one, whoever names it, planned or not", async () => {
    const bot = await startBot({ host, ...stages() });
    const one = await bot.open(BOTH);
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("it is in stage prod, and api of stage dev is not deployed yet");
    await bot.comment(one, "svc unlock");
    await bot.comment(one, "svc plan -a web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("it is in stage prod, and api of stage dev is not deployed yet");
    expect(bot.changes()).toEqual([]);
  });

  test("a stage that the base branch makes manual during the soak waits for a person", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": stagesFile(", soak: 10m, wait: manual") });
    await bot.idle();
    expect(planOf(bot, one)).toContain("2. `prod` (with another `svc sync`, 10m after `dev` is deployed");
    await pass(bot, 11);
    expect(bot.changes()).toEqual(["sync api"]);
    expect(bot.lastComment(one)).toContain("it is in stage prod, which svc does not begin by itself: comment svc sync");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync", "bo");
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("an approval does not begin a manual stage", async () => {
    const rules = "sync_requirements: [{name: web, require_approval: true, sync_on: approval}]\n";
    const bot = await startBot({ host, resources: () => apart("web", "api"), ...stages(", wait: manual", rules) });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    await bot.approve(one);
    expect(bot.changes()).toEqual(["sync api"]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("the soak after a sync whose end svc missed begins when svc finds that it succeeded", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    const [record] = await bot.stores.deployments.ofChange(bot.ref(one));
    if (record === undefined) throw new Error("api was not deployed");
    await bot.stores.deployments.save({ ...record, outcome: "started", seconds: undefined });
    bot.clock.advance(30 * MINUTE);
    await bot.comment(one, "svc plan -a web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(
      /it is in stage prod, which begins at .* UTC, 10m after stage dev was deployed/,
    );
    expect(bot.changes()).toEqual(["sync api"]);
    bot.clock.advance(11 * MINUTE);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test("nor does it begin when svc stopped waiting for that sync", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m"), config: { deployer: { sync_timeout: "1m" } } });
    const one = await bot.open(BOTH);
    const letGo = bot.argocd.holdSync("api");
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("still running");
    bot.clock.advance(30 * MINUTE);
    letGo();
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(
      /it is in stage prod, which begins at .* UTC, 10m after stage dev was deployed/,
    );
    expect(bot.changes()).toEqual(["sync api"]);
  });

  test("a rollback takes back the last stage first", async () => {
    const bot = await startBot({ host, ...stages() });
    const one = await bot.open(BOTH);
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc rollback");
    expect(bot.changes()).toEqual(["sync api", "sync web", "sync web", "sync api"]);
  });

  test("a pull request does not change its own stages", async () => {
    const bot = await startBot({ host, ...stages() });
    const one = await bot.open({ ...BOTH, ".svc.yaml": "stages: [{name: all, applications: '*'}]\n" });
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("it is in stage prod, and api of stage dev is not deployed yet");
    expect(bot.changes()).toEqual([]);
  });

  test("a dry run tries all stages at once", async () => {
    const bot = await startBot({ host, ...stages(", soak: 10m") });
    const one = await bot.open(BOTH);
    bot.expectChanges("dry-run web", "dry-run api");
    await bot.comment(one, "svc sync --dry-run");
    expect(bot.lastComment(one)).toContain("`web`");
    expect(bot.lastComment(one)).toContain("`api`");
    expect(await records(bot, one)).toEqual([]);
  });
});
