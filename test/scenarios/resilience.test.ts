import { describe, expect, test } from "@jest/globals";
import type { Fault } from "../../sandbox/faults.js";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { asYaml, changeOf, configMap } from "./resources.js";

const DAY_MS = 24 * 60 * 60 * 1000;

/** A commit that changes the definition of `web` and a file of `api`. */
function changes(bot: Bot, value: string) {
  return {
    "apps/next/configmap.yaml": configMap("web", { value }),
    "argocd/web.yaml": asYaml(bot.resourceOf("web", { path: "apps/next" })),
    ...changeOf(["api"], value),
  };
}

/** Every kind of call that a plan makes, as method and path. */
const PLAN_CALLS: readonly (readonly [string, string, RegExp])[] = [
  ["the list of applications", "GET", /^\/api\/v1\/applications$/],
  ["an application", "GET", /\/applications\/(?:web|api)$/],
  ["a render in place", "GET", /\/applications\/api\/manifests$/],
  ["the creation of a temporary Application", "POST", /^\/api\/v1\/applications$/],
  ["a render of a temporary Application", "GET", /\/applications\/svc-tmp-[^/]+\/manifests$/],
  ["the look at a temporary Application", "GET", /\/applications\/svc-tmp-[^/]+$/],
  ["the deletion of a temporary Application", "DELETE", /\/applications\/svc-tmp-[^/]+$/],
];

/** What becomes of it: once, or as long as the plan runs. */
const FAULTS: readonly (readonly [string, Fault, number])[] = [
  ["dropped", { kind: "drop" }, 100],
  ["carried out, its answer lost", { kind: "lost-answer" }, 100],
  ["answered with 500", { kind: "status", status: 500 }, 1],
  ["answered with half a JSON", { kind: "half-json" }, 1],
];

describe.each(HOSTS)("requests to Argo CD that get lost on %s", (host) => {
  test("during a plan: no temporary Application is left after its expiry, no real Application touched, and the next plan works", async () => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changes(bot, "0"));
    for (const [call, method, path] of PLAN_CALLS) {
      for (const [what, fault, times] of FAULTS) {
        const name = `${call}, ${what}`;
        const hit = () => bot.argocd.requests.filter((request) => request.method === method && path.test(request.path));
        const before = hit().length;
        const remove = bot.argocd.faults.add({ method, path, times, fault });
        bot.clock.advance(60_000);
        await bot.comment(one, "svc plan");
        remove();
        expect([name, hit().length > before]).toEqual([name, true]);
        bot.clock.advance(DAY_MS);
        await bot.service.sweep();
        expect([name, bot.argocd.temporaryApplications()]).toEqual([name, []]);
      }
    }
    expect(bot.changes()).toEqual([]);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain('+  value: "0"');
    expect(bot.lastComment(one)).not.toContain("could not be evaluated");
  });

  test("a service that is killed in the middle of a plan leaves nothing behind for longer than its expiry", async () => {
    const bot = await startBot({ host, git: true });
    const release = bot.argocd.holdRenders();
    const held = new Promise<void>((resolve) => {
      bot.meanwhile("argocd", { path: /\/svc-tmp-[^/]+\/manifests$/ }, resolve);
    });
    await bot.forge.open({ repository: "acme/deploy", by: "ana", changes: changes(bot, "0") });
    await held;
    bot.argocd.faults.add({ fault: { kind: "drop" } });
    release();
    await bot.idle();
    expect(bot.argocd.temporaryApplications()).toHaveLength(1);
    bot.argocd.faults.clear();
    await bot.service.sweep();
    expect(bot.argocd.temporaryApplications()).toHaveLength(1);
    bot.clock.advance(DAY_MS);
    await bot.service.sweep();
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });

  test.each([
    ["dropped before it arrives", { kind: "drop" }, "the outcome is not known", false],
    ["carried out, its answer lost", { kind: "lost-answer" }, "✅ succeeded", true],
    ["answered with 502", { kind: "status", status: 502 }, "the outcome is not known", false],
    ["answered with half a JSON", { kind: "half-json" }, "not started", false],
  ] as const)("the start of a sync is %s: it is looked up, not repeated", async (_, fault, said, deployed) => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    bot.argocd.faults.add({ method: "POST", path: /\/web\/sync$/, times: 1, fault });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(said);
    expect(starts(bot)).toBe(1);
    expect(bot.liveValue("web")).toBe(deployed ? "2" : undefined);
    expect(await bot.locked(one)).toEqual(deployed ? [] : ["web"]);
    if (deployed) return;
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(starts(bot)).toBe(2);
  });

  test("an application cannot be read before its sync: svc advises to try again later, and no other plan", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const remove = bot.argocd.faults.add({ method: "GET", path: /\/applications\/web$/, fault: { kind: "drop" } });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("ry again later, because svc cannot tell what an application looks like");
    expect(bot.lastComment(one)).not.toContain("svc plan");
    remove();
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(await bot.locked(one)).toEqual([]);
  });

  test.each([
    ["dropped", { kind: "drop" }],
    ["answered with half a JSON", { kind: "half-json" }],
  ] as const)("the looks at a running sync are %s: it is followed to its end", async (_, fault) => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, () => {
      bot.argocd.faults.add({ method: "GET", path: /\/applications\/web$/, times: 6, fault });
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(starts(bot)).toBe(1);
    expect(bot.liveValue("web")).toBe("2");
  });

  test("the update of a definition is carried out, its answer lost: it is looked up and the sync goes on", async () => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changes(bot, "5"));
    bot.expectChanges("update web", "sync web", "sync api");
    bot.argocd.faults.add({ method: "PUT", path: /\/web\/spec$/, times: 1, fault: { kind: "lost-answer" } });
    await bot.comment(one, "svc sync");
    expect(bot.changes().filter((change) => change === "update web")).toHaveLength(1);
    expect(bot.liveValue("web")).toBe("5");
    expect(await bot.locked(one)).toEqual([]);
  });

  test("the update of a definition is dropped: nothing is deployed to it, the other application is", async () => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changes(bot, "5"));
    bot.expectChanges("update web", "sync web", "sync api");
    bot.argocd.faults.add({ method: "PUT", path: /\/web\/spec$/, times: 1, fault: { kind: "drop" } });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("svc could not find out whether the definition of web was changed");
    expect(bot.changes()).toEqual(["sync api"]);
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("5");
  });

  test("a sync ends while the code host is away: the reconciler tells its result once the host is back, and merges", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, () => {
      bot.forge.faults.add({ fault: { kind: "drop" } });
    });
    await bot.comment(one, "svc sync");
    await bot.service.reconcile();
    await bot.idle();
    bot.forge.faults.clear();
    expect(bot.answers(one).filter((body) => body.includes("✅ succeeded"))).toEqual([]);
    await bot.service.reconcile();
    await bot.idle();
    expect(bot.answers(one).filter((body) => body.includes("✅ succeeded"))).toHaveLength(1);
    expect(bot.seen(one).state).toBe("merged");
    await bot.service.reconcile();
    await bot.idle();
    expect(starts(bot)).toBe(1);
    expect(bot.answers(one).filter((body) => body.includes("✅ succeeded"))).toHaveLength(1);
  });
});

/** Requests that would start a sync of `web`. */
function starts(bot: Bot): number {
  return bot.argocd.requests.filter(({ method, path }) => method === "POST" && path.endsWith("/web/sync")).length;
}
