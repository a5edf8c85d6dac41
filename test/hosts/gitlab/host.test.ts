import { describe, expect, test } from "@jest/globals";
import nock from "nock";
import { isOwnRepository } from "../../../src/core/detect/tree/repository-url.js";
import { HostFailure } from "../../../src/core/model/errors.js";
import { collectGarbage } from "../../collect-garbage.js";
import { interceptRequests } from "../intercept.js";
import {
  BASE,
  FORK_POINT,
  HEAD,
  MERGE_REQUEST,
  OTHER,
  PROJECT,
  change,
  gitlabUnderTest,
  mergeRequest,
  ref,
} from "./gitlab-under-test.js";

interceptRequests();

describe("facts of a merge request", () => {
  function answerFacts(
    api: nock.Scope,
    changes: Record<string, unknown> = {},
    path = "acme/platform/gitops",
    mergeBase: string = FORK_POINT,
  ) {
    api.get(MERGE_REQUEST).reply(200, mergeRequest(changes));
    api.get(PROJECT).reply(200, {
      path_with_namespace: path,
      default_branch: "main",
      web_url: "https://gitlab.example.com/git/acme/platform/gitops",
      http_url_to_repo: "https://gitlab.example.com/git/acme/platform/gitops.git",
      ssh_url_to_repo: "git@gitlab.example.com:acme/platform/gitops.git",
    });
    api.get(`${PROJECT}/repository/branches/main`).reply(200, { commit: { id: BASE }, protected: true });
    api
      .get(`/projects/${encodeURIComponent(path)}/repository/merge_base`)
      .query({ "refs[]": [BASE, HEAD] })
      .reply(200, { id: mergeBase });
  }

  test("come from four reads", async () => {
    const { host, api } = gitlabUnderTest();
    answerFacts(api);
    expect(await host.getChangeRequest(ref)).toEqual({
      ...change,
      repositoryId: "42",
      repositoryUrls: [
        "https://gitlab.example.com/git/acme/platform/gitops.git",
        "git@gitlab.example.com:acme/platform/gitops.git",
        "https://gitlab.example.com/git/acme/platform/gitops",
        "https://git.example.com/git/acme/platform/gitops.git",
        "https://git.example.com/acme/platform/gitops.git",
        "git@git.example.com:acme/platform/gitops.git",
      ],
    });
  });

  test.each<[string, Record<string, unknown>, object]>([
    ["a fork", { source_project_id: 43 }, { fork: true }],
    ["a deleted fork", { source_project_id: null }, { fork: true }],
    ["a deleted author", { author: null }, { author: undefined }],
    ["a merged one", { state: "merged" }, { state: "merged" }],
    ["a closed one", { state: "closed" }, { state: "closed" }],
    ["a merge in progress", { state: "locked" }, { state: "open" }],
    ["a draft", { draft: true }, { draft: true }],
    ["a draft by its old name", { draft: undefined, work_in_progress: true }, { draft: true }],
    ["a bot as author", { author: { id: 9, username: "project_42_bot_ab12" } }, { author: { bot: true } }],
  ])("%s", async (_, changes, expected) => {
    const { host, api } = gitlabUnderTest();
    answerFacts(api, changes);
    expect(await host.getChangeRequest(ref)).toMatchObject(expected);
  });

  test.each([
    ["a merge commit", { merge_commit_sha: OTHER }, FORK_POINT, OTHER],
    ["the commit of a squash", { squash_commit_sha: OTHER }, FORK_POINT, OTHER],
    ["the head, where the target branch has it after a fast-forward", {}, HEAD, HEAD],
    ["no commit, where GitLab has rebased the head before the fast-forward", {}, FORK_POINT, undefined],
  ])("name %s as what holds the merge", async (_, commits, mergeBase, mergedAs) => {
    const { host, api } = gitlabUnderTest();
    answerFacts(api, { state: "merged", merge_commit_sha: null, ...commits }, undefined, mergeBase);
    expect((await host.getChangeRequest(ref)).mergedAs).toBe(mergedAs);
  });

  test("wait until GitLab has prepared the diff", async () => {
    const { host, api, clock } = gitlabUnderTest();
    api.get(MERGE_REQUEST).reply(200, mergeRequest({ sha: null, detailed_merge_status: "preparing" }));
    api.get(MERGE_REQUEST).reply(200, mergeRequest({ detailed_merge_status: "preparing" }));
    answerFacts(api);
    await host.getChangeRequest(ref);
    expect(clock.sleeps).toEqual([500, 1000]);
  });

  test("name its repository below the server's path, under other host names too, and not another one that looks like it", async () => {
    const { host, api } = gitlabUnderTest();
    const read = async (path: string) => {
      answerFacts(api, {}, path);
      const { repositoryUrls } = await host.getChangeRequest(ref);
      return (url: string) => isOwnRepository({ repositoryUrls }, url);
    };
    const isOwn = await read("acme/platform/gitops");
    expect(isOwn("https://git.example.com/git/acme/platform/gitops")).toBe(true);
    expect(isOwn("https://git.example.com/acme/platform/gitops")).toBe(true);
    const isOther = await read("git/acme/platform/gitops");
    expect(isOther("https://git.example.com/git/git/acme/platform/gitops")).toBe(true);
    expect(isOther("https://git.example.com/git/acme/platform/gitops")).toBe(false);
  });

  test.each([
    "https://git.example.com/git/acme/web.git",
    "https://git.example.com/acme/web",
    "git@git.example.com:acme/web",
  ])("a file at %s is read in its own project", async (repoURL) => {
    const { host } = gitlabUnderTest();
    const blobs = { nodes: [{ mode: "100644", rawTextBlob: "a: 1" }] };
    nock("https://gitlab.example.com")
      .post("/git/api/graphql", (body: { variables: { project: string } }) => body.variables.project === "acme/web")
      .reply(200, { data: { project: { repository: { standard: blobs } } } });
    expect(await host.readFile({ repoURL, path: ".svc.yaml", follows: "" })).toEqual([{ kind: "text", text: "a: 1" }]);
  });

  test("are a failure when there is never a head", async () => {
    const { host, api } = gitlabUnderTest();
    api
      .get(MERGE_REQUEST)
      .times(6)
      .reply(200, mergeRequest({ sha: null }));
    await expect(host.getChangeRequest(ref)).rejects.toThrow("has not prepared the merge request");
  });

  test("an aborted call rejects with the signal's reason", async () => {
    const { host } = gitlabUnderTest();
    const reason = new Error("stopped");
    await expect(host.getChangeRequest(ref, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe("mergeability", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["mergeable", {}, "mergeable"],
    ["waiting for our own status", { detailed_merge_status: "ci_must_pass" }, "mergeable"],
    ["not approved", { detailed_merge_status: "not_approved" }, "mergeable"],
    ["a status of the future", { detailed_merge_status: "moon_phase" }, "mergeable"],
    ["conflict", { detailed_merge_status: "conflict" }, "conflicts"],
    ["conflict by its old name", { detailed_merge_status: "broken_status" }, "conflicts"],
    ["conflict hidden by another reason", { detailed_merge_status: "draft_status", has_conflicts: true }, "conflicts"],
    ["closed", { state: "closed", detailed_merge_status: "not_open" }, "unknown"],
  ])("%s", async (_, changes, expected) => {
    const { host, api } = gitlabUnderTest();
    api.get(MERGE_REQUEST).reply(200, mergeRequest(changes));
    expect(await host.mergeability(ref)).toBe(expected);
  });

  test.each([
    { detailed_merge_status: "unchecked" },
    { detailed_merge_status: "checking" },
    { detailed_merge_status: "preparing" },
    { detailed_merge_status: "approvals_syncing" },
    { detailed_merge_status: "draft_status", merge_status: "checking" },
  ])("is polled while %j", async (changes) => {
    const { host, api, clock } = gitlabUnderTest();
    api.get(MERGE_REQUEST).reply(200, mergeRequest(changes));
    api.get(MERGE_REQUEST).reply(200, mergeRequest({ has_conflicts: true }));
    expect(await host.mergeability(ref)).toBe("conflicts");
    expect(clock.sleeps).toEqual([500]);
  });

  test("stays unknown when GitLab takes more than 16 seconds", async () => {
    const { host, api } = gitlabUnderTest();
    api
      .get(MERGE_REQUEST)
      .times(6)
      .reply(200, mergeRequest({ detailed_merge_status: "checking" }));
    expect(await host.mergeability(ref)).toBe("unknown");
  });
});

describe("who may command", () => {
  const ben = { id: "102", login: "ben", bot: false };
  test.each([
    ["a developer", { id: 102, state: "active", access_level: 30 }, true],
    ["an owner", { id: 102, state: "active", access_level: 50 }, true],
    ["a reporter", { id: 102, state: "active", access_level: 20 }, false],
    ["a blocked maintainer", { id: 102, state: "blocked", access_level: 40 }, false],
    ["an answer about somebody else", { id: 103, state: "active", access_level: 40 }, false],
  ])("%s", async (_, member, expected) => {
    const { host, api } = gitlabUnderTest();
    api.get(`${PROJECT}/members/all/102`).reply(200, member);
    expect(await host.mayCommand(ref, ben)).toBe(expected);
  });

  test("a stranger may not; any other failure is no answer", async () => {
    const { host, api } = gitlabUnderTest();
    api.get(`${PROJECT}/members/all/102`).reply(404, { message: "404 Not found" });
    expect(await host.mayCommand(ref, ben)).toBe(false);
    api.get(`${PROJECT}/members/all/102`).reply(403, { message: "403 Forbidden" });
    await expect(host.mayCommand(ref, ben)).rejects.toMatchObject({ reason: "forbidden" });
  });
});

test.each([
  ["a Guest", 10, true],
  ["somebody with Minimal Access, which single sign-on gives everybody", 5, false],
])("%s of a group is one of its team: %d", async (_, level, expected) => {
  const { host, api } = gitlabUnderTest();
  api.get("/groups/acme/members/all/102").reply(200, { id: 102, state: "active", access_level: level });
  expect(await host.belongsToAny(ref, { id: "102", login: "ben", bot: false }, ["acme"])).toBe(expected);
});

describe("who may read", () => {
  const ben = { id: "102", login: "ben", external: false };
  const open = { repository_access_level: "enabled", merge_requests_access_level: "enabled" };
  const role = (level: number, state = "active") => ({ id: 102, state, access_level: level });

  test.each<[string, object, boolean, object | undefined, boolean]>([
    ["a stranger, of a public project", { visibility: "public", ...open }, false, undefined, true],
    ["an external user, of a public project", { visibility: "public", ...open }, true, undefined, true],
    ["a stranger, of an internal project", { visibility: "internal", ...open }, false, undefined, true],
    ["an external user, of an internal project", { visibility: "internal", ...open }, true, undefined, false],
    ["an external Reporter, of an internal project", { visibility: "internal", ...open }, true, role(20), true],
    ["a stranger, of a private project", { visibility: "private", ...open }, false, undefined, false],
    ["a Guest, of a private project", { visibility: "private", ...open }, false, role(10), false],
    ["a Planner, of a private project", { visibility: "private", ...open }, false, role(15), false],
    ["a Reporter, of a private project", { visibility: "private", ...open }, false, role(20), true],
    ["a blocked owner, of a private project", { visibility: "private", ...open }, false, role(50, "blocked"), false],
    [
      "a stranger, of a public project whose files are for members",
      { visibility: "public", ...open, repository_access_level: "private" },
      false,
      undefined,
      false,
    ],
    [
      "a stranger, of a public project whose merge requests are for members",
      { visibility: "public", ...open, merge_requests_access_level: "private" },
      false,
      undefined,
      false,
    ],
    [
      "a stranger, of a public project that says nothing of its parts",
      { visibility: "public" },
      false,
      undefined,
      false,
    ],
  ])("%s", async (_, project, external, member, expected) => {
    const { host, api } = gitlabUnderTest();
    api.get(PROJECT).reply(200, project);
    const answer = api.get(`${PROJECT}/members/all/102`).optionally();
    if (member === undefined) answer.reply(404, { message: "404 Not found" });
    else answer.reply(200, member);
    expect(await host.mayRead(ref, { ...ben, external })).toBe(expected);
  });

  test("nobody, of a project that is gone; any other failure is no answer", async () => {
    const { host, api } = gitlabUnderTest();
    api.get(PROJECT).reply(404, { message: "404 Project Not Found" });
    expect(await host.mayRead(ref, ben)).toBe(false);
    api.get(PROJECT).reply(403, { message: "403 Forbidden" });
    await expect(host.mayRead(ref, ben)).rejects.toMatchObject({ reason: "forbidden" });
  });
});

describe("own account and comments", () => {
  test("a wrong token is said with the setting to check", async () => {
    const { host, api } = gitlabUnderTest();
    api.get("/user").reply(401, { message: "401 Unauthorized" });
    await expect(host.self()).rejects.toMatchObject({
      reason: "unauthenticated",
      message: expect.stringContaining("check gitlab.token"),
    });
  });

  test("the account is asked once; only its own comments are listed, over all pages", async () => {
    const { host, api } = gitlabUnderTest();
    api.get("/user").reply(200, { id: 900, username: "svc", bot: true });
    const page = (number: number) =>
      api
        .get(`${MERGE_REQUEST}/notes`)
        .query({ sort: "asc", order_by: "created_at", per_page: "100", page: String(number) });
    const others = Array.from({ length: 99 }, (_, index) => ({ id: index + 1, body: "x", author: { id: 101 } }));
    page(1).reply(200, [...others, { id: 100, body: "ours", system: false, author: { id: 900 } }]);
    page(2).reply(200, [{ id: 101, body: "merged", system: true, author: { id: 900 } }]);
    expect(await host.listOwnComments(ref)).toEqual([{ id: "100", body: "ours" }]);
    expect(await host.self()).toEqual({ id: "900", login: "svc", bot: true });
  });

  test("its own comments are listed in small pages where other people write more than one answer may have", async () => {
    const { host, api } = gitlabUnderTest();
    api.get("/user").reply(200, { id: 900, username: "svc", bot: true });
    const page = (size: number, which: (number: number) => boolean) =>
      api
        .get(`${MERGE_REQUEST}/notes`)
        .query(({ per_page: per, page: number }) => per === String(size) && which(Number(number)));
    const others = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ id: index + 1, body: "x", author: { id: 101 } }));
    const own = (id: number) => ({ id, body: "ours", author: { id: 900 } });
    page(100, (number) => number === 1).reply(200, [{ ...own(1), body: "<".repeat(34 * 1024 * 1024) }]);
    page(5, (number) => number < 20)
      .times(19)
      .reply(200, others(5));
    page(5, (number) => number === 20).reply(200, [...others(4), own(100)]);
    page(100, (number) => number === 2).reply(200, [own(101)]);
    expect((await host.listOwnComments(ref)).map(({ id }) => id)).toEqual(["100", "101"]);
  });

  test("a page that is short because GitLab hides notes in it is not the last one", async () => {
    const { host, api } = gitlabUnderTest();
    api.get("/user").reply(200, { id: 900, username: "svc", bot: true });
    const page = (number: number) => api.get(`${MERGE_REQUEST}/notes`).query((query) => query.page === String(number));
    page(1).reply(200, [{ id: 1, body: "x", author: { id: 101 } }], { "x-next-page": "2" });
    page(2).reply(200, [], { "x-next-page": "3" });
    page(3).reply(200, [{ id: 201, body: "ours", author: { id: 900 } }], { "x-next-page": "" });
    expect(await host.listOwnComments(ref)).toEqual([{ id: "201", body: "ours" }]);
  });

  test("comments are posted as plain notes and edited", async () => {
    const { host, api } = gitlabUnderTest();
    api.post(`${MERGE_REQUEST}/notes`, { body: "hello" }).reply(201, { id: 55 });
    api.put(`${MERGE_REQUEST}/notes/55`, { body: "again" }).reply(200, { id: 55 });
    expect(await host.postComment(ref, "hello", { urgency: "result" })).toBe("55");
    await host.editComment(ref, "55", "again");
  });

  test.each([500, 502, 429])("comments are sent once, also when the answer is %d", async (status) => {
    const { host, api } = gitlabUnderTest();
    api.post(`${MERGE_REQUEST}/notes`).reply(status, { message: "oops" }, { "retry-after": "1" });
    await expect(host.postComment(ref, "hello", { urgency: "help" })).rejects.toThrow(HostFailure);
  });
});

test("git reads with the token", async () => {
  const { host } = gitlabUnderTest();
  expect(await host.cloneSource(ref)).toEqual({
    url: "https://gitlab.example.com/git/acme/platform/gitops.git",
    authorization: `Basic ${Buffer.from("oauth2:glpat-secret").toString("base64")}`,
    headRef: "refs/merge-requests/17/head",
  });
});

describe("refusals", () => {
  test.each<[number, string, RegExp]>([
    [401, "unauthenticated", /refused the access token \(401\) when asked to read the merge request/],
    [403, "forbidden", /"said".*scope api/],
    [404, "not-found", /found nothing \(404\).*member of the project/],
    [409, "rejected", /\(409, "said"\)/],
    [415, "rejected", /\(415, "said"\)/],
    [429, "rate-limited", /rate limit/],
  ])("%d", async (status, reason, text) => {
    const { host, api } = gitlabUnderTest();
    // A limit that names no pause is tried again after a minute.
    api
      .get(MERGE_REQUEST)
      .times(reason === "rate-limited" ? 2 : 1)
      .reply(status, { message: "said" });
    const failure = host.mergeability(ref);
    await expect(failure).rejects.toMatchObject({ name: "HostFailure", reason });
    await expect(failure).rejects.toThrow(text);
  });

  test("a message that is an object is quoted on one line", async () => {
    const { host, api } = gitlabUnderTest();
    api.get(MERGE_REQUEST).reply(400, { message: { base: ["no\n/merge"] } });
    await expect(host.mergeability(ref)).rejects.toThrow('(400, "{"base":["no\\n/merge"]}")');
  });

  test("a read is tried three times when GitLab fails, and waits as long as it asks", async () => {
    const { host, api, clock } = gitlabUnderTest();
    api.get(MERGE_REQUEST).reply(502, "<html>");
    api.get(MERGE_REQUEST).reply(429, { message: "slow" }, { "retry-after": "9" });
    api.get(MERGE_REQUEST).reply(200, mergeRequest());
    expect(await host.mergeability(ref)).toBe("mergeable");
    const [first = 0, second] = clock.sleeps;
    expect([first >= 500, first <= 750, second]).toEqual([true, true, 9000]);
  });
});

describe("the open merge requests with a head", () => {
  const path = `${PROJECT}/repository/commits/${HEAD}/merge_requests`;
  const merges = (count: number, changes: Record<string, unknown> = {}) =>
    Array.from({ length: count }, (_, index) => mergeRequest({ iid: index + 1, ...changes }));
  const query = (page: number) => ({ state: "opened", per_page: "100", page: String(page) });

  test("are those of the commit that have it as head, not those that only contain it", async () => {
    const { host, api } = gitlabUnderTest();
    const all = [...merges(98, { sha: OTHER }), mergeRequest({ iid: 99 }), mergeRequest({ iid: 100, state: "merged" })];
    api.get(path).query(query(1)).reply(200, all);
    api
      .get(path)
      .query(query(2))
      .reply(200, [mergeRequest({ iid: 101 }), mergeRequest({ iid: 102, sha: null })]);
    expect(await host.openWithHead(change)).toEqual({ numbers: [99, 101], cutOff: undefined });
  });

  test("are read for three pages; that there may be more is said", async () => {
    const { host, api } = gitlabUnderTest();
    for (const page of [1, 2, 3]) api.get(path).query(query(page)).reply(200, merges(100));
    const { numbers, cutOff } = await host.openWithHead(change);
    expect(numbers).toHaveLength(300);
    expect(cutOff).toBe("300 or more have it");
  });
});

test.each([
  ["train", false],
  ["merge", true],
  ["head", true],
] as const)("the status of a head whose pipeline runs for refs/merge-requests/17/%s is set: %s", async (of, isSet) => {
  const { host, api } = gitlabUnderTest();
  const pipeline = { id: 5, sha: HEAD, ref: `refs/merge-requests/17/${of}`, project_id: 42 };
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ head_pipeline: pipeline }));
  if (isSet) api.post(`${PROJECT}/statuses/${HEAD}`).reply(201, {});
  const status = { state: "success", description: "ready to merge", url: undefined } as const;
  expect(await host.setStatus(change, status)).toBe(isSet);
});

test.each([
  ["svc", 900, true],
  ["somebody else", 101, false],
] as const)("a status that GitLab refuses to set is set already if %s has set it", async (_, author, isSet) => {
  const { host, api } = gitlabUnderTest();
  const pipeline = { id: 5, sha: HEAD, ref: "feat/x", project_id: 42 };
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ head_pipeline: pipeline }));
  api
    .post(`${PROJECT}/statuses/${HEAD}`)
    .reply(400, { message: "Cannot transition status via :enqueue from :pending" });
  api.get("/user").reply(200, { id: 900, username: "svc" });
  const found = { name: "svc/sync", status: "pending", pipeline_id: 5, author: { id: author, username: "one" } };
  api.get(`${PROJECT}/repository/commits/${HEAD}/statuses`).query(true).reply(200, [found]);
  const set = host.setStatus(change, { state: "pending", description: "web awaits svc sync", url: undefined });
  await (isSet ? expect(set).resolves.toBe(true) : expect(set).rejects.toMatchObject({ reason: "rejected" }));
});

test.each([
  [50, "2026-03-02T10:49:00.000Z"],
  [49, undefined],
])("the activity of %i merge requests is read up to %s", async (count, readTo) => {
  const { host, api } = gitlabUnderTest();
  const list = Array.from({ length: count }, (_, index) => {
    const updated_at = `2026-03-02T10:${String(index).padStart(2, "0")}:00.000Z`;
    return mergeRequest({ iid: index + 1, updated_at });
  });
  api
    .get(`${PROJECT}/merge_requests`)
    .query(({ order_by, sort, per_page }) => order_by === "updated_at" && sort === "asc" && per_page === "50")
    .reply(200, list);
  api
    .get(/\/merge_requests\/\d+\/notes/)
    .times(count)
    .reply(200, []);
  const activity = await host.recentActivity(ref, new Date("2026-03-02T10:00:00.000Z"));
  expect(activity.heads).toHaveLength(count);
  expect(activity.readTo?.toISOString()).toBe(readTo);
});

describe("the activity of a busy project", () => {
  const since = new Date("2026-03-02T10:00:00.000Z");
  const merges = (from: number, to: number, updated_at: (iid: number) => string) =>
    Array.from({ length: to - from + 1 }, (_, index) => {
      const iid = from + index;
      return mergeRequest({ iid, updated_at: updated_at(iid) });
    });
  const page = (after: string) => (query: Record<string, unknown>) => query.updated_after === after;

  test("is read on until it is newer than what the next look reads again", async () => {
    const { host, api } = gitlabUnderTest();
    const secondOf = (iid: number) => `2026-03-02T10:00:${String(Math.floor(iid / 2)).padStart(2, "0")}.000Z`;
    const list = () => api.get(`${PROJECT}/merge_requests`);
    list()
      .query(page("2026-03-02T09:59:00.000Z"))
      .reply(200, merges(1, 50, secondOf));
    // The last of the page before comes again, and one that was changed meanwhile.
    const next = [...merges(50, 60, secondOf), mergeRequest({ iid: 7, updated_at: "2026-03-02T10:01:02.000Z" })];
    list().query(page("2026-03-02T10:00:25.000Z")).reply(200, next);
    api
      .get(/\/merge_requests\/\d+\/notes/)
      .times(60)
      .reply(200, []);
    const activity = await host.recentActivity(ref, since);
    expect(activity.heads.map(({ change: { number } }) => number)).toEqual([
      ...Array.from({ length: 60 }, (_, index) => index + 1).filter((iid) => iid !== 7),
      7,
    ]);
    expect(activity.readTo).toBeUndefined();
  });

  test("is read on through six hundred that changed within two minutes, and the comments of most of them only once", async () => {
    const { host, api } = gitlabUnderTest();
    const start = Date.parse("2026-03-02T09:59:00.000Z");
    // Five in each second, as a program changes them; the last are newer than what the next look reads again.
    const timeOf = (iid: number) => new Date(start + Math.floor(iid / 5) * 1000).toISOString();
    const all = merges(1, 640, timeOf);
    api
      .get(`${PROJECT}/merge_requests`)
      .query(true)
      .times(100)
      .reply(200, (uri) => {
        const after = new URL(uri, "https://gitlab.com").searchParams.get("updated_after") ?? "";
        return all.filter(({ updated_at }) => String(updated_at) >= after).slice(0, 50);
      });
    let asked = 0;
    const notes = api.get(/\/merge_requests\/\d+\/notes/).times(700);
    const none = () => {
      asked += 1;
      return [];
    };
    notes.reply(200, none, { date: "Mon, 02 Mar 2026 10:03:05 GMT" });
    const first = await host.recentActivity(ref, since);
    expect(first.readTo && first.readTo > new Date("2026-03-02T10:01:00Z")).toBe(true);
    expect(new Set(first.heads.map(({ change: { number } }) => number)).size).toBeGreaterThan(310);
    const [before, newest] = [asked, first.heads.at(-1)?.updatedAt ?? since];
    const second = await host.recentActivity(ref, newest);
    expect(second.heads.at(-1)?.change.number).toBe(640);
    expect(asked - before).toBeLessThan(100);
    nock.cleanAll();
  });

  test("is read on past more of the same moment than one page has", async () => {
    const { host, api } = gitlabUnderTest();
    const at = "2026-03-02T10:00:30.000Z";
    const list = (after: string, number: number) =>
      api.get(`${PROJECT}/merge_requests`).query((asked) => page(after)(asked) && asked.page === String(number));
    list("2026-03-02T09:59:00.000Z", 1).reply(
      200,
      merges(1, 50, () => at),
    );
    list(at, 1).reply(
      200,
      merges(1, 50, () => at),
    );
    list(at, 2).reply(
      200,
      merges(51, 70, () => at),
    );
    api
      .get(/\/merge_requests\/\d+\/notes/)
      .times(70)
      .reply(200, []);
    const { heads, readTo } = await host.recentActivity(ref, since);
    expect([heads.length, readTo]).toEqual([70, undefined]);
  });

  test("keeps little of the comments that somebody made as long as they may be", async () => {
    const { host, api } = gitlabUnderTest();
    const at = "2026-03-02T10:00:30.000Z";
    const author = { id: 101, username: "ana" };
    const body = "x".repeat(60_000);
    const notes = (_uri: string) =>
      Array.from({ length: 50 }, (_, id) => ({ id: id + 1, body, author, created_at: at, updated_at: at }));
    api
      .get(`${PROJECT}/merge_requests`)
      .query(true)
      .reply(200, () => merges(1, 40, () => at), { date: "Mon, 02 Mar 2026 10:03:05 GMT" });
    api
      .get(/\/merge_requests\/\d+\/notes/)
      .times(40)
      .reply(200, notes, { date: "Mon, 02 Mar 2026 10:03:05 GMT" });
    const read = async () => (await host.recentActivity(ref, since)).comments.length;
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    expect(await read()).toBe(2000);
    nock.cleanAll();
    await new Promise(setImmediate);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40 * 1024 * 1024);
  });

  test("has all comments of a merge request with more than a hundred new ones, each once", async () => {
    const { host, api } = gitlabUnderTest();
    const at = "2026-03-02T10:00:30.000Z";
    api
      .get(`${PROJECT}/merge_requests`)
      .query(true)
      .reply(200, [mergeRequest({ updated_at: at })]);
    const author = { id: 101, username: "ana" };
    const note = (id: number, created_at = at) => ({ id, body: `${id}`, author, created_at, updated_at: created_at });
    const notes = (from: number, count: number) => Array.from({ length: count }, (_, index) => note(from - index));
    const path = `${MERGE_REQUEST}/notes`;
    api
      .get(path)
      .query({ sort: "desc", order_by: "created_at", per_page: "100", page: "1" })
      .reply(200, notes(300, 100));
    // Somebody wrote another one meanwhile, so that the last one of the first page comes again.
    const second = [...notes(201, 99), note(102, "2026-03-02T09:00:00.000Z")];
    api.get(path).query({ sort: "desc", order_by: "created_at", per_page: "100", page: "2" }).reply(200, second);
    const { comments } = await host.recentActivity(ref, since);
    const ids = comments.map(({ id }) => Number(id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 198 }, (_, index) => 103 + index));
  });

  test("is read in small pages where people write more than one answer may have", async () => {
    const { host, api } = gitlabUnderTest();
    const at = "2026-03-02T10:00:30.000Z";
    const padding = "<".repeat(34 * 1024 * 1024);
    const few = ({ per_page: size }: { per_page?: unknown }) => size === "5";
    api
      .get(`${PROJECT}/merge_requests`)
      .query((query) => !few(query))
      .reply(200, [mergeRequest({ updated_at: at, description: padding })]);
    api
      .get(`${PROJECT}/merge_requests`)
      .query(few)
      .reply(200, [mergeRequest({ updated_at: at })]);
    const note = (id: number, body = "svc plan", updated_at = at) => {
      return { id, body, author: { id: 101, username: "ana" }, created_at: at, updated_at };
    };
    api
      .get(`${MERGE_REQUEST}/notes`)
      .query((query) => !few(query))
      .reply(200, [note(2, padding), note(1)]);
    api
      .get(`${MERGE_REQUEST}/notes`)
      .query(few)
      .reply(200, [note(2, "long"), note(1), note(3, "svc sync", "2026-03-02T10:00:40.000Z")]);
    const nodes = [{ id: "gid://gitlab/Note/3", body: padding, lastEditedBy: null }];
    const told = { data: { project: { mergeRequest: { notes: { nodes } } } } };
    nock("https://gitlab.example.com").post("/git/api/graphql").reply(200, told);
    const { comments, heads } = await host.recentActivity(ref, since);
    expect(heads).toHaveLength(1);
    // Whether the third one was edited cannot be told.
    expect(comments.map(({ id }) => id).sort()).toEqual(["1", "2"]);
  });

  describe("has a comment to which somebody reacted, and none that was edited", () => {
    const [at, later] = ["2026-03-02T10:00:30.000Z", "2026-03-02T10:00:40.000Z"];
    const body = "svc plan";
    const node = (id: string, editor?: string) => {
      const lastEditedBy = editor === undefined ? null : { id: editor };
      // What nobody edited has the time of its last update (`Note#last_edited_at` of GitLab).
      return { id: `gid://gitlab/${id}`, body, lastEditedAt: later, lastEditedBy };
    };
    // Of a copy of the database that lacks the edit.
    const behind = { ...node("Note/6"), body: "looks good" };
    const nodes = [node("Note/1"), node("DiscussionNote/2"), node("Note/3", "gid://gitlab/User/7"), null, behind];
    const answer = { data: { project: { mergeRequest: { notes: { nodes } } } } };
    const unknown = { errors: [{ message: "Field does not exist", extensions: { code: "undefinedField" } }] };
    const activityAfter = (status: number, told: object) => {
      const { host, api } = gitlabUnderTest();
      const merge = mergeRequest({ updated_at: at });
      api.get(`${PROJECT}/merge_requests`).query(true).reply(200, [merge]);
      const note = (id: number, updated_at: string) => {
        return { id, body, author: { id: 101, username: "ana" }, created_at: at, updated_at };
      };
      const notes = [note(5, at), ...[6, 4, 3, 2, 1].map((id) => note(id, later))];
      api.get(`${MERGE_REQUEST}/notes`).query(true).reply(200, notes);
      nock("https://gitlab.example.com")
        .post("/git/api/graphql")
        .times(status === 503 ? 3 : 1)
        .reply(status, told);
      return host.recentActivity(ref, since);
    };

    test.each([
      ["tells", 200, answer, ["5", "2", "1"]],
      ["is too old to tell", 200, unknown, ["5"]],
      ["does not let svc ask", 403, {}, ["5"]],
      ["does not show svc the merge request", 200, { data: { project: null } }, ["5"]],
    ])("GitLab %s", async (_, status, told, ids) => {
      const { comments } = await activityAfter(status, told);
      expect(comments.map(({ id }) => id)).toEqual(ids);
    });

    test("GitLab fails, so that svc looks again", async () => {
      await expect(activityAfter(503, {})).rejects.toMatchObject({ reason: "failed" });
    });
  });

  test("has the comments behind a page in which GitLab hides notes", async () => {
    const { host, api } = gitlabUnderTest();
    const at = "2026-03-02T10:00:30.000Z";
    api
      .get(`${PROJECT}/merge_requests`)
      .query(true)
      .reply(200, [mergeRequest({ updated_at: at })]);
    const author = { id: 101, username: "ana" };
    const note = (id: number) => ({ id, body: `${id}`, author, created_at: at, updated_at: at });
    const page = (number: number) => api.get(`${MERGE_REQUEST}/notes`).query((query) => query.page === String(number));
    page(1).reply(200, [], { "x-next-page": "2" });
    page(2).reply(200, [note(100)], { "x-next-page": "" });
    const { comments } = await host.recentActivity(ref, since);
    expect(comments.map(({ id }) => id)).toEqual(["100"]);
  });
});
