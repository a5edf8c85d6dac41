import { describe, expect, test } from "@jest/globals";
import type { SeenComment } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { PASSWORD } from "../web/site-under-test.js";
import { Visitor } from "../web/visitor.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { asYaml, changeOf, configMap } from "./resources.js";

type Settings = Readonly<Record<string, string>>;

/** With pages that people can log in to, or without. */
function start(host: HostId, comments: Settings, login: boolean): Promise<Bot> {
  const users = [{ username: "olga", password: PASSWORD, role: "admin" }];
  const auth = { enabled: true, session_secret: "session-secret-of-the-tests-5b1f0e", cookie_secure: false };
  return startBot({ host, config: { comments, ...(login && { auth: { ...auth, basic: { users } } }) } });
}

async function pageOf(bot: Bot, number: number): Promise<string> {
  const olga = new Visitor(bot.service.url);
  expect((await olga.ask("/auth/basic/login", { json: { username: "olga", password: PASSWORD } })).status).toBe(200);
  return (await olga.ask(`/changes/${bot.host}/acme/deploy/${number}`)).text;
}

/** New ConfigMaps of 45,000 characters each. */
function longConfigMaps(count: number): Record<string, string> {
  const values = Array.from({ length: 450 }, (_, at) => [`k${at}`, "x".repeat(90)] as const);
  const names = Array.from({ length: count }, (_, at) => `long-${at}`);
  return Object.fromEntries(
    names.map((name) => [`apps/web/${name}.yaml`, configMap(name, Object.fromEntries(values))]),
  );
}

const LONG = longConfigMaps(3);

describe.each(HOSTS)("how many comments a plan has on %s", (host) => {
  test.each<[string, Settings, boolean, number]>([
    ["auto, where people can log in", {}, true, 1],
    ["auto, where nobody can log in", {}, false, 3],
    ["all, where people can log in", { plan: "all" }, true, 3],
    ["one, where nobody can log in", { plan: "one" }, false, 1],
  ])("comments.plan: %s", async (_, comments, login, count) => {
    const bot = await start(host, comments, login);
    const one = await bot.open({ ...LONG, ...changeOf(["web"]) });
    // GitLab takes comments of a million characters.
    const short = host === "hosta";
    expect(bot.answers(one)).toHaveLength(short ? count : 1);
    const said = bot.answers(one).join("\n");
    expect(said).toContain('-  value: "1"\n+  value: "2"');
    expect(said.match(/^\+ {2}k449:/gm) ?? []).toHaveLength(short && count === 1 ? 1 : 3);
    if (count > 1 || !short) return;
    expect(said).toMatch(/1 more changed resource is too long to show here|more lines are not shown/);
    if (login) expect((await pageOf(bot, one)).match(/>k449</g)).toHaveLength(3);
  });
});

describe.each(HOSTS)("a plan of several comments on %s", (host) => {
  test("whose first one was deleted is posted anew once, and what is left of it is outdated", async () => {
    const config = { comments: { plan: "all" }, defaults: { require_approval: true } };
    const bot = await startBot({ host, config });
    const one = await bot.open({ ...longConfigMaps(host === "hosta" ? 3 : 8), ...changeOf(["web"]) });
    const plans = () => bot.seen(one).comments.filter(({ body }) => body.startsWith("<!-- svc:plan "));
    const before = plans();
    const parts = before.length;
    expect(parts).toBeGreaterThan(1);
    bot.forge.deleteComment(REPOSITORY, one, before[0]?.id ?? "");
    await bot.approve(one);
    const [old, anew] = [plans().slice(0, parts - 1), plans().slice(parts - 1)];
    expect(old.map(({ id }) => id)).toEqual(before.slice(1).map(({ id }) => id));
    const stateOf = ({ body, minimised }: SeenComment) => ({
      stale: body.includes("Outdated plan of commit"),
      minimised,
    });
    expect(old.map(stateOf)).toEqual(old.map(() => ({ stale: true, minimised: host === "hosta" })));
    expect(anew.map(stateOf)).toEqual(before.map(() => ({ stale: false, minimised: false })));
    expect(anew[0]?.body).toContain("pproved by `bo`");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(plans()).toHaveLength(2 * parts - 1);
    expect(plans()[parts - 1]?.body).toContain("✅ deployed by `ana`");
  });

  test("takes back what it warned of an application, wherever that stands", async () => {
    const bot = await startBot({ host, config: { comments: { plan: "all" } } });
    const more = (value: string) => ({ "apps/web/more.yaml": configMap("more", { value }) });
    await bot.forge.pushToBranch(REPOSITORY, "main", more("1"));
    const one = await bot.open({ ...longConfigMaps(host === "hosta" ? 3 : 8), ...changeOf(["web"]) });
    await bot.forge.pushToBranch(REPOSITORY, "main", more("2"));
    await bot.comment(one, "svc plan");
    const plan = () => bot.answers(one).filter((body) => !body.includes("Outdated plan"));
    const parts = plan().length;
    expect(parts).toBeGreaterThan(1);
    expect(plan().join("")).toContain("a sync would revert this commit");
    await bot.forge.pushToBranch(REPOSITORY, "main", more("1"));
    await bot.idle();
    expect(plan()).toHaveLength(parts);
    expect(plan().join("")).not.toContain("would revert");
    expect(plan()[0]).toContain("\nsvc sync\n");
  });
});

describe.each(HOSTS)("a large object on %s", (host) => {
  const versions = (from: number, type: string) => {
    const properties = Object.fromEntries(
      Array.from({ length: 900 }, (_, at) => [
        `field${String(at)}`,
        { type: at < from ? "string" : type, nullable: true },
      ]),
    );
    return [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { properties: { spec: { properties } } } },
      },
    ];
  };
  const crd = (from: number, type: string) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "shops.example.com" },
    spec: { group: "example.com", scope: "Namespaced", versions: versions(from, type) },
  });

  test("is shown by the sections that change, and its page shows both sides", async () => {
    const bot = await start(host, {}, true);
    await bot.argocd.pollGit();
    const tip = String(bot.argocd.application("web")?.status.sync.revision);
    bot.argocd.setManifests("web", "*", [crd(0, "integer")]);
    bot.argocd.setManifests("web", tip, [crd(0, "string")]);
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toMatch(
      /^# Too many lines differ to be shown: \d+ lines before, \d+ after\. What changes:$/m,
    );
    expect(bot.lastComment(one)).toContain(
      "#   spec.versions[v1].schema.openAPIV3Schema.properties.spec.properties: 900 lines removed, 900 lines added",
    );
    const page = await pageOf(bot, one);
    expect(page).toContain("<summary>Before");
    expect(page).toContain("<summary>After");
    expect(page.match(/class="key">field899</g)).toHaveLength(2);
  });
});

describe.each(HOSTS)("a changed definition on %s", (host) => {
  const info = (value: string) => ({ info: [{ name: "db-password", value }] });

  test("is shown beside the objects, without what looks secret", async () => {
    const bot = await startBot({ host, resources: () => ({ web: { spec: info("hunter2") } }) });
    const one = await bot.open({
      "argocd/web.yaml": asYaml(bot.resourceOf("web", { path: "apps/moved", spec: info("hunter3") })),
      "apps/moved/configmap.yaml": configMap("web", { value: "2" }),
    });
    const said = bot.lastComment(one);
    expect(said).toContain("<summary>Diff of the definition</summary>");
    expect(said).toContain("-    path: apps/web\n+    path: apps/moved");
    expect(said).toContain("-      value: (hidden, value 1)\n+      value: (hidden, value 2)");
    expect(said).toContain('-  value: "1"\n+  value: "2"');
    expect(said).not.toMatch(/hunter\d/);
    expect(JSON.stringify(await bot.stores.plans.find(bot.ref(one)))).not.toMatch(/hunter3/);
  });

  test("is shown as well where both sides render the same, and where the head cannot be rendered", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({
      "argocd/web.yaml": asYaml(bot.resourceOf("web", { path: "apps/moved" })),
      "apps/moved/configmap.yaml": configMap("web", { value: "1" }),
    });
    expect(bot.lastComment(one)).toContain("No changes: the head commit and the target branch render the same.");
    expect(bot.lastComment(one)).toContain("+    path: apps/moved");
    const two = await bot.open({ "argocd/api.yaml": asYaml(bot.resourceOf("api", { path: "apps/missing" })) });
    expect(bot.lastComment(two)).toContain("could not be evaluated");
    expect(bot.lastComment(two)).toContain("+    path: apps/missing");
    expect(bot.lastComment(two)).toMatch(/Fix what keeps `(?:api|web)` from being evaluated, then push/);
  });
});
