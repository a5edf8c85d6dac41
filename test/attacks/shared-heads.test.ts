import { describe, expect, test } from "@jest/globals";
import type { FileChanges, OpenRequest, SeenStatus } from "../../sandbox/forge.js";
import { revision } from "../../src/core/model/brand.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, SHORT, SIGIL, startBot, type Bot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

/** A branch of the writer's own that holds the change already, so that only a typo is left to compare. */
const OWN_BASE = "staging-of-bo";
const LIST = { hosta: /\/graphql$/, hostb: /\/repository\/commits\/[0-9a-f]+\/merge_requests$/ } as const;
const TITLE = { hosta: "GitHub", hostb: "GitLab" } as const;
const LONG = { hosta: "pull request", hostb: "merge request" } as const;

interface Scene {
  readonly bot: Bot;
  /** Opens the change request that deploys the change and needs an approval. */
  openMain(more?: Partial<OpenRequest>): Promise<number>;
  /** Opens one with the same head that deploys nothing. */
  openHarmless(more?: Partial<OpenRequest>): Promise<number>;
  statuses(): readonly SeenStatus[];
  /** The newest status of the commit. */
  status(): string;
}

/** Approval is required, and the commit status is on, which on GitLab it is not by itself. */
async function start(host: HostId): Promise<Scene> {
  const config = { defaults: { require_approval: true }, ...(host === "hostb" && { hostb: { commit_status: true } }) };
  const bot = await startBot({ host, config });
  const at = await bot.forge.pushToBranch(REPOSITORY, OWN_BASE, changeOf(["web"]));
  let head: string | undefined;
  async function open(more: Partial<OpenRequest>): Promise<number> {
    const first = head === undefined;
    const changes: FileChanges = first ? { "README.md": "a typo\n" } : {};
    const number = await bot.open(changes, { branch: "fix-typo", at: head ?? at, ...more });
    head = bot.seen(number).headRevision;
    // CI starts a pipeline for the commit, and the head is looked at again.
    if (first && host === "hostb") {
      bot.forge.runPipeline(REPOSITORY, number);
      await bot.close(number);
      await bot.forge.reopen(REPOSITORY, number);
      await bot.idle();
    }
    return number;
  }
  const statuses = () => bot.forge.statuses(REPOSITORY, head ?? "");
  return {
    bot,
    openMain: (more = {}) => open(more),
    openHarmless: (more = {}) => open({ by: "bo", base: OWN_BASE, ...more }),
    statuses,
    status() {
      const last = statuses().at(-1);
      if (last === undefined) return "none";
      return host === "hostb" && last.state === "pending" ? "pending" : `${last.state}: ${last.description}`;
    },
  };
}

/** GitLab keeps the first text of a pending status. */
function pending(host: HostId, description: string): string {
  return host === "hostb" ? "pending" : `pending: ${description}`;
}

function named(host: HostId, number: number): string {
  return `${SHORT[host]} ${SIGIL[host]}${number}`;
}

const NEEDS_APPROVAL = "web needs an approval, then svc sync";
const NOTHING = "nothing to deploy";

describe.each(HOSTS)("a PR does not turn another one with the same head green, on %s", (host) => {
  const needsApproval = (number: number) => pending(host, `${named(host, number)}: ${NEEDS_APPROVAL}`);

  test.each<[string, Partial<OpenRequest>]>([
    ["from the same branch", {}],
    ["from another branch at the same commit", { branch: "another-name" }],
    ["as a draft", { draft: true }],
    ["from a fork", { branch: "another-name", fork: true, by: "olga" }],
  ])("opened later, %s, into a base of the writer's own", async (_, more) => {
    const { openMain, openHarmless, status, statuses } = await start(host);
    const main = await openMain();
    expect(status()).toBe(pending(host, NEEDS_APPROVAL));
    await openHarmless(more);
    expect(statuses().map(({ state }) => state)).not.toContain("success");
    expect(status()).toBe(needsApproval(main));
  });

  test("opened first, and green: pending at once when the one that needs an approval is opened", async () => {
    const { bot, openMain, openHarmless, status, statuses } = await start(host);
    const harmless = await openHarmless({ by: "ana" });
    expect(status()).toBe(`success: ${NOTHING}`);
    const from = statuses().length;
    const main = await openMain();
    const states = () =>
      statuses()
        .slice(from)
        .map(({ state }) => state);
    expect(states()[0]).toBe("pending");
    await bot.comment(harmless, "svc plan", "bo");
    expect(states()).not.toContain("success");
    expect(status()).toBe(needsApproval(main));
    await bot.approve(main);
    bot.expectChanges("sync web");
    await bot.comment(main, "svc sync");
    expect(status()).toBe(`success: ${named(host, harmless)}: ${NOTHING}; ${named(host, main)}: synced: web`);
  });

  test("a green draft that is retargeted to the deployed branch is pending before it is looked at", async () => {
    const { bot, openHarmless, status, statuses } = await start(host);
    const one = await openHarmless();
    const two = await openHarmless({ draft: true, branch: "another-name" });
    const green = `success: ${named(host, one)}: ${NOTHING}; ${named(host, two)}: ${NOTHING}`;
    expect(status()).toBe(green);
    const from = statuses().length;
    await bot.forge.retarget(REPOSITORY, two, "main");
    await bot.idle();
    const [first, ...others] = statuses().slice(from);
    expect(first).toMatchObject({ state: "pending", description: `${named(host, two)}: not planned yet` });
    expect(others.map(({ state }) => state)).not.toContain("success");
    expect(status()).toBe(pending(host, `${named(host, two)}: comment svc plan: affects web`));
    await bot.forge.retarget(REPOSITORY, two, OWN_BASE);
    await bot.idle();
    expect(status()).toBe(green);
  });

  test("the harmless one turns green when the other is closed, and back when that is reopened", async () => {
    const { bot, openMain, openHarmless, status } = await start(host);
    const main = await openMain();
    const harmless = await openHarmless();
    expect(status()).toBe(needsApproval(main));
    await bot.close(main);
    expect(status()).toBe(`success: ${NOTHING}`);
    await bot.forge.reopen(REPOSITORY, main);
    await bot.idle();
    expect(status()).toBe(needsApproval(main));
    await bot.close(harmless);
    expect(status()).toBe(pending(host, NEEDS_APPROVAL));
  });

  test.each([false, true])("a push to the branch of the other gives the commit back, draft: %s", async (draft) => {
    const { bot, openMain, openHarmless, status } = await start(host);
    const main = await openMain({ draft });
    if (draft) await bot.comment(main, "svc plan");
    const harmless = await openHarmless({ branch: "another-name" });
    if (host === "hostb") bot.forge.runPipeline(REPOSITORY, harmless);
    expect(status()).toBe(needsApproval(main));
    await bot.push(main, changeOf(["web"], "3"));
    expect(bot.seen(main).headRevision).not.toBe(bot.seen(harmless).headRevision);
    expect(status()).toBe(`success: ${NOTHING}`);
  });

  test("whose webhook was lost is found on the host, holds the other back and is planned", async () => {
    const { bot, openHarmless, status, statuses } = await start(host);
    const harmless = await openHarmless();
    const { headRevision, headBranch } = bot.seen(harmless);
    let main = 0;
    await bot.loseWebhooks(async () => {
      const request = { repository: REPOSITORY, by: "ana", changes: {}, branch: headBranch, at: headRevision };
      main = await bot.forge.open(request);
    });
    expect(bot.answers(main)).toEqual([]);
    const from = statuses().length;
    await bot.comment(harmless, "svc plan", "bo");
    const [first] = statuses().slice(from);
    expect(first).toMatchObject({ state: "pending", description: `${named(host, main)}: not planned yet` });
    expect(bot.lastComment(main)).toContain("Needs an approval");
    expect(status()).toBe(needsApproval(main));
  });

  test("nor is a commit green whose open ones the host does not list: it says so", async () => {
    const { bot, openHarmless, status, statuses } = await start(host);
    const one = await openHarmless();
    const down = { kind: "status", status: 422, body: "{}" } as const;
    const end = bot.forge.faults.add({ path: LIST[host], fault: down });
    await bot.comment(one, "svc plan", "bo");
    const why = `cannot tell which ${LONG[host]}s have this commit as head: ${TITLE[host]} did not list them; comment svc plan to try again`;
    expect(statuses().at(-1)).toMatchObject({ state: "pending", description: why });
    end();
    await bot.comment(one, "svc plan", "bo");
    expect(status()).toBe(`success: ${NOTHING}`);
  });

  test("nor stays it pending whose open ones the host did not list for a moment", async () => {
    const { bot, openHarmless, status } = await start(host);
    const one = await openHarmless();
    await openHarmless({ branch: "another" });
    const look = async () => {
      bot.clock.advance(2 * 60_000);
      await bot.service.reconcile();
      await bot.idle();
    };
    await look();
    const green = status();
    expect(green).toMatch(/^success: /);
    const end = bot.forge.faults.add({ path: LIST[host], fault: { kind: "status", status: 500, body: "{}" } });
    await bot.stores.marks.set([bot.ref(one)], bot.clock.now());
    await look();
    expect(status()).toContain("pending");
    end();
    await look();
    expect(status()).toBe(green);
  });

  test("a commit that was given so many statuses that the host may refuse the next one is not green", async () => {
    const { bot, openMain, openHarmless, status, statuses } = await start(host);
    const harmless = await openHarmless();
    const head = { ...bot.ref(harmless), headRevision: revision(bot.seen(harmless).headRevision) };
    for (let left = 900; left > 0; left -= 1) await bot.stores.statuses.countWrite(head);
    await bot.comment(harmless, "svc plan", "bo");
    const full = "pending: this commit has nearly as many statuses as it can have: push a new one";
    expect(status()).toBe(host === "hosta" ? full : `success: ${NOTHING}`);
    const from = statuses().length;
    const main = await openMain();
    expect(statuses().slice(from)[0]?.state).toBe("pending");
    expect(status()).toBe(needsApproval(main));
  });

  test("the lost webhook of a close is made up for", async () => {
    const { bot, openMain, openHarmless, status } = await start(host);
    const main = await openMain({ draft: true });
    await openHarmless();
    expect(status()).toBe(pending(host, `${named(host, main)}: comment svc plan: affects web`));
    await bot.loseWebhooks(() => bot.forge.close(REPOSITORY, main));
    await bot.service.reconcile();
    await bot.idle();
    expect(status()).toBe(`success: ${NOTHING}`);
  });

  test("switched off, the commit status costs no call, and nothing is kept", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: false } } });
    const one = await bot.open({ "README.md": "hello" });
    const two = await bot.open(changeOf(["web"]), { draft: true });
    await bot.close(one);
    expect(bot.forge.requests.filter(({ path }) => LIST[host].test(path))).toEqual([]);
    const head = { ...bot.ref(two), headRevision: revision(bot.seen(two).headRevision) };
    expect(await bot.stores.statuses.ofHead(head)).toEqual([]);
  });
});
