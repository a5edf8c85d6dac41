import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

describe.each(HOSTS)("what the pages say of a change request on %s", (host) => {
  test("is its title and state as the host told them last: open, a draft, ready again, merged", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["api"]));
    const known = async () => {
      await bot.idle();
      const [note, other] = await bot.stores.marks.described([bot.ref(one), bot.ref(two)]);
      return [note?.title !== "" && typeof note?.title, note?.state, note?.draft, other?.state];
    };
    expect(await known()).toEqual(["string", "open", false, "open"]);
    await bot.forge.markDraft(REPOSITORY, one, true);
    expect(await known()).toEqual(["string", "open", true, "open"]);
    await bot.forge.markDraft(REPOSITORY, one, false);
    expect(await known()).toEqual(["string", "open", false, "open"]);
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.close(two);
    expect(await known()).toEqual(["string", "merged", false, "closed"]);
  });
});
