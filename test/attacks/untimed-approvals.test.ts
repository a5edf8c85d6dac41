import { expect, test } from "@jest/globals";
import { GitLabForge } from "../../sandbox/gitlab/gitlab-forge.js";
import { REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

const OLD = "GitLab before 18.5 does not tell when an approval was given";
const APPROVED = "approved this merge request";

/** A GitLab that does not report when an approval was given, and a merge request that was pushed to a second time. */
async function start(): Promise<{ readonly bot: Bot; readonly forge: GitLabForge; readonly one: number }> {
  const bot = await startBot({ host: "hostb", config: { defaults: { require_approval: true } } });
  const { forge } = bot;
  if (!(forge instanceof GitLabForge)) throw new Error("not a GitLab");
  forge.setVersion("17.11.4-ee");
  const one = await bot.open(changeOf(["web"]));
  await bot.push(one, changeOf(["web"], "second"));
  return { bot, forge, one };
}

async function expectRefused(bot: Bot, one: number, why: string): Promise<void> {
  await bot.comment(one, "svc sync");
  expect(bot.lastComment(one)).toContain(why);
  expect(bot.changes()).toEqual([]);
}

test("an old GitLab's own note tells that an approval came after the newest commits", async () => {
  const { bot, forge, one } = await start();
  forge.passTime(10 * 60_000);
  await bot.approve(one);
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  expect(bot.liveValue("web")).toBe("second");
});

test("an approval by an old GitLab's notes does not cover what is pushed after it", async () => {
  const { bot, forge, one } = await start();
  forge.passTime(10 * 60_000);
  await bot.approve(one);
  forge.passTime(10 * 60_000);
  await bot.push(one, changeOf(["web"], "evil"));
  await expectRefused(bot, one, "bo approved before the newest commits came: approve again.");
});

test("a note that an old GitLab writes late does not carry an approval over a push", async () => {
  const { bot, forge, one } = await start();
  forge.passTime(10 * 60_000);
  const write = forge.delayApprovalNotes();
  await bot.approve(one);
  await expectRefused(bot, one, `${OLD}, and no note by GitLab says that bo approved`);
  await bot.push(one, changeOf(["web"], "evil"));
  forge.passTime(4 * 60_000);
  write();
  await expectRefused(
    bot,
    one,
    `${OLD}, and notes it up to 5 minutes late, so that of bo may be older than the newest`,
  );
});

test("a comment with the words of an old GitLab's note, or its note about another, approves nothing", async () => {
  const { bot, forge, one } = await start();
  const write = forge.delayApprovalNotes();
  await bot.approve(one);
  forge.passTime(10 * 60_000);
  await bot.comment(one, APPROVED, "ana");
  await bot.comment(one, APPROVED, "bo");
  forge.writeSystemNote(REPOSITORY, one, "ana", APPROVED);
  forge.writeSystemNote(REPOSITORY, one, "bo", `changed title from **x** to **${APPROVED}**`);
  await expectRefused(bot, one, `${OLD}, and no note by GitLab says that bo approved`);
  write();
});

test("an approval that an old GitLab notes as taken back counts for nothing, although it still lists it", async () => {
  const { bot, forge, one } = await start();
  forge.passTime(10 * 60_000);
  await bot.approve(one);
  forge.writeSystemNote(REPOSITORY, one, "bo", "unapproved this merge request");
  await expectRefused(bot, one, "or it was taken back since: take the approval back and give it again");
});

test("notes that push an old GitLab's note of an approval out of reach leave it uncounted, and the refusal says so", async () => {
  const { bot, forge, one } = await start();
  forge.passTime(10 * 60_000);
  await bot.approve(one);
  for (let note = 0; note < 1000; note += 1) forge.writeSystemNote(REPOSITORY, one, "ana", "changed the description");
  await expectRefused(
    bot,
    one,
    `${OLD}, and the merge request has too many notes by GitLab to find that of bo in the newest 1000`,
  );
});
