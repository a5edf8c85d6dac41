import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { revision } from "../../src/core/model/brand.js";
import { HOSTS, startBot, type Bot, type BotOptions } from "./bot.js";
import { ownRedis, startReplica } from "./own-redis.js";
import { section } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";

const CALL = /\/application\.ApplicationService\/ServerSideDiff$/;
const ASKED = { deployer: { server_dry_run: "auto" } };
const SHOWN = "⏳ asking Kubernetes…";
/** More applications than a plan waits for. */
const MANY = Array.from({ length: 9 }, (_, at) => `app-${at + 1}`);
const LAST = "app-9";

const selecting = (app: string) =>
  stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: LAST },
    spec: {
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app } }, spec: { containers: [{ name: "main", image: "web:1" }] } },
    },
  });

/** A bot whose applications run, and a change of all of them that Kubernetes refuses for the last one. */
async function deployed(options: BotOptions, names = MANY): Promise<Bot> {
  const files = () => ({ [`apps/${LAST}/deployment.yaml`]: selecting("web") });
  const bot = await startBot({
    applications: names,
    config: { ...ASKED, [options.host]: { commit_status: true } },
    files,
    ...options,
  });
  for (const name of names) await bot.argocd.deploy(name);
  return bot;
}

const REFUSED = { ...changeOf(MANY), [`apps/${LAST}/deployment.yaml`]: selecting("other") };

/** Long texts of all applications, for which GitHub needs several comments. */
function texts(seed: string): Readonly<Record<string, string>> {
  const text = Array.from({ length: 150 }, (_, at) => `${seed}-${at}`.padEnd(60, "x")).join("\n");
  return Object.fromEntries(MANY.map((name) => [`apps/${name}/text.yaml`, configMap(`text-${name}`, { text })]));
}

function inSeveralComments(): Partial<BotOptions> {
  return {
    files: () => ({ ...texts("old"), [`apps/${LAST}/deployment.yaml`]: selecting("web") }),
    config: { ...ASKED, comments: { plan: "all" } },
  };
}

function asked(bot: Bot): number {
  return bot.argocd.requests.filter(({ path }) => path.endsWith("/application.ApplicationService/ServerSideDiff"))
    .length;
}

/** As the host shows it, `pending: …`. */
async function statusOf(bot: Bot, number: number): Promise<string> {
  const [own] = await bot.stores.statuses.ofHead({
    ...bot.ref(number),
    headRevision: revision(bot.seen(number).headRevision),
  });
  return own === undefined ? "" : `${own.state}: ${own.description}`;
}

function writes(bot: Bot): readonly string[] {
  return bot.forge.requests
    .filter(({ path, method }) => /\/(comments|notes)(\/\d+)?$/.test(path) && method !== "GET")
    .map(({ method }) => method);
}

/** Opens it, and lets something happen once it is posted, while questions are under way. */
async function openAndMeanwhile(bot: Bot, act: (number: number) => Promise<void>): Promise<number> {
  bot.whileAsked(() => act(1));
  return bot.open(REFUSED);
}

describe.each(HOSTS)("a plan of many applications on %s", (host) => {
  test("is posted before Kubernetes has answered, which one edit adds, what it will refuse first", async () => {
    const bot = await deployed({ host });
    const seen: { text: string; status: string; writes: readonly string[] }[] = [];
    const one = await openAndMeanwhile(bot, async (number) => {
      seen.push({ text: bot.lastComment(number), status: await statusOf(bot, number), writes: writes(bot) });
    });
    expect(seen).toHaveLength(1);
    expect(seen[0]?.text).toContain(SHOWN);
    expect(seen[0]?.text).toContain("spec.selector");
    expect(seen[0]?.text).not.toContain("Kubernetes will refuse apps/Deployment");
    expect(seen[0]?.status).toMatch(/^pending: /);
    expect(seen[0]?.writes).toEqual(["POST"]);
    const last = bot.lastComment(one);
    expect(last).not.toContain(SHOWN);
    expect(section(last, LAST)).toContain("Kubernetes will refuse apps/Deployment guestbook/app-9: spec.selector");
    expect(await statusOf(bot, one)).toMatch(/^pending: /);
    expect(writes(bot)).toEqual(["POST", host === "hosta" ? "PATCH" : "PUT"]);
    expect(asked(bot)).toBe(MANY.length + 2);
    const [, firstOfMany] = bot.argocd.requests.filter(({ path }) => path.endsWith("/managed-resources"));
    expect(firstOfMany?.path).toContain(`/${LAST}/`);
  });

  test("a sync that comes before the answer waits for it, and says what the plan then says", async () => {
    const bot = await deployed({ host });
    const before: string[][] = [];
    const one = await openAndMeanwhile(bot, async (number) => {
      await bot.forge.comment(bot.repository, number, "ana", `svc sync -a ${LAST}`);
      await bot.forge.idle();
      before.push([...bot.changes()]);
    });
    expect(before).toEqual([[]]);
    bot.expectChanges(`sync ${LAST}`);
    await bot.idle();
    expect(bot.lastComment(one)).toContain("The plan said that Kubernetes will refuse apps/Deployment guestbook/app-9");
    expect(bot.answers(one)[0]).not.toContain(SHOWN);
  });

  test("a sync goes on when Kubernetes has not answered in time, and says that it was not asked", async () => {
    const config = { deployer: { server_dry_run: "auto", request_timeout: "1s" } };
    const bot = await deployed({ host, config });
    let release = (): void => undefined;
    const one = await openAndMeanwhile(bot, async (number) => {
      await bot.forge.comment(bot.repository, number, "ana", `svc sync -a ${LAST}`);
      await new Promise<void>((resolve) => (release = resolve));
    });
    bot.expectChanges(`sync ${LAST}`);
    release();
    const [plan = "", result = ""] = bot.answers(one);
    expect(plan).not.toContain(SHOWN);
    expect(section(plan, LAST)).toContain("**Kubernetes:** was not asked: Kubernetes did not answer within 1 s");
    expect(result).toContain("Kubernetes was not asked about");
    expect(result).toContain("apps/Deployment guestbook/app-9: Kubernetes did not answer within 1 s");
  });

  test("a push while Kubernetes is asked drops the question: no answer reaches the plan of another head", async () => {
    const bot = await deployed({ host });
    const one = await openAndMeanwhile(bot, async (number) => {
      await bot.forge.push(bot.repository, number, { [`apps/${LAST}/deployment.yaml`]: selecting("web") });
      await bot.forge.idle();
    });
    const [before = "", after = ""] = bot.answers(one);
    expect(before).toContain("Outdated plan");
    expect(before).not.toContain(SHOWN);
    expect(before).not.toContain("Kubernetes will refuse");
    expect(after).not.toContain(SHOWN);
    expect(after).not.toContain("Kubernetes will refuse");
    expect(await bot.stores.plans.find(bot.ref(one))).toMatchObject({ head: bot.seen(one).headRevision });
  });

  test("what Kubernetes does not refuse loses nothing but the word that it is asked, in several comments too", async () => {
    const bot = await deployed({ host, ...inSeveralComments() });
    const shown: string[] = [];
    bot.whileAsked(() => void shown.push(...bot.answers(1)));
    const one = await bot.open({ ...texts("new"), ...REFUSED });
    const parts = bot.answers(one);
    expect(shown).toHaveLength(parts.length);
    expect(shown[0]).toContain(SHOWN);
    expect(parts.join("")).not.toContain(SHOWN);
    expect(parts.join("")).toContain("Kubernetes will refuse apps/Deployment guestbook/app-9: spec.selector");
    expect(parts.join("")).not.toContain("asking=true");
  });

  test.each([
    ["could not be edited is brought up to date a minute later", 502],
    ["was deleted is posted anew", 404],
  ] as const)("a comment of it that %s", async (_what, status) => {
    const bot = await deployed({ host, ...inSeveralComments() });
    bot.whileAsked(() => {
      const method = host === "hosta" ? "PATCH" : "PUT";
      const fault = { kind: "status", status, body: "{}" } as const;
      bot.forge.faults.add({ method, path: /\/(comments|notes)\/\d+$/, times: status === 404 ? 1 : 9, fault });
    });
    const one = await bot.open({ ...texts("new"), ...REFUSED });
    const posted = bot.answers(one).length;
    bot.forge.faults.clear();
    bot.clock.advance(60_000);
    await bot.approve(await bot.open({ "README.md": "the next mark wakes the publisher" }));
    expect(bot.answers(one)).toHaveLength(posted);
    const shown = bot.answers(one).filter((body) => !body.includes("asking=true"));
    expect(shown.join("")).not.toMatch(/asking Kubernetes|is being asked/);
    expect(shown.join("")).toContain("Kubernetes will refuse apps/Deployment guestbook/app-9: spec.selector");
    expect(posted - shown.length).toBe(status === 404 ? 1 : 0);
  });
});

describe.each(HOSTS)("a plan of a few applications on %s", (host) => {
  const few = (more: Partial<BotOptions> = {}) => deployed({ host, ...more }, [LAST]);
  const REFUSED_ALONE = { [`apps/${LAST}/deployment.yaml`]: selecting("other") };

  test("waits for a cluster that answers within a second: one comment, no edit", async () => {
    const bot = await few();
    const sleep = bot.clock.sleep.bind(bot.clock);
    bot.clock.sleep = (ms, signal) =>
      ms === 1_000 && signal !== undefined
        ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)))
        : sleep(ms, signal);
    const one = await bot.open(REFUSED_ALONE);
    expect(bot.lastComment(one)).toContain("Kubernetes will refuse apps/Deployment guestbook/app-9");
    expect(writes(bot)).toEqual(["POST"]);
  });

  test("does not wait longer: it is posted, and edited when the answer comes", async () => {
    const bot = await few();
    const posting = new Promise<void>((resolve) => {
      bot.meanwhile("forge", { method: "POST", path: /\/(comments|notes)$/ }, resolve);
    });
    bot.meanwhile("argocd", { path: CALL }, () => posting);
    const one = await bot.open(REFUSED_ALONE);
    expect(bot.lastComment(one)).toContain("Kubernetes will refuse apps/Deployment guestbook/app-9");
    expect(bot.lastComment(one)).not.toContain(SHOWN);
    expect(writes(bot)).toEqual(["POST", host === "hosta" ? "PATCH" : "PUT"]);
  });

  test("that a crash left asking says so no more once anything is looked at again", async () => {
    const bot = await few();
    const one = await bot.open(REFUSED_ALONE);
    const plan = await bot.stores.plans.find(bot.ref(one));
    if (plan === undefined) throw new Error("it was not planned");
    const asking = { accepted: 0, refused: [], untried: [], asking: ["apps/Deployment guestbook/app-9"] };
    const applications = plan.applications.map((all) => (all.kind === "evaluated" ? { ...all, cluster: asking } : all));
    await bot.stores.plans.save({ ...plan, applications });
    await bot.approve(one);
    expect(bot.lastComment(one)).toContain("was not asked: svc was interrupted while it asked: plan again");
    expect(bot.lastComment(one)).not.toContain(SHOWN);
  });
});

describe.each(HOSTS)("the next plan on %s", (host) => {
  test("is posted before the earlier one is marked as outdated, which says that a newer one is below", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.push(one, changeOf(["web"], "3"));
    expect(writes(bot)).toEqual(["POST", "POST", host === "hosta" ? "PATCH" : "PUT"]);
    expect(bot.answers(one)[0]).toContain("a newer one is below");
  });
});

describe.each(HOSTS)("two replicas with Redis on %s", (host) => {
  const redis = ownRedis();

  test("ask Kubernetes once about a plan", async () => {
    const options: BotOptions = { host, stores: () => redis.stores() };
    const bot = await deployed(options);
    const other = await startReplica(bot, { ...options, config: ASKED });
    const one = await openAndMeanwhile(bot, async () => {
      await Promise.all([bot.service.reconcile(), other.reconcile()]);
    });
    await other.close();
    expect(asked(bot)).toBe(MANY.length + 2);
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.lastComment(one)).not.toContain(SHOWN);
  });
});
