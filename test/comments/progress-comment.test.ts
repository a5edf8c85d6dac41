import { setImmediate } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createProgressComment } from "../../src/comments/progress-comment.js";
import { applicationName } from "../../src/core/model/brand.js";
import { HostFailure } from "../../src/core/model/errors.js";
import { CommandWorld, config, WEB } from "../core/commands/command-world.js";
import { ManualClock } from "../manual-clock.js";
import { LINKS } from "./samples.js";

function started() {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  const clock = new ManualClock();
  const progress = createProgressComment({
    host: world.host,
    change: world.host.facts(number),
    links: LINKS,
    command: "sync",
    runId: "r1",
    startedAt: clock.now(),
    clock,
    log: world.log,
  });
  const told = async (done: number) => {
    progress.report(WEB, { kind: "running", done, total: 9, message: "" });
    await setImmediate();
    return world.host.commentsOf(number);
  };
  return { world, number, clock, progress, told };
}

test("a run of less than five seconds shows none", async () => {
  const { clock, told, progress } = started();
  clock.advance(4_999);
  expect(await told(1)).toEqual([]);
  expect(await progress.end()).toBeUndefined();
});

test("a longer one shows one comment, edited every three seconds at most, with what is newest", async () => {
  const { clock, told, progress } = started();
  clock.advance(5_000);
  expect(await told(1)).toEqual([expect.stringContaining("1 of 9 resources")]);
  clock.advance(2_999);
  expect(await told(2)).toEqual([expect.stringContaining("1 of 9 resources")]);
  clock.advance(1);
  expect(await told(3)).toEqual([expect.stringContaining("3 of 9 resources")]);
  expect(await progress.end()).toBe("1");
});

test("nothing is written after its end", async () => {
  const { clock, told, progress } = started();
  clock.advance(5_000);
  await told(1);
  await progress.end();
  clock.advance(60_000);
  expect(await told(2)).toEqual([expect.stringContaining("1 of 9 resources")]);
});

test("one that could not be posted is not tried again and hinders nothing", async () => {
  const { world, number, clock, progress, told } = started();
  let posts = 0;
  world.host.postComment = () => {
    posts += 1;
    return Promise.reject(new HostFailure("forbidden", "no"));
  };
  for (let second = 0; second < 60; second += 5) {
    clock.advance(5_000);
    await told(second);
  }
  progress.report(applicationName("api"), { kind: "ended", outcome: "succeeded" });
  expect(await progress.end()).toBeUndefined();
  expect(posts).toBe(1);
  expect(world.host.commentsOf(number)).toEqual([]);
});
