import { expect, test } from "@jest/globals";
import { renderLockLost, renderPlan, renderTakenOver } from "../../src/comments/plan.js";
import { markMoved, markStale } from "../../src/comments/publish.js";
import { applicationName } from "../../src/core/model/brand.js";
import { noDelay } from "../in-memory/delay.js";
import { MemoryHost } from "../in-memory/memory-host.js";
import { MemoryRepositories } from "../in-memory/memory-repositories.js";
import { expectGolden } from "./golden.js";
import {
  evaluated,
  LINKS,
  resource,
  sampleApplication,
  sampleChange,
  sampleLock,
  samplePlan,
  WORDS,
} from "./samples.js";

const UPDATE = "@@ -4,3 +4,3 @@\n   name: web\n-  replicas: 2\n+  replicas: 3\n";
const plan = renderPlan(
  samplePlan([sampleApplication("web", evaluated([resource("apps/Deployment guestbook/web", "update", UPDATE)]))]),
  { words: WORDS.hosta, pruning: false, links: LINKS, comments: "all" },
);

test("a plan that a newer one replaced", () => {
  expectGolden(
    "plan-outdated",
    plan.map((body) => markStale(body) ?? ""),
  );
});

test("a plan whose target branch moved says so under its heading, once, until it no longer holds", async () => {
  const repositories = new MemoryRepositories(noDelay);
  const { repository } = sampleChange();
  const host = new MemoryHost({ id: "hosta", repository, repositories, delay: noDelay });
  repositories.commit("main", {});
  const change = host.open({}, { id: "1", login: "ana", bot: false });
  for (const body of plan) await host.postComment(change, body);
  const before = host.commentsOf(change.number);
  const sentence = "web: main changed apps/web/more.yaml since this branch left it";
  await markMoved(host, change, [sentence]);
  await markMoved(host, change, [sentence]);
  expectGolden("plan-base-moved", host.commentsOf(change.number));
  await markMoved(host, change, []);
  expect(host.commentsOf(change.number)).toEqual(before);
});

test("a lock that a rollback of another change request took over", () => {
  const rolledBack = { ...sampleChange(), number: 9 };
  expectGolden("result-lock-taken-over", [renderTakenOver([sampleLock("web")], rolledBack, "bo", WORDS.hosta)]);
});

test("locks that an administrator released, of which others have waited for one", () => {
  const [api, web] = [applicationName("api"), applicationName("web")];
  expectGolden("lock-released", [renderLockLost({ applications: [api, web], by: "olga", waits: [web] }, WORDS.hosta)]);
});
