import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { asYaml, applicationResource, configMap } from "./resources.js";
import { ServiceLog } from "./service-log.js";

const RENDER_TIMEOUT_MS = 120_000;
const MANIFESTS = /\/applications\/svc-tmp-[^/]+\/manifests$/;

/** A commit that changes the definitions of these applications, which temporary Applications preview. */
function newDefinitions(bot: Bot, names: readonly string[]) {
  return Object.fromEntries(
    names.flatMap((name) => [
      [`apps/next-${name}/configmap.yaml`, configMap(name, { value: "next" })],
      [`argocd/${name}.yaml`, asYaml(bot.resourceOf(name, { path: `apps/next-${name}` }))],
    ]),
  );
}

function temporary(name: string, more: object) {
  return {
    ...applicationResource(name, { repoURL: "http://charts.example.com/other/repo.git", path: "." }),
    metadata: { name, ...more },
  };
}

const LABELS = { "svc.dev/temporary": "true" };
const DAY_MS = 24 * 60 * 60 * 1000;

describe.each(HOSTS)("the life of a temporary Application on %s", (host) => {
  test("deterministic name, label and annotations; created only when its render starts; never cascading", async () => {
    const bot = await startBot({ host, config: { deployer: { render_concurrency: 1 } } });
    const atOnce: number[] = [];
    for (let nth = 1; nth <= 2; nth += 1) {
      bot.meanwhile("argocd", { method: "GET", path: MANIFESTS, nth: 1 }, () => {
        atOnce.push(bot.argocd.temporaryApplications().length);
      });
    }
    const begin = bot.clock.now().getTime();
    const one = await bot.open(newDefinitions(bot, ["web", "api"]));
    expect(bot.lastComment(one)).toContain("+  value: next");
    expect(atOnce).toEqual([1, 1]);
    const created = creations(bot);
    expect(created.map(({ metadata }) => metadata.annotations["svc.dev/for"]).sort()).toEqual(["api", "web"]);
    for (const { metadata } of created) {
      expect(metadata.name).toMatch(new RegExp(`^svc-tmp-${one}-[0-9a-f]{16}$`));
      expect(metadata.labels).toEqual({ ...LABELS, "svc.dev/change-request": `${host}-${one}` });
      expect(metadata.annotations["argocd.argoproj.io/skip-reconcile"]).toBe("true");
      const expires = Date.parse(metadata.annotations["svc.dev/expires"] ?? "") - begin;
      expect(expires).toBeGreaterThanOrEqual(2 * RENDER_TIMEOUT_MS);
      expect(expires).toBeLessThan(2 * RENDER_TIMEOUT_MS + 60_000);
      expect(metadata).not.toHaveProperty("finalizers");
      expect(metadata).not.toHaveProperty("ownerReferences");
    }
    const deletions = bot.argocd.requests.filter(({ method }) => method === "DELETE");
    expect(deletions.map(({ query }) => query.cascade)).toEqual([["false"], ["false"]]);
    await bot.comment(one, "svc plan");
    expect(
      creations(bot)
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).toEqual([...created, ...created].map(({ metadata }) => metadata.name).sort());
  });

  test("deleted in a finally: also when its render fails", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "argocd/web.yaml": asYaml(bot.resourceOf("web", { path: "apps/nowhere" })) });
    expect(bot.lastComment(one)).toContain("**Changes:** could not be evaluated");
    expect(creations(bot)).toHaveLength(1);
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });

  test("a run that starts again deletes its own predecessor's by name", async () => {
    const bot = await startBot({ host });
    const removed = bot.argocd.faults.add({ method: "DELETE", fault: { kind: "drop" } });
    const one = await bot.open(newDefinitions(bot, ["web"]));
    removed();
    const [left] = bot.argocd.temporaryApplications();
    expect(left?.metadata.name).toMatch(/^svc-tmp-/);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("+  value: next");
    expect(creations(bot).at(-1)?.metadata.name).toBe(left?.metadata.name);
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });

  test("its name in a manifest does not pass for the application's, which stands in the same place", async () => {
    const image = (name: string) => configMap("web", { value: `images.example.com/${name}:1` });
    const bot = await startBot({
      host,
      files: () => ({ "apps/web/configmap.yaml": image("web") }),
      config: { deployer: { diff_mode: "branch", temporary_apps: "always" } },
    });
    const one = await bot.open({ "apps/web/configmap.yaml": image("other") });
    for (const { metadata } of creations(bot)) {
      await bot.push(one, { "apps/web/configmap.yaml": image(metadata.name) });
      expect(bot.lastComment(one)).toContain(`+  value: images.example.com/${metadata.name}:1`);
    }
  });

  test("sweeps delete expired ones only, at start and later, and nothing else", async () => {
    const log = new ServiceLog();
    const expires = (ms: number) => ({ "svc.dev/expires": new Date(Date.now() + ms).toISOString() });
    const others = {
      "svc-tmp-7-young": { labels: LABELS, annotations: expires(DAY_MS / 2) },
      "svc-tmp-7-undated": { labels: LABELS, annotations: {} },
      "svc-tmp-7-unlabelled": { labels: {}, annotations: expires(-DAY_MS) },
      "real-labelled": { labels: LABELS, annotations: expires(-DAY_MS) },
    };
    const bot = await startBot({
      host,
      log: log.write,
      prepare({ argocd }) {
        argocd.addApplication(temporary("svc-tmp-7-old", { labels: LABELS, annotations: expires(-1000) }));
        for (const [name, more] of Object.entries(others)) argocd.addApplication(temporary(name, more));
      },
    });
    expect(await log.first("deleted expired temporary Applications")).toMatchObject({ deleted: 1 });
    const names = () => bot.argocd.applications().map(({ metadata }) => metadata.name);
    expect(names().sort()).toEqual(["api", ...Object.keys(others), "web"].sort());
    bot.clock.advance(DAY_MS);
    await bot.service.sweep();
    const kept = Object.keys(others).filter((name) => name !== "svc-tmp-7-young");
    expect(names().sort()).toEqual(["api", ...kept, "web"].sort());
    bot.argocd.removeApplication("svc-tmp-7-undated");
    bot.argocd.removeApplication("real-labelled");
  });
});

interface Created {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
}

/** Bodies of the requests that created an Application. */
function creations(bot: Bot): readonly Created[] {
  return bot.argocd.requests
    .filter(({ method, path }) => method === "POST" && path.endsWith("/applications"))
    .map(({ body }) => body as Created);
}
