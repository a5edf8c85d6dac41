import { expect, test } from "@jest/globals";
import { renderLockLost, renderPlan, renderTakenOver } from "../../src/comments/plan.js";
import type { Present } from "../../src/comments/present.js";
import { markStale } from "../../src/comments/publish.js";
import { applicationName } from "../../src/core/model/brand.js";
import type { Plan } from "../../src/core/model/plan/plan.js";
import type { HostId } from "../../src/names.js";
import { withPresent } from "../../src/run/answer/plan-comment.js";
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
const options = { words: WORDS.hosta, pruning: false, links: LINKS, comments: "all" } as const;
const on = (host: HostId, more: Partial<Plan> = {}) =>
  renderPlan(samplePlan(applications, { change: sampleChange(host), ...more }), { ...options, words: WORDS[host] });
const applications = [
  sampleApplication("web", evaluated([resource("apps/Deployment guestbook/web", "update", UPDATE)])),
];
const plan = on("hosta");

test("a plan that a newer one replaced", () => {
  expectGolden("plan-outdated", (host) => on(host).map((body) => markStale(body) ?? ""));
});

test("a plan whose target branch moved says so under its heading, and not among its notes", () => {
  const moved = "the base branch moved: in web, main changed apps/web/more.yaml since this branch left it";
  const notes = [moved, "apps/template.yaml: not YAML"];
  expectGolden("plan-base-moved", (host) => on(host, { notes }));
});

test("of a plan of several comments only what stands before the first application is edited", () => {
  const [body = ""] = plan;
  const first = body.replace("## svc Plan", "## svc Plan (part 1 of 2)");
  const present: Present = { state: "open", approvers: ["bo"], deployed: [] };
  const now = renderPlan(samplePlan(applications), { ...options, present });
  const edited = withPresent(first.replace("replicas: 3", "replicas: 7"), now, WORDS.hosta.maxComment);
  expect(edited).toContain("pproved by `bo`");
  expect(edited).toContain("replicas: 7");
  expect(withPresent(body.replace("replicas: 3", "replicas: 7"), now, WORDS.hosta.maxComment)).toBe(now[0]);
});

test("a lock that a rollback of another change request took over", () => {
  expectGolden("result-lock-taken-over", (host) => {
    const rolledBack = { ...sampleChange(host), number: 9 };
    return [renderTakenOver([sampleLock("web")], { change: rolledBack, login: "bo" }, WORDS[host], LINKS)];
  });
});

test("locks that an administrator released, of which others have waited for one", () => {
  const [api, web] = [applicationName("api"), applicationName("web")];
  const lost = { applications: [api, web], by: "olga", waits: [web] };
  expectGolden("lock-released", (host) => [renderLockLost(lost, WORDS[host])]);
});
