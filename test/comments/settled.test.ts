import { expect, test } from "@jest/globals";
import { remark } from "../../src/comments/marker.js";
import { renderProgress, endProgress } from "../../src/comments/progress-comment.js";
import { API, CommandWorld, config, WEB } from "../core/commands/command-world.js";
import { expectGolden } from "./golden.js";
import { LINKS, WORDS } from "./samples.js";

test("the progress comment of an interrupted run says how it ended; those of other runs stay as they are", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  const change = world.host.facts(number);
  const running = renderProgress("sync", new Map([["web", { kind: "waiting" }]]), change, LINKS);
  const bodies = ["cut", "other"].map((runId) => remark(running, { runId }));
  for (const body of bodies) await world.host.postComment(change, body);
  await endProgress(
    world.host,
    change,
    [
      { application: WEB, runId: "cut", outcome: "succeeded" },
      { application: API, runId: "cut", outcome: "failed" },
    ],
    WORDS[change.host],
  );
  const [ended, other] = world.host.commentsOf(number);
  expect(ended).toMatch(/^<!-- svc:result [^\n]*run=cut -->\n## svc Sync \(interrupted\)\n/);
  expect(ended).toContain("- `web`: ✅ it succeeded, and its lock was released");
  expect(ended).toContain("- `api`: ❌ it failed, and its lock is kept");
  expect(ended).not.toContain("running");
  expectGolden("result-interrupted", () => [ended?.replace(/head=\w+/, "head=0") ?? ""]);
  expect(other).toBe(bodies[1]);
  const closed = { ...change, state: "closed" } as const;
  await endProgress(world.host, closed, [{ application: WEB, runId: "other", outcome: "failed" }], WORDS[change.host]);
  expect(world.host.commentsOf(number).at(-1)).toMatch(/- `web`: ❌ it failed$/);
  const before = world.host.commentsOf(number);
  await endProgress(world.host, change, [{ application: WEB, runId: "cut", outcome: "succeeded" }], WORDS[change.host]);
  expect(world.host.commentsOf(number)).toEqual(before);
});
