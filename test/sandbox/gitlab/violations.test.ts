import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { projectPath, repository, startWorld, type World } from "./world.js";

let world: World;
beforeEach(async () => {
  world = await startWorld();
  await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
});
afterEach(async () => {
  await world.stop();
});

const merge = `${projectPath}/merge_requests/1`;

test.each<[string, string, string, unknown, number, RegExp]>([
  ["an unknown parameter", "GET", `${merge}?with_stats=true`, undefined, 200, /parameter with_stats/],
  ["a parameter of the wrong kind", "GET", `${merge}?render_html=maybe`, undefined, 400, /parameter render_html/],
  ["an unknown order", "GET", `${merge}/notes?sort=up`, undefined, 400, /parameter sort/],
  ["an unknown member", "POST", `${merge}/notes`, { body: "x", colour: "red" }, 201, /member colour/],
  ["a missing member", "POST", `${merge}/notes`, {}, 400, /member body/],
  ["a member of the wrong kind", "PUT", `${merge}/merge`, { squash: "yes" }, 400, /member squash/],
  [
    "a body where none belongs",
    "DELETE",
    `${projectPath}/repository/branches/change-1`,
    { force: true },
    204,
    /member force/,
  ],
  ["an endpoint that is not there", "GET", `${merge}/mood`, undefined, 404, /no such endpoint/],
  ["a method that is not there", "PATCH", merge, {}, 404, /no such endpoint/],
  [
    "a branch whose slash is not encoded",
    "GET",
    `${projectPath}/repository/branches/a/b`,
    undefined,
    404,
    /no such endpoint/,
  ],
  ["the project's approval settings", "GET", `${projectPath}/approvals`, undefined, 404, /no such endpoint/],
])("%s is written down", async (_, method, path, body, status, violation) => {
  expect((await world.call(method, path, { body })).status).toBe(status);
  expect(world.forge.violations).toHaveLength(1);
  expect(world.forge.violations[0]).toMatch(violation);
});

test("a webhook's event id that is passed on is written down", async () => {
  await world.call("GET", merge, { headers: { "x-gitlab-event-uuid": "00000000-0000-4000-b000-000000000001" } });
  expect(world.forge.violations).toHaveLength(1);
});

test("a body that is no JSON is written down and refused", async () => {
  const answer = await fetch(`${world.forge.url}${merge}/notes`, {
    method: "POST",
    headers: { "private-token": "glpat-sandbox-token", "content-type": "application/json" },
    body: '{"body": ',
  });
  expect(answer.status).toBe(400);
  expect(world.forge.violations).toHaveLength(1);
});
