import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, nameOn, REPOSITORY, startBot, USUAL_RENDERS, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap, hydrated } from "../scenarios/resources.js";
import { generatedApplication, names, runsShops, shopsResource } from "../scenarios/sets.js";
import { startTwoHosts } from "./two-hosts.js";

const PLATFORM = "acme/platform";
const STRICT = { ".svc.yaml": "require_approval: true\n" };
const UNAPPROVED = "PR must be approved before sync";
const START = { method: "POST", path: /\/api\/v1\/applications\/web\/sync$/ };
const RESULT = { method: "POST", path: /\/(?:comments|notes)$/ };
const STATUS = (host: HostId) => ({ [host]: { commit_status: true } });
const tracked = (parent: string, name: string) => ({
  "argocd.argoproj.io/tracking-id": `${parent}:argoproj.io/Application:argocd/${name}`,
});

interface World {
  /** Of the repository that defines `web`; undefined: it has no such repository. */
  readonly files?: FileChanges;
  /** Address of that repository, given the root of the code host. */
  readonly at?: (root: string) => string;
  readonly follows?: string;
  /** False: the parent that tracks `web` does not run, or svc may not see it. */
  readonly visible?: boolean;
}

/** The change requests' repository has only what `web` deploys, and no rules; `root` of another one applies its definition. */
function start(
  host: HostId,
  { files, at = (root) => `${root}/${PLATFORM}.git`, follows = "main", visible = true }: World,
  more: Partial<BotOptions> = {},
): Promise<Bot> {
  return startBot({
    host,
    applications: ["web"],
    config: STATUS(host),
    resources: () => ({ web: { annotations: tracked("root", "web") } }),
    files: () => ({ "argocd/web.yaml": null }),
    ...more,
    prepare: async (world, forge) => {
      if (files !== undefined) await forge.createRepository(PLATFORM, { "README.md": "Platform\n", ...files });
      const root = { repoURL: at(forge.url), path: "argocd", targetRevision: follows };
      if (visible) world.argocd.addApplication(applicationResource("root", root));
      await more.prepare?.(world, forge);
    },
  });
}

/** A sync is refused, and the status waits, until the head is approved. */
async function expectBarred(bot: Bot, reason: RegExp, application = "web", path = application): Promise<void> {
  const one = await bot.open(changeOf([path]));
  if (bot.host === "hostb") {
    bot.forge.runPipeline(REPOSITORY, one);
    await bot.comment(one, "svc plan");
  }
  const status = () => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
  expect(status()).toMatchObject({ state: "pending" });
  await bot.comment(one, "svc sync");
  expect(bot.lastComment(one)).toContain(UNAPPROVED);
  expect(bot.lastComment(one)).toMatch(reason);
  expect(bot.changes()).toEqual([]);
  await bot.approve(one);
  bot.expectChanges(`sync ${application}`);
  await bot.comment(one, "svc sync");
  expect(bot.changes()).toEqual([`sync ${application}`]);
  expect(status()).toMatchObject({ state: "success" });
}

describe.each(HOSTS)("rules of the repository that defines an application which another one deploys, on %s", (host) => {
  test("its approval is required, by a sync and by the status", async () => {
    const bot = await start(host, { files: STRICT });
    await expectBarred(bot, /- `web`: the rules of 127\.0\.0\.1\/acme\/platform, which defines it, require one/);
  });

  test.each([
    ["the default branch, where the parent follows another", { main: STRICT, follows: "live" }],
    [
      "the branch that the parent follows, where the default branch has none",
      { main: { "a.txt": "a" }, live: STRICT, follows: "live" },
    ],
  ] as const)("the file counts on %s", async (_, { main, follows, ...branches }) => {
    const live = "live" in branches ? branches.live : { ".svc.yaml": "require_approval: false\n" };
    const bot = await start(
      host,
      { files: main, follows },
      { prepare: (_world, forge) => forge.pushToBranch(PLATFORM, "live", live).then(() => undefined) },
    );
    await expectBarred(bot, /the rules of 127\.0\.0\.1\/acme\/platform, which defines it, require one/);
  });

  test.each([
    ["", ""],
    [
      ", also where the file has a pattern of names that only an earlier svc took",
      ", {name: 'a-{b}', require_healthy: true}",
    ],
  ])("people that it allows are the only ones%s", async (_, more) => {
    const file = `sync_requirements: [{name: w*, allowed_users: [bo]}${more}]\n`;
    const bot = await start(host, { files: { ".svc.yaml": file } });
    const one = await bot.open(changeOf(["web"]));
    if (more !== "") {
      await bot.comment(one, "svc sync", "bo");
      expect(bot.lastComment(one)).toContain(UNAPPROVED);
      await bot.approve(one);
    }
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`ana` may not run `svc sync` for:");
    expect(bot.lastComment(one)).toMatch(/`web`: only bo \(by the rules of 127\.0\.0\.1\/acme\/platform\) may/);
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync", "bo");
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("people that it allows are the only ones to roll back, also where the plan of a later commit leaves it out", async () => {
    const files = { ".svc.yaml": "sync_requirements: [{name: web, allowed_users: [bo]}]\n" };
    const bot = await start(host, { files }, { applications: ["web", "api"] });
    const one = await bot.open(changeOf(["web"]), { draft: true });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc plan", "bo");
    await bot.comment(one, "svc sync", "bo");
    await bot.push(one, changeOf(["api"]));
    await bot.comment(one, "svc plan -a api");
    await bot.comment(one, "svc rollback -a web");
    expect(bot.lastComment(one)).toMatch(/`web`: only bo \(by the rules of 127\.0\.0\.1\/acme\/platform\) may/);
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("on the other host: its approval is required, and nobody has the names of its lists here", async () => {
    const other = host === "hosta" ? "hostb" : "hosta";
    for (const [file, text] of [
      ["require_approval: true\n", /- `web`: the rules of 127\.0\.0\.1\/acme\/platform, which defines it, require one/],
      [
        "sync_requirements: [{name: web, allowed_users: [ana]}]\n",
        /`ana` may not run `svc sync` for:\s+- `web`: nobody may, because the list of 127\.0\.0\.1\/acme\/platform names nobody here/,
      ],
    ] as const) {
      const both = await startTwoHosts(host, { annotations: tracked("root", "web") });
      await both.forges[other].createRepository(PLATFORM, { ".svc.yaml": file });
      const repoURL = both.forges[other].cloneUrl(PLATFORM);
      both.world.argocd.addApplication(applicationResource("root", { repoURL, path: "argocd" }));
      const forge = both.forges[host];
      const one = await forge.open({ repository: REPOSITORY, by: "ana", changes: changeOf(["web"]) });
      await both.idle();
      await forge.comment(REPOSITORY, one, "ana", "svc sync");
      await both.idle();
      expect(both.lastComment(host, one)).toMatch(text);
      expect(both.changes()).toEqual([]);
    }
  });

  test("an up-to-date branch that it requires is required", async () => {
    const bot = await start(host, { files: { ".svc.yaml": "require_up_to_date: true\n" } });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/web/other.yaml": "{}\n" });
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("the base branch");
    expect(bot.changes()).toEqual([]);
  });

  test("a repository that is read and has no file adds nothing, and a file that requires nothing lifts nothing", async () => {
    const lax: readonly FileChanges[] = [{}, { ".svc.yaml": "require_approval: false\n" }];
    for (const files of lax) {
      const bot = await start(host, { files });
      const one = await bot.open(changeOf(["web"]));
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync");
      expect(bot.changes()).toEqual(["sync web"]);
      const strict = await start(host, { files }, { config: { defaults: { require_approval: true } } });
      const two = await strict.open(changeOf(["web"]));
      await strict.comment(two, "svc sync");
      expect(strict.lastComment(two)).toContain("Approval is required for `web`.");
    }
  });

  test("the server's default is the deploying repository's to override, not that of the one that defines", async () => {
    const bot = await start(
      host,
      { files: { ".svc.yaml": "require_up_to_date: false\n" } },
      {
        config: { defaults: { require_approval: true } },
        files: () => ({ "argocd/web.yaml": null, ".svc.yaml": "require_approval: false\n" }),
      },
    );
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync web"]);

    for (const required of ["", "require_healthy: true\n"]) {
      const healthy = await start(
        host,
        { files: { ".svc.yaml": "require_healthy: true\n" } },
        {
          config: { defaults: { health_timeout: "1m" } },
          files: () => ({
            "argocd/web.yaml": null,
            ".svc.yaml": `${required}health_timeout: 10m\non_failure: rollback\n`,
          }),
          prepare: ({ argocd }) => argocd.deploy("web"),
        },
      );
      const two = await healthy.open(changeOf(["web"]));
      healthy.argocd.playHealth("web", [{ status: "Progressing" }]);
      healthy.expectChanges("sync web");
      const began = healthy.clock.now().getTime();
      await healthy.comment(two, "svc sync");
      expect(healthy.lastComment(two)).toContain("↩️ rolled back: `web`");
      expect(healthy.clock.now().getTime() - began).toBeGreaterThan(10 * 60_000);
    }
  });

  test.each([
    [
      "does not exist, or hides from svc",
      {},
      /acme\/platform, which defines it, could not be read: Git(?:Hub found|Lab could) no[^:]*: check that it still exists/,
    ],
    [
      "is on a server that svc is not configured for",
      { at: () => "https://git.elsewhere.example/acme/platform.git" },
      /git\.elsewhere\.example\/acme\/platform, which defines it, could not be read: it is on no code host that svc is configured for/,
    ],
    ["has a broken file", { files: { ".svc.yaml": "require_approval: [\n" } }, /its \.svc\.yaml cannot be used/],
    ["has a file that is no text", { files: { ".svc.yaml": "a\0b" } }, /its \.svc\.yaml is not a text file/],
    [
      "is not known, since svc cannot see the parent",
      { files: {}, visible: false },
      /repository that defines it are not known: svc cannot see the application root/,
    ],
  ] as const)("an approval is required, and the reason named, if it %s", async (_, world, reason) => {
    await expectBarred(await start(host, world), reason);
  });

  test("where nothing declares the application, the other repositories of its own sources count", async () => {
    const bot = await startBot({
      host,
      config: { ...USUAL_RENDERS, ...STATUS(host) },
      applications: [],
      files: () => changeOf(["web"], "1"),
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository(PLATFORM, { ...STRICT, ...changeOf(["shared"], "1") });
        const sources = [REPOSITORY, PLATFORM].map((name, index) => {
          return { repoURL: forge.cloneUrl(name), path: ["apps/web", "apps/shared"][index], targetRevision: "main" };
        });
        const repoURL = forge.cloneUrl(REPOSITORY);
        argocd.addApplication(applicationResource("web", { repoURL, spec: { source: undefined, sources } }));
      },
    });
    await expectBarred(bot, /the rules of 127\.0\.0\.1\/acme\/platform, which defines it, require one/);
  });

  test.each([
    ["whose generator reads that repository", false],
    ["that a parent of that repository applies", true],
  ])("an application of an ApplicationSet %s", async (_, byParent) => {
    const bot = await startBot({
      host,
      applications: [],
      files: () => ({ "shops/web/configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n" }),
      prepare: async (world, forge) => {
        await forge.createRepository(PLATFORM, { ...STRICT, "shops/web/config.json": '{"name": "web"}' });
        const [repoURL, platform] = [forge.cloneUrl(REPOSITORY), forge.cloneUrl(PLATFORM)];
        const generator = byParent
          ? names("web")
          : { git: { repoURL: platform, revision: "main", files: [{ path: "shops/*/config.json" }] } };
        const set = shopsResource(repoURL, generator);
        const annotations = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/ApplicationSet:argocd/shops" };
        const metadata = { name: "shops", ...(byParent ? { annotations } : {}) };
        runsShops(world, { ...set, metadata }, [generatedApplication("web", { repoURL })]);
        if (byParent) world.argocd.addApplication(applicationResource("root", { repoURL: platform, path: "argocd" }));
      },
    });
    const one = await bot.open({
      "shops/web/configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n",
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(
      /- `shop-web`: the rules of 127\.0\.0\.1\/acme\/platform, which defines it, require one/,
    );
    expect(bot.changes()).toEqual([]);
  });

  test("people that the repository of a set allows are the only ones to hold or roll back what it generates, also where no plan names that", async () => {
    const shop = (value: string) => ({ "shops/web/configmap.yaml": configMap("web", { value }) });
    const bot = await startBot({
      host,
      applications: ["api"],
      files: () => shop("1"),
      prepare: async (world, forge) => {
        const rules = { ".svc.yaml": "sync_requirements: [{name: shop-web, allowed_users: [bo]}]\n" };
        await forge.createRepository(PLATFORM, { ...rules, "shops/web/config.json": '{"name": "web"}' });
        const [repoURL, platform] = [forge.cloneUrl(REPOSITORY), forge.cloneUrl(PLATFORM)];
        const generator = { git: { repoURL: platform, revision: "main", files: [{ path: "shops/*/config.json" }] } };
        runsShops(world, shopsResource(repoURL, generator), [generatedApplication("web", { repoURL })]);
      },
    });
    const one = await bot.open(shop("2"), { draft: true });
    await bot.comment(one, "svc plan", "bo");
    await bot.push(one, changeOf(["api"]));
    await bot.comment(one, "svc plan -a api");
    await bot.comment(one, "svc rollback -a shop-web");
    expect(bot.lastComment(one)).toMatch(/`shop-web`: only bo \(by the rules of 127\.0\.0\.1\/acme\/platform\) may/);
    bot.expectChanges("sync shop-web");
    await bot.comment(one, "svc plan", "bo");
    await bot.comment(one, "svc sync -a shop-web", "bo");
    await bot.comment(one, 'svc hold -a shop-web --reason "freeze"');
    expect(bot.lastComment(one)).toMatch(/`shop-web`: only bo \(by the rules of 127\.0\.0\.1\/acme\/platform\) may/);
    await bot.push(one, changeOf(["api"], "3"));
    await bot.comment(one, "svc plan -a api");
    await bot.comment(one, "svc rollback -a shop-web");
    expect(bot.lastComment(one)).toMatch(/`shop-web`: only bo \(by the rules of 127\.0\.0\.1\/acme\/platform\) may/);
    expect(bot.changes()).toEqual(["sync shop-web"]);
  });

  test("a child that a parent of both repositories gives a new definition", async () => {
    const child = (path: string, repoURL: string) => asYaml(applicationResource("web", { repoURL, path }));
    const bot = await startBot({
      host,
      config: USUAL_RENDERS,
      applications: [],
      files: (own) => ({ ...changeOf(["web", "next"], "1"), "children/web.yaml": child("apps/web", own) }),
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository(PLATFORM, { ...STRICT, ...changeOf(["shared"], "1") });
        const sources = [
          { repoURL: forge.cloneUrl(REPOSITORY), path: "children", targetRevision: "main" },
          { repoURL: forge.cloneUrl(PLATFORM), path: "apps/shared", targetRevision: "main" },
        ];
        const repoURL = forge.cloneUrl(REPOSITORY);
        const annotations = tracked("root", "web");
        argocd.addApplication(applicationResource("web", { repoURL, annotations }));
        // An administrator lets this repository define the parent, whose own rules are not asked.
        argocd.addApplication(
          applicationResource("root", {
            repoURL,
            spec: { source: undefined, sources },
            annotations: { ...tracked("top", "root"), "svc.dev/repository": nameOn(host, REPOSITORY) },
          }),
        );
        argocd.addApplication(applicationResource("top", { repoURL, path: "top" }));
      },
    });
    const one = await bot.open({ "children/web.yaml": child("apps/next", bot.forge.cloneUrl(REPOSITORY)) });
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toMatch(
      /web`: a sync of root changes it; the rules of 127\.0\.0\.1\/acme\/platform, which defines it, require one/,
    );
    expect(bot.changes()).toEqual([]);
  });

  test("no status is green without its approval for what only the merge deploys, although nothing is planned by itself", async () => {
    const annotations = tracked("root", "web");
    const config = { ...STATUS(host), defaults: { autoplan: false } };
    const worlds: readonly (readonly [FileChanges, Partial<BotOptions>])[] = [
      [changeOf(["web"]), { resources: (url) => ({ web: { annotations, spec: hydrated(url) } }) }],
      [
        changeOf(["base"]),
        {
          files: (url) => ({
            ...changeOf(["base"], "1"),
            "apps/web/kustomization.yaml": asYaml({ resources: [`${url}//apps/base?ref=main`] }),
            "argocd/web.yaml": null,
          }),
        },
      ],
    ];
    for (const [changes, more] of worlds) {
      const bot = await start(host, { files: STRICT }, { config, ...more });
      const one = await bot.open(changes);
      if (host === "hostb") {
        bot.forge.runPipeline(REPOSITORY, one);
        await bot.close(one);
        await bot.forge.reopen(REPOSITORY, one);
        await bot.idle();
      }
      const status = () => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
      expect(status()).toMatchObject({ state: "pending" });
      await bot.comment(one, "svc plan");
      expect(status()).toMatchObject({ state: "pending" });
      await bot.approve(one);
      expect(status()).toMatchObject({ state: "success" });
    }
  });

  test("no status is green where Argo CD does not say what generates that", async () => {
    const bot = await startBot({
      host,
      config: STATUS(host),
      applications: [],
      files: (url) => ({
        ...changeOf(["base"], "1"),
        "shops/web/kustomization.yaml": asYaml({ resources: [`${url}//apps/base?ref=main`] }),
      }),
      prepare: async (world, forge) => {
        await forge.createRepository(PLATFORM, { ...STRICT, "shops/web/config.json": '{"name": "web"}' });
        const [repoURL, platform] = [forge.cloneUrl(REPOSITORY), forge.cloneUrl(PLATFORM)];
        const generator = { git: { repoURL: platform, revision: "main", files: [{ path: "shops/*/config.json" }] } };
        runsShops(world, shopsResource(repoURL, generator), [generatedApplication("web", { repoURL })]);
      },
    });
    bot.argocd.faults.add({ path: /\/applications\/shop-web$/, fault: { kind: "status", status: 502, body: "{}" } });
    const one = await bot.open(changeOf(["base"]));
    if (host === "hostb") bot.forge.runPipeline(REPOSITORY, one);
    await bot.comment(one, "svc plan");
    const { headRevision } = bot.seen(one);
    expect(bot.forge.statuses(REPOSITORY, headRevision).at(-1)).toMatchObject({ state: "pending" });
  });

  test.each([
    ["right before the sync", { method: "GET", path: /\/api\/v1\/applications\/web$/ }],
    ["while it runs, before the merge", START],
  ] as const)("rules that get stricter %s are read again", async (moment, at) => {
    const bot = await start(host, { files: {} }, { config: { defaults: { auto_merge: true, merge_method: "merge" } } });
    const one = await bot.open(changeOf(["web"]));
    const stricter = () => bot.forge.pushToBranch(PLATFORM, "main", STRICT).then(() => undefined);
    if (moment.startsWith("right")) bot.meanwhile("argocd", at, stricter);
    else bot.meanwhile("forge", RESULT, stricter);
    if (!moment.startsWith("right")) bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.changes()).toEqual(moment.startsWith("right") ? [] : ["sync web"]);
    expect(bot.lastComment(one)).toMatch(
      moment.startsWith("right")
        ? /- `web`: the rules of 127\.0\.0\.1\/acme\/platform, which defines it, require one/
        : /`web`: (?:PR|MR) must be approved before it is merged/,
    );
  });
});
