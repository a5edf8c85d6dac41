import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { projectPath, refusal, repository, startWorld, token, type World } from "./world.js";

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.stop();
});

describe("the token", () => {
  test.each([
    ["no token", {}],
    ["another token", { "private-token": "glpat-wrong" }],
    ["a prefix of it", { "private-token": token.slice(0, -1) }],
    ["another bearer", { authorization: "Bearer glpat-wrong" }],
  ])("%s is answered 401", async (_, headers) => {
    const answer = await fetch(`${world.forge.url}/api/v4/user`, { headers: headers as Record<string, string> });
    expect(answer.status).toBe(401);
    expect(await answer.json()).toEqual({ message: "401 Unauthorized" });
  });

  test("may come as a bearer", async () => {
    const answer = await fetch(`${world.forge.url}/api/v4/user`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
  });

  test("belongs to the bot", async () => {
    const user = await world.client.Users.showCurrentUser();
    expect(user).toMatchObject({ id: 900, username: "project_42_bot_4ffca233d8298ea1", bot: true, state: "active" });
    expect(world.forge.violations).toEqual([]);
  });
});

test("a project is found by its full path, nested groups included, and by its number", async () => {
  const byPath = await world.client.Projects.show(repository);
  expect(byPath).toMatchObject({ path_with_namespace: repository, default_branch: "main", path: "gitops" });
  expect(byPath.http_url_to_repo).toBe(world.forge.cloneUrl(repository));
  expect((await world.client.Projects.show(byPath.id)).path_with_namespace).toBe(repository);
  expect(await refusal(world.client.Projects.show("acme/other"))).toEqual({
    status: 404,
    text: "404 Project Not Found",
  });
  expect(world.forge.violations).toEqual([]);
});

test("a project that the bot was taken out of does not exist for it", async () => {
  world.forge.setAccess(repository, world.forge.bot.username, "none");
  expect(await refusal(world.client.Projects.show(repository))).toMatchObject({ status: 404 });
});

describe("a merge request", () => {
  test("a change of either branch makes the check start anew", async () => {
    const number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
    const status = async (): Promise<string> =>
      (await world.client.MergeRequests.show(repository, number)).detailed_merge_status;
    expect(await status()).toBe("mergeable");
    await world.forge.pushToBranch(repository, "main", { "apps/web.yaml": "replicas: 9\n" });
    expect(await status()).toBe("conflict");
    await world.forge.pushToBranch(repository, "main", { "apps/web.yaml": "replicas: 1\n" });
    expect(await status()).toBe("mergeable");
  });

  test("each push and each new target is a version, newest first", async () => {
    await world.forge.pushToBranch(repository, "release", { "notes.md": "r\n" });
    const number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
    const first = world.forge.changeRequest(repository, number).headRevision;
    const second = await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" });
    const third = await world.forge.pushSilently(repository, number, { "apps/web.yaml": "replicas: 4\n" });
    await world.forge.retarget(repository, number, "release");
    const versions = await world.client.MergeRequests.allDiffVersions(repository, number);
    expect(versions.map(({ head_commit_sha }) => head_commit_sha)).toEqual([third, third, second, first]);
    const times = versions.map(({ created_at }) => created_at);
    expect(new Set(times).size).toBe(4);
    expect(times).toEqual([...times].sort().reverse());
    expect(world.forge.violations).toEqual([]);
  });

  test("a fork has a project of its own, closed to the bot", async () => {
    const number = await world.forge.open({
      repository,
      by: "olga",
      fork: true,
      branch: "patch-1",
      draft: true,
      changes: { "apps/web.yaml": "replicas: 7\n" },
    });
    const shown = await world.client.MergeRequests.show(repository, number);
    expect(shown.source_project_id).not.toBe(shown.target_project_id);
    expect(shown).toMatchObject({ draft: true, source_branch: "patch-1" });
    expect(shown.title).toMatch(/^Draft: /);
    expect(await refusal(world.client.Projects.show(shown.source_project_id))).toMatchObject({ status: 404 });
  });

  test.each([
    ["a number that is not there", "/merge_requests/99", 404, { message: "404 Not found" }],
    ["no number", "/merge_requests/abc", 400, { error: "merge_request_iid is invalid" }],
  ])("%s", async (_, path, status, body) => {
    expect(await world.call("GET", `${projectPath}${path}`)).toEqual({ status, body });
  });
});

test("faults come before everything else, and requests are written down", async () => {
  world.forge.faults.add({ path: /\/user$/, times: 1, fault: { kind: "status", status: 500 } });
  expect((await fetch(`${world.forge.url}/api/v4/user`)).status).toBe(500);
  expect((await fetch(`${world.forge.url}/api/v4/user`)).status).toBe(401);
  await world.client.Users.showCurrentUser();
  expect(world.forge.requests).toEqual([
    { method: "GET", path: "/api/v4/user", authorization: undefined },
    { method: "GET", path: "/api/v4/user", authorization: undefined },
    { method: "GET", path: "/api/v4/user", authorization: token },
  ]);
});
