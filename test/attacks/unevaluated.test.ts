import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, USUAL_RENDERS, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf } from "../scenarios/resources.js";
import { cloneUrlOf, names, runsShops, shops, shopsResource } from "../scenarios/sets.js";

const NOWHERE = "apps/nowhere";
const AUTO = { spec: { syncPolicy: { automated: {} } } };
const UNEVALUATED =
  "the merge would deploy it, and it could not be evaluated: fix it and push, or have somebody who may deploy it approve this commit after its plan";

interface Options extends Pick<BotOptions, "files"> {
  readonly config?: Readonly<Record<string, object>>;
}

function start(host: HostId, options: Options = {}): Promise<Bot> {
  return startBot({
    host,
    resources: () => ({ api: AUTO }),
    ...options,
    config: {
      defaults: { auto_merge: true, require_approval: false },
      ...(host === "hostb" && { hostb: { commit_status: true } }),
      ...options.config,
    },
    files: (url) => ({
      ...options.files?.(url),
      "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
      "children/none.yaml": "",
      "sets/shops.yaml": shops(url, names()),
    }),
    prepare: (world, forge) => {
      const url = cloneUrlOf(forge);
      world.argocd.addApplication(applicationResource("root", { repoURL: url, path: "children", ...AUTO }));
      world.argocd.addApplication(applicationResource("shop-old", { repoURL: url, path: "old" }));
      runsShops(world, shopsResource(url, names()), []);
    },
  });
}

const added = (bot: Bot): FileChanges => ({ "argocd/fresh.yaml": asYaml(bot.resourceOf("fresh", { path: NOWHERE })) });
const autoSynced = (): FileChanges => ({ "apps/api/kustomization.yaml": "resources: [missing.yaml]\n" });
const CASES: readonly (readonly [string, string, (bot: Bot) => FileChanges])[] = [
  ["an auto-synced one", "api", autoSynced],
  ["a new one", "fresh", added],
  ["a generated one", "shop-it", (bot) => ({ "sets/shops.yaml": shops(cloneUrlOf(bot.forge), names("it")) })],
  [
    "a generated one whose set another file defines too",
    "shop-it",
    (bot) => ({
      "sets/shops.yaml": shops(cloneUrlOf(bot.forge), names("it")),
      "docs/example.yaml": shops(cloneUrlOf(bot.forge), names(), { syncPolicy: { applicationsSync: "create-update" } }),
    }),
  ],
  [
    "a generated one that comes twice",
    "shop-it",
    (bot) => ({ "sets/shops.yaml": shops(cloneUrlOf(bot.forge), names("it", "it")) }),
  ],
  [
    "a running one that a set takes over",
    "shop-old",
    (bot) => ({ "sets/shops.yaml": shops(cloneUrlOf(bot.forge), names("old")) }),
  ],
  [
    "a new child",
    "child",
    (bot) => ({
      "children/child.yaml": asYaml(
        applicationResource("child", { repoURL: cloneUrlOf(bot.forge), namespace: "argocd", path: NOWHERE }),
      ),
    }),
  ],
];

const statusOf = (bot: Bot, one: number) => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);

/** Opens a change of `web` as well, so that svc merges what the rest allows. */
function openWith(bot: Bot, changes: FileChanges): Promise<number> {
  return openShown(bot, { ...changeOf(["web"], "2"), ...changes });
}

/** Opens a change whose commit status can be seen: GitLab keeps statuses in pipelines. */
async function openShown(bot: Bot, changes: FileChanges): Promise<number> {
  const one = await bot.open(changes);
  if (bot.host === "hosta") return one;
  bot.forge.runPipeline(REPOSITORY, one);
  await bot.close(one);
  await bot.forge.reopen(REPOSITORY, one);
  await bot.idle();
  return one;
}

async function syncWeb(bot: Bot, one: number): Promise<string> {
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync -a web");
  return bot.lastComment(one);
}

const PLANS_ON_COMMAND = { config: { defaults: { auto_merge: true, autoplan: false } } } as const;
const OF_FRESH = `- \`fresh\`: ${UNEVALUATED}`;
const EARLY = "bo approved before svc knew that it failed: approve again";

describe.each(HOSTS)("what cannot be rendered and takes effect at the merge on %s", (host) => {
  test.each(CASES)("%s bars merge and status until somebody approves what the plan named", async (_, name, attack) => {
    const bot = await start(host);
    const one = await openWith(bot, attack(bot));
    const answer = await syncWeb(bot, one);
    expect(answer).toContain(`- \`${name}\`: ${UNEVALUATED}`);
    expect(answer).toContain(`fix what keeps \`${name}\` from being evaluated and push, or have somebody`);
    expect(bot.seen(one).state).toBe("open");
    expect(statusOf(bot, one)).toMatchObject({
      state: "failure",
      description: expect.stringContaining(
        `could not be evaluated: ${name}: fix and push, or have one who may deploy it approve after this plan`,
      ) as unknown,
    });
    await bot.approve(one);
    expect(statusOf(bot, one)).toMatchObject({ state: "success" });
  });

  test("is synced by nobody, also once it is approved", async () => {
    const bot = await start(host);
    const one = await bot.open(autoSynced());
    await bot.approve(one);
    await bot.comment(one, "svc sync -a api");
    expect(bot.lastComment(one)).toContain("The last plan could not evaluate it:");
    expect(bot.changes()).toEqual([]);
  });

  test("is not brought by the sync of a parent, which makes Argo CD deploy it at once, until it is approved after its plan", async () => {
    const bot = await startBot({
      host,
      applications: [],
      config: { defaults: { autoplan: false } },
      files: (url) => ({
        "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
        "children/none.yaml": "",
      }),
      prepare: (world, forge) => {
        world.argocd.addApplication(applicationResource("root", { repoURL: cloneUrlOf(forge), path: "children" }));
      },
    });
    const child = { repoURL: cloneUrlOf(bot.forge), namespace: "argocd", path: NOWHERE, ...AUTO };
    const one = await bot.open({ "children/child.yaml": asYaml(applicationResource("child", child)) });
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toContain("`child`: a sync of root would deploy it, and it could not be evaluated:");
    expect(bot.lastComment(one)).toContain(EARLY);
    expect(bot.changes()).toEqual([]);
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync -a root");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("is merged by svc once it is approved", async () => {
    const bot = await start(host);
    const one = await openWith(bot, added(bot));
    await bot.approve(one);
    await syncWeb(bot, one);
    expect(bot.seen(one).state).toBe("merged");
  });

  test("is not lifted by an approval from before the plan, and is by one from after it, also if it is planned again", async () => {
    const bot = await start(host, PLANS_ON_COMMAND);
    const one = await openWith(bot, added(bot));
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    expect(await syncWeb(bot, one)).toContain(`${OF_FRESH} (${EARLY})`);
    expect(bot.seen(one).state).toBe("open");
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    expect(statusOf(bot, one)).toMatchObject({ state: "success" });
  });

  test("is not lifted by an approval in the second of the plan", async () => {
    const bot = await start(host, PLANS_ON_COMMAND);
    const one = await openWith(bot, added(bot));
    bot.forge.freezeClock();
    await bot.comment(one, "svc plan");
    await bot.approve(one);
    expect(await syncWeb(bot, one)).toContain(`${OF_FRESH} (${EARLY})`);
  });

  test("is not lifted for another failure than the one that was approved", async () => {
    // Where every render is a POST, web would fail as well.
    const bot = await start(host, { config: USUAL_RENDERS });
    const one = await openWith(bot, added(bot));
    await bot.approve(one);
    bot.argocd.faults.add({ path: /./, method: "POST", fault: { kind: "status", status: 500, body: "{}" } });
    await bot.comment(one, "svc plan");
    bot.argocd.faults.clear();
    expect(await syncWeb(bot, one)).toContain(`${OF_FRESH} (${EARLY})`);
  });

  test("stays lifted where the failure is told with other numbers, hashes and temporary paths each time", async () => {
    const bot = await start(host);
    let count = 40;
    const fail = () => {
      count += 1;
      const message = `read tcp 10.0.0.7:${count}->10.0.0.9:443: i/o timeout after ${count}s in /tmp/render-${"xy".repeat(count)}: ${"0".repeat(30)}${count}cafe`;
      const body = JSON.stringify({ error: message, code: 2, message });
      bot.argocd.faults.clear();
      bot.argocd.faults.add({ path: /\/manifests$/, fault: { kind: "status", status: 500, body } });
    };
    fail();
    const one = await openShown(bot, changeOf(["api"], "2"));
    expect(bot.lastComment(one)).toContain(`after ${count}s`);
    expect(statusOf(bot, one)).toMatchObject({ state: "failure" });
    await bot.approve(one);
    for (let times = 2; times > 0; times -= 1) {
      fail();
      await bot.comment(one, "svc plan");
      expect(bot.lastComment(one)).toContain(`after ${count}s`);
      expect(statusOf(bot, one)).toMatchObject({ state: "success" });
    }
  });

  test("is not lifted where the host does not tell its time", async () => {
    const bot = await start(host, PLANS_ON_COMMAND);
    const one = await openWith(bot, added(bot));
    const asked = host === "hosta" ? /\/api\/v3\/app$/ : /\/api\/v4\/user$/;
    bot.forge.faults.add({ path: asked, fault: { kind: "status", status: 500, body: "{}" } });
    await bot.comment(one, "svc plan");
    bot.forge.faults.clear();
    await bot.approve(one);
    expect(await syncWeb(bot, one)).toContain(
      `${OF_FRESH} (which approvals came after it failed is not known: run the plan command, then approve)`,
    );
  });

  test("is not lifted by somebody whom the rules do not let deploy it", async () => {
    const rules = "sync_requirements: [{name: fresh, allowed_users: [ana, cleo]}]\n";
    const bot = await start(host, { files: () => ({ ".svc.yaml": rules }) });
    bot.forge.setAccess(REPOSITORY, "cleo", "write");
    const one = await openWith(bot, added(bot));
    await bot.approve(one);
    expect(await syncWeb(bot, one)).toContain(`${OF_FRESH} (the rules do not let bo, who approved, deploy it)`);
    await bot.approve(one, "cleo");
    expect(statusOf(bot, one)).toMatchObject({ state: "success" });
  });

  test("bars merge and status also where a plan has no more previews", async () => {
    const bot = await start(host, { config: { defaults: { auto_merge: true }, deployer: { preview_limit: 0 } } });
    const one = await openWith(bot, { "argocd/fresh.yaml": asYaml(bot.resourceOf("fresh", { path: "apps/web" })) });
    expect(await syncWeb(bot, one)).toContain(OF_FRESH);
    expect(bot.seen(one).state).toBe("open");
  });

  test("as a new one that is not rendered before an approval bars them, and the failure after it has to be approved too", async () => {
    const bot = await start(host);
    const fresh = bot.resourceOf("fresh", { repoURL: "https://charts.example.com/acme/charts.git" });
    const one = await openWith(bot, { "argocd/fresh.yaml": asYaml(fresh) });
    expect(await syncWeb(bot, one)).toContain(
      "- `fresh`: the merge would deploy it, and it is not rendered before the head is approved",
    );
    expect(bot.seen(one).state).toBe("open");
    expect(statusOf(bot, one)).toMatchObject({ state: "pending" });
    await bot.approve(one);
    expect(bot.lastComment(one)).toContain("could not be previewed");
    expect(statusOf(bot, one)).toMatchObject({ state: "failure" });
  });
});
