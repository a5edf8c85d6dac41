import { expect, test } from "@jest/globals";
import type { GitHubForge } from "../../sandbox/github/github-forge.js";
import { REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

/** Only GitHub has stacks: it merges one as a whole, by the rules of the branch below it. */
async function start(
  defaults: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly bot: Bot; readonly github: GitHubForge }> {
  const bot = await startBot({ host: "hosta", config: { defaults } });
  const { github } = bot.world;
  if (github === undefined) throw new Error("the sandbox has no GitHub");
  return { bot, github };
}

function shown(bot: Bot, number: number): string {
  const last = bot.forge.statuses(REPOSITORY, bot.seen(number).headRevision).at(-1);
  return `${last?.state}: ${last?.description}`;
}

const UNPLANNED = "pending: not planned for main, which its stack is merged into: merge what is below it first";

test("is not green above the lowest one, though nothing follows its base branch, until it has another", async () => {
  const { bot, github } = await start();
  const one = await bot.open({ "README.md": "a typo\n" }, { branch: "lower" });
  const two = await bot.open(changeOf(["web"]), { base: "lower" });
  expect(shown(bot, two)).toMatch(/^success: nothing to deploy; /);
  await github.stack(REPOSITORY, [one, two]);
  await bot.idle();
  expect([shown(bot, one), shown(bot, two)]).toEqual(["success: nothing to deploy", UNPLANNED]);
  await bot.push(two, changeOf(["web"], "3"));
  expect(shown(bot, two)).toBe(UNPLANNED);
  await bot.comment(two, "svc plan");
  expect(shown(bot, two)).toBe(UNPLANNED);
  await github.retarget(REPOSITORY, two, "main");
  await bot.idle();
  expect(shown(bot, two)).toBe("pending: web awaits svc sync");
});

test.each([
  ["", {}],
  [", also where svc plans only on command", { autoplan: false }],
])("is green again a while after somebody dissolved the stack, of which GitHub tells nobody%s", async (_, defaults) => {
  const { bot, github } = await start(defaults);
  const one = await bot.open({ "README.md": "a typo\n" }, { branch: "lower" });
  const two = await bot.open(changeOf(["web"]), { base: "lower" });
  await github.stack(REPOSITORY, [one, two]);
  await bot.idle();
  await later(bot);
  expect(shown(bot, two)).toBe(UNPLANNED);
  github.unstack(REPOSITORY, [one, two]);
  await later(bot);
  await later(bot);
  expect(shown(bot, two)).toMatch(/^success: nothing to deploy; /);
});

async function later(bot: Bot): Promise<void> {
  bot.clock.advance(10 * 60_000);
  await bot.service.reconcile();
  await bot.idle();
}
