import { describe, expect, test } from "@jest/globals";
import { HOLD_MS } from "../../src/core/commands/hold.js";
import { applicationName } from "../../src/core/model/brand.js";
import type { Hold } from "../../src/core/model/hold.js";
import type { Stale } from "../../src/core/policy/gates.js";
import { RULES } from "../../src/core/policy/rules.js";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { changeOf, configMap } from "../scenarios/resources.js";
import { cloneUrlOf, generatedApplication, names, runsShops, shops, shopsResource } from "../scenarios/sets.js";

/** More than a sync with its merge ever makes. */
const MOST_REQUESTS = 90;
const STRICT = { ".svc.yaml": "require_approval: true\n" };
const START = { method: "POST", path: /\/api\/v1\/applications\/web\/sync$/ };
const MERGE = "/merge";

function start(options: BotOptions): Promise<Bot> {
  const merging = { defaults: { auto_merge: true, merge_method: "merge" } };
  return startBot({ applications: ["web"], config: merging, ...options });
}

/** The result as a new comment. */
const RESULT = { method: "POST", path: /\/(?:comments|notes)$/ };

/** What happens while a sync runs, and what bars the merge then. */
const MEANWHILE: readonly [string, (bot: Bot, one: number) => Promise<unknown>, RegExp][] = [
  [
    "the base branch changes to a stricter one",
    (bot, one) => bot.forge.retarget(REPOSITORY, one, "release"),
    /its base branch changed to release[\s\S]*Next, comment:\n```\nsvc plan\n/,
  ],
  [
    "the policy of the base branch asks for an approval",
    (bot) => bot.forge.pushToBranch(REPOSITORY, "main", STRICT),
    /`web`: (?:PR|MR) must be approved before it is merged\s+Needs an approval/,
  ],
  [
    "the policy of the base branch turns auto-merge off",
    (bot) => bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": "auto_merge: false\n" }),
    /auto\\_merge was turned off\s+Merge this/,
  ],
  [
    "the policy of the base branch breaks",
    (bot) => bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": "require_approval: [\n" }),
    /`\.svc\.yaml`: it cannot be used/,
  ],
];

const PRODUCTION = { ".svc.yaml": "sync_requirements: [{name: prod, require_approval: true}]\n" };

function holdOf(application: string, bot: Bot): Hold {
  const by = { provider: "basic", id: "basic:olga", login: "olga" } as const;
  const [since, until] = [0, HOLD_MS].map((ms) => new Date(bot.clock.now().getTime() + ms).toISOString());
  return { id: "one", applications: [application], reason: "freeze", by, since: since ?? "", until: until ?? "" };
}

/** What changes in Argo CD, or in the stores, while the result of a sync is posted, and what bars the merge then. */
const IN_ARGOCD: readonly [string, (bot: Bot) => void, RegExp][] = [
  [
    "is held by an administrator",
    (bot) => void bot.stores.holds.save(holdOf("web", bot), bot.clock.now()),
    /`web`: olga holds web until \S+ \S+ UTC: freeze\s+Wait until/,
  ],
  [
    "moves to another project, whose rules nobody asked about",
    (bot) => bot.argocd.addApplication(bot.resourceOf("web", { project: "production" })),
    /`web`: since the plan, its project changed from default to production in Argo CD\s+Next, comment:\n```\nsvc plan\n/,
  ],
  [
    "moves to another namespace",
    (bot) => {
      const destination = { server: "https://kubernetes.default.svc", namespace: "prod" };
      bot.argocd.addApplication(bot.resourceOf("web", { spec: { destination } }));
    },
    /`web`: since the plan, its destination changed from https:\S+guestbook to https:\S+prod in Argo CD/,
  ],
  [
    "comes to follow a side branch",
    (bot) => bot.argocd.addApplication(bot.resourceOf("web", { targetRevision: "feature" })),
    /`web`: since the plan, what it is deployed from changed in Argo CD/,
  ],
  [
    "is taken from this repository",
    (bot) => bot.argocd.addApplication(bot.resourceOf("web", { repoURL: "https://git.example.com/other/app.git" })),
    /`web`: no source of the live Application points at acme\/deploy/,
  ],
  [
    "is deleted",
    (bot) => bot.argocd.removeApplication("web"),
    /`web`: Argo CD no longer lists it, so svc cannot tell what a merge does to it/,
  ],
  [
    "gets a neighbour in its namespace that requires an approval",
    (bot) => bot.argocd.addApplication(bot.resourceOf("prod")),
    /`web`: (?:PR|MR) must be approved before it is merged\s+Needs an approval/,
  ],
];

/** Has each of what gates trust go stale: a new kind does not compile until somebody says how. */
const GOES_STALE: Readonly<Record<Stale, (bot: Bot, one: number) => Promise<unknown>>> = {
  head: (bot, one) => bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "3")),
  base: (bot, one) => bot.forge.retarget(REPOSITORY, one, "release"),
  policy: (bot) => bot.forge.pushToBranch(REPOSITORY, "main", STRICT),
  result: async (bot, one) => {
    for (const record of await bot.stores.deployments.ofChange(bot.ref(one))) {
      await bot.stores.deployments.save({ ...record, outcome: "failed" });
    }
  },
  time: (bot, one) => bot.stores.deployments.remove(applicationName("web"), bot.ref(one)),
};

test("what gates say makes stored facts stale is what is made stale here", () => {
  const named = Object.values(RULES).flatMap((rule) => (rule.of === "danger" ? [] : Object.values(rule.trusts ?? {})));
  expect([...new Set(named.flat())].sort()).toEqual(Object.keys(GOES_STALE).sort());
});

describe.each(HOSTS)("what changes while a sync runs on %s", (host) => {
  test("a stricter base branch at any request to the host, until it is asked to merge: never merged into it", async () => {
    const bot = await start({ host });
    bot.expectChanges("sync web");
    const root = await bot.forge.pushToBranch(REPOSITORY, "main", { "README.md": "root" });
    await bot.forge.pushToBranch(REPOSITORY, "release", STRICT);
    const moments: string[] = [];
    for (let nth = 1; ; nth += 1) {
      expect(nth).toBeLessThan(MOST_REQUESTS);
      const one = await bot.open({ "apps/web/configmap.yaml": configMap("web", { value: `at-${nth}` }) });
      let at: string | undefined;
      const retarget = async (path: string) => {
        at = path;
        await bot.forge.retarget(REPOSITORY, one, "release");
      };
      bot.meanwhile("argocd", START, () => {
        if (nth > 1) bot.meanwhile("forge", { path: /./, nth: nth - 1 }, () => undefined);
        bot.forge.faults.add({ path: /./, times: 1, fault: { kind: "meanwhile", act: retarget } });
      });
      await bot.comment(one, "svc sync");
      bot.forge.faults.clear();
      // Nothing can be read between the request for a merge and the host's own work on it.
      if (at === undefined || at.endsWith(MERGE)) break;
      const { headRevision, state } = bot.seen(one);
      const into = await bot.forge.commitsSince(REPOSITORY, root, "release");
      const ids = into.flatMap(({ id, parents }) => [id, ...parents]);
      expect({ nth, at, state, merged: ids.includes(headRevision) }).toEqual({ nth, at, state: "open", merged: false });
      expect(bot.answers(one).join("\n")).toMatch(/base branch changed to release|no stored plan of the head commit/);
      moments.push(at);
      await bot.close(one);
      await bot.stores.deployments.remove(applicationName("web"), bot.ref(one));
    }
    expect(moments.length).toBeGreaterThanOrEqual(7);
  });

  test.each(MEANWHILE)("%s: not merged, and the comment says so", async (_, act, why) => {
    for (const moment of ["while Argo CD syncs", "while the result is posted"]) {
      const bot = await start({ host });
      await bot.forge.pushToBranch(REPOSITORY, "release", STRICT);
      const one = await bot.open(changeOf(["web"]));
      const meanwhile = () => act(bot, one).then(() => undefined);
      if (moment.startsWith("while Argo")) bot.meanwhile("argocd", START, meanwhile);
      else bot.meanwhile("forge", RESULT, meanwhile);
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync");
      expect({ moment, state: bot.seen(one).state }).toEqual({ moment, state: "open" });
      expect(bot.liveValue("web")).toBe("2");
      const barred = bot.answers(one).find((answer) => answer.includes("was not merged"));
      expect(barred).toContain(
        `Everything is deployed, but this ${SHORT[host]} was not merged, because of what changed`,
      );
      expect(barred).toMatch(why);
      await bot.end();
    }
  });

  test.each(IN_ARGOCD)("an application %s meanwhile: not merged, and the comment says so", async (_, act, why) => {
    const bot = await start({ host, files: () => PRODUCTION });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", RESULT, () => act(bot));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.lastComment(one)).toContain(
      `Everything is deployed, but this ${SHORT[host]} was not merged, because of what changed`,
    );
    expect(bot.lastComment(one)).toMatch(why);
  });

  test("auto-sync that is turned off in Argo CD: the merge would deploy nothing, so that it waits for a sync", async () => {
    const automated = { syncPolicy: { automated: {} } };
    const bot = await start({ host, applications: ["web", "api"], resources: () => ({ api: { spec: automated } }) });
    const one = await bot.open(changeOf(["web", "api"]));
    bot.meanwhile("forge", RESULT, () => bot.argocd.addApplication(bot.resourceOf("api")));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.lastComment(one)).toMatch(
      /`api`: since the plan, its auto-sync was turned off in Argo CD\s+Next, comment:\n```\nsvc plan\n/,
    );
  });

  test("Argo CD cannot be asked again right before the merge: not merged, and the comment says why", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", RESULT, () => {
      const fault = { kind: "status", status: 503, body: "{}" } as const;
      bot.argocd.faults.add({ path: /\/api\/v1\/applications$/, fault });
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.lastComment(one)).toMatch(/was not merged[\s\S]*cannot tell what holds now: /);
  });

  test("what Argo CD changes in nothing that decides about the merge does not bar it", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", RESULT, () => {
      const source = { repoURL: bot.forge.cloneUrl(REPOSITORY), path: "apps/web", targetRevision: "main" };
      const updated = { ...source, kustomize: { images: ["shop/web:2"] } };
      bot.argocd.addApplication(bot.resourceOf("web", { spec: { source: updated } }));
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("a set that could not be previewed, of which only the names of its applications are known, is merged once approved", async () => {
    const bot = await start({
      host,
      files: (url) => ({ "sets/shops.yaml": shops(url, names("it")) }),
      prepare: (world, forge) => {
        const repoURL = cloneUrlOf(forge);
        const running = generatedApplication("it", { repoURL });
        runsShops(world, shopsResource(repoURL, names("it")), [running]);
      },
    });
    const url = bot.forge.cloneUrl(REPOSITORY);
    bot.argocd.faults.add({ path: /applicationsets\/generate$/, fault: { kind: "status", status: 500, body: "{}" } });
    const one = await bot.open({ ...changeOf(["web"]), "sets/shops.yaml": shops(url, names("it", "en")) });
    await bot.approve(one);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.answers(one).join("\n")).toContain("could not be previewed");
    expect(bot.seen(one).state).toBe("merged");
  });

  test.each(Object.keys(GOES_STALE) as Stale[])(
    "a stored fact that goes stale by %s right before the merge is read again",
    async (kind) => {
      const bot = await start({ host });
      await bot.forge.pushToBranch(REPOSITORY, "release", STRICT);
      const one = await bot.open(changeOf(["web"]));
      bot.meanwhile("forge", RESULT, () => GOES_STALE[kind](bot, one).then(() => undefined));
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync");
      expect(bot.seen(one).state).toBe("open");
      expect(bot.answers(one).join("\n")).toContain("was not merged, because of what changed meanwhile");
    },
  );

  test("an approval that is withdrawn while the result is posted", async () => {
    const bot = await start({ host, files: () => STRICT });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    bot.meanwhile("forge", RESULT, () => bot.forge.review(REPOSITORY, one, "bo", "request-changes"));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.lastComment(one)).toContain(`\`web\`: ${SHORT[host]} must be approved before it is merged`);
  });

  test("the host cannot be asked again right before the merge: not merged, and what svc cannot tell is named", async () => {
    const bot = await start({ host, files: () => STRICT });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    const reviews = host === "hosta" ? /\/graphql$/ : /\/approvals$/;
    bot.meanwhile("forge", RESULT, () => {
      bot.forge.faults.add({ path: reviews, fault: { kind: "status", status: 500, body: "{}" } });
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.lastComment(one)).toContain("cannot tell whether the head is approved");
  });
});
