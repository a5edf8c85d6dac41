import { describe, expect, test } from "@jest/globals";
import { StoredValueUnreadable } from "../../src/core/model/errors.js";
import { wrapPort } from "../../src/observe/wrap-port.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { HOSTS, REPOSITORY, startBot, type BotOptions } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

const OTHER = "acme/other";
const AUTO = { syncPolicy: { automated: { prune: true } } };

/** A second repository on the same host, whose change request is 1 there. */
const withOther = (allowed: readonly string[]): Pick<BotOptions, "config" | "prepare"> => ({
  config: { defaults: { allowed_repos: allowed }, comments: { nothing_affected: "comment" } },
  prepare: async (_, forge) => {
    await forge.createRepository(OTHER, { "apps/other/configmap.yaml": configMap("other", { value: "1" }) });
    for (const login of ["ana", "bo"]) forge.setAccess(OTHER, login, "write");
  },
});

describe.each(HOSTS)("allowed_repos on %s", (host) => {
  test("an empty list allows all repositories", async () => {
    const bot = await startBot({ host, ...withOther([]) });
    const one = await bot.open(changeOf(["web"]));
    await bot.open({ "README.md": "hello" }, { repository: OTHER });
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.forge.changeRequest(OTHER, 1).comments).toHaveLength(1);
  });

  test("each event is handled only when the repository passes allowed_repos, and answered with 200 all the same", async () => {
    const bot = await startBot({ host, ...withOther(["acme/DEPLOY"]) });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.answers(one)).toHaveLength(1);
    expect(await bot.locked(one)).toEqual(["web"]);
    const before = bot.forge.requests.length;
    const other = await bot.open(changeOf(["other"]), { repository: OTHER });
    await bot.forge.comment(OTHER, other, "ana", "svc plan");
    await bot.forge.comment(OTHER, other, "ana", "svc help");
    await bot.forge.push(OTHER, other, changeOf(["other"], "3"));
    await bot.forge.review(OTHER, other, "bo", "approve");
    await bot.forge.close(OTHER, other);
    await bot.idle();
    expect(bot.forge.requests).toHaveLength(before);
    expect(bot.forge.changeRequest(OTHER, other).comments.map(({ author }) => author)).toEqual(["ana", "ana"]);
    expect(bot.forge.deliveries.map(({ status }) => status).filter((status) => status !== 200)).toEqual([]);
  });

  test("a repository that is no longer served gives back what it held with its close, and is told nothing", async () => {
    const allowed: string[] = [];
    const config = () => ({ defaults: { allowed_repos: allowed } });
    const bot = await startBot({ host, ...withOther([]), config, resources: () => ({ api: { spec: AUTO } }) });
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["web"], "3"), { by: "bo" })];
    const three = await bot.open(changeOf(["api"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(await bot.locked(two)).toEqual(["web"]);
    allowed.push(OTHER);
    await bot.restart();
    const said = [one, two, three].map((number) => bot.answers(number));
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.close(two);
    await bot.forge.mergeByHand(REPOSITORY, three, "bo");
    await bot.idle();
    expect(await bot.stores.locks.list()).toEqual([]);
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.stores.rollouts.list()).toEqual([]);
    expect([one, two, three].map((number) => bot.answers(number))).toEqual(said);
  });

  test("a repository that is no longer served gives its locks back also where a record of a deployment cannot be read", async () => {
    const allowed: string[] = [];
    let isUnreadable = false;
    const bot = await startBot({
      host,
      ...withOther([]),
      config: () => ({ defaults: { allowed_repos: allowed } }),
      stores: (clock) => {
        const stores = createMemoryStores(clock);
        const deployments = wrapPort(stores.deployments, {
          async ofChange(call, _change, skip) {
            if (!isUnreadable) return call();
            const error = new StoredValueUnreadable("of another version");
            if (skip === undefined) throw error;
            skip(error);
            return [];
          },
        });
        return { ...stores, deployments };
      },
    });
    const one = await bot.open(changeOf(["web"]));
    expect(await bot.locked(one)).toEqual(["web"]);
    allowed.push(OTHER);
    isUnreadable = true;
    await bot.restart();
    await bot.close(one);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("an entry may be a pattern", async () => {
    const bot = await startBot({ host, ...withOther(["acme/o*"]) });
    const one = await bot.open(changeOf(["web"]));
    await bot.open({ "README.md": "hello" }, { repository: OTHER });
    expect(bot.answers(one)).toEqual([]);
    expect(bot.forge.changeRequest(OTHER, 1).comments).toHaveLength(1);
  });
});
