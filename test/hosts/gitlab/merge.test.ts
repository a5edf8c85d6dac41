import { describe, expect, test } from "@jest/globals";
import type nock from "nock";
import type { MergeIntent } from "../../../src/core/model/result.js";
import { interceptRequests } from "../intercept.js";
import { HEAD, MERGE_REQUEST, OTHER, PROJECT, change, gitlabUnderTest, mergeRequest } from "./gitlab-under-test.js";

interceptRequests();

/** The project has no merge trains. */
function mergeUnderTest() {
  const under = gitlabUnderTest();
  under.api.get(PROJECT).optionally().times(5).reply(200, {});
  return under;
}

const MERGE = `${MERGE_REQUEST}/merge`;
const BRANCH = `${PROJECT}/repository/branches/feat%2Fx`;
const intent: MergeIntent = { method: "squash", deleteSourceBranch: false, protectedBranches: ["main"] };
const confirming = (confirmed: MergeIntent) => () => Promise.resolve(confirmed);
const keep = confirming(intent);
const remove = confirming({ ...intent, deleteSourceBranch: true });
const merged = mergeRequest({ state: "merged", detailed_merge_status: "not_open" });
const locked = mergeRequest({ state: "locked" });

test.each([
  ["squash", true],
  ["merge", false],
  ["rebase", false],
] as const)("merges by %s with the head as guard", async (method, squash) => {
  const { host, api } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE, { sha: HEAD, squash, should_remove_source_branch: false }).reply(200, merged);
  api.get(MERGE_REQUEST).reply(200, merged);
  expect(await host.merge(change, confirming({ ...intent, method }))).toEqual({ kind: "merged", note: undefined });
});

test.each([
  ["PUT", MERGE, undefined],
  ["POST", `${PROJECT}/merge_trains/merge_requests/17`, true],
] as const)(
  "by merge, takes away the author's tick for squashing: GitLab ignores a no (%s)",
  async (verb, path, trains) => {
    const { host, api } = gitlabUnderTest();
    api.get(PROJECT).reply(200, { merge_trains_enabled: trains });
    api.get(MERGE_REQUEST).reply(200, mergeRequest({ squash: true }));
    api.put(MERGE_REQUEST, { squash: false }).reply(200, mergeRequest({ squash: false }));
    api.intercept(path, verb).reply(200, merged);
    api.get(MERGE_REQUEST).reply(200, merged);
    expect(await host.merge(change, confirming({ ...intent, method: "merge" }))).toEqual({
      kind: "merged",
      note: undefined,
    });
  },
);

test("is not tried into a target branch that somebody chose while the tick for squashing was taken away", async () => {
  const { host, api } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ squash: true }));
  api.put(MERGE_REQUEST).reply(200, mergeRequest({ target_branch: "release" }));
  expect(await host.merge(change, confirming({ ...intent, method: "merge" }))).toEqual({ kind: "barred" });
});

test("is not tried unless it is confirmed, nor into another target branch", async () => {
  const { host, api } = mergeUnderTest();
  expect(await host.merge(change, () => Promise.resolve(undefined))).toEqual({ kind: "barred" });
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ target_branch: "release" }));
  expect(await host.merge(change, keep)).toEqual({ kind: "barred" });
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ target_branch: "release", squash: true }));
  expect(await host.merge(change, confirming({ ...intent, method: "merge" }))).toEqual({ kind: "barred" });
});

test("is confirmed again after the pause that a limit asks for", async () => {
  const { host, api, clock } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(429, {}, { "retry-after": "30" });
  const answers = [intent, undefined];
  expect(await host.merge(change, () => Promise.resolve(answers.shift()))).toEqual({ kind: "barred" });
  expect([answers, clock.sleeps]).toEqual([[], [30_000]]);
});

test("is confirmed again after a pause before the tick for squashing is taken away", async () => {
  const { host, api, clock } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ squash: true }));
  api.put(MERGE_REQUEST).reply(429, {}, { "retry-after": "30" });
  const answers = [{ ...intent, method: "merge" } as const, undefined];
  expect(await host.merge(change, () => Promise.resolve(answers.shift()))).toEqual({ kind: "barred" });
  expect([answers, clock.sleeps]).toEqual([[], [30_000]]);
});

test("a place on the merge train is confirmed again after the pause that a limit asks for", async () => {
  const { host, api } = gitlabUnderTest();
  api.get(PROJECT).reply(200, { merge_trains_enabled: true });
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.post(`${PROJECT}/merge_trains/merge_requests/17`).reply(429, {}, { "retry-after": "30" });
  const answers = [intent, undefined];
  expect(await host.merge(change, () => Promise.resolve(answers.shift()))).toEqual({ kind: "barred" });
  expect(answers).toEqual([]);
});

test("what GitLab accepted is read again after a limit, and neither confirmed nor sent twice", async () => {
  const { host, api } = mergeUnderTest();
  const answers = [intent, undefined];
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(200, locked);
  api.get(MERGE_REQUEST).times(3).reply(429, {}, { "retry-after": "30" });
  api.get(MERGE_REQUEST).reply(200, merged);
  expect(await host.merge(change, () => Promise.resolve(answers.shift()))).toEqual({ kind: "merged", note: undefined });
  expect(answers).toEqual([undefined]);
});

test("an accepted merge that cannot be read any more is not called refused by GitLab", async () => {
  const { host, api } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(200, locked);
  api.get(MERGE_REQUEST).times(3).reply(503, "down");
  const reason = expect.stringMatching(/^GitLab accepted the merge, but .*503/);
  expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason });
});

test("a place on the merge train is asked for again where GitLab has the merge request locked", async () => {
  const { host, api, clock } = gitlabUnderTest();
  api.get(PROJECT).reply(200, { merge_trains_enabled: true });
  api.get(MERGE_REQUEST).times(3).reply(200, mergeRequest());
  api.post(`${PROJECT}/merge_trains/merge_requests/17`).reply(409, { message: "409 Conflict: Resource lock" });
  api.post(`${PROJECT}/merge_trains/merge_requests/17`).reply(201, []);
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ merge_when_pipeline_succeeds: true }));
  expect(await host.merge(change, keep)).toMatchObject({ kind: "queued" });
  expect(clock.sleeps).toEqual([5000]);
});

describe("a place on the merge train for which GitLab fails (502)", () => {
  function failing() {
    const { host, api } = gitlabUnderTest();
    api.get(PROJECT).reply(200, { merge_trains_enabled: true });
    api.get(MERGE_REQUEST).reply(200, mergeRequest());
    api.post(`${PROJECT}/merge_trains/merge_requests/17`).reply(502, "<html>");
    return { host, api };
  }

  test("may be there a moment later", async () => {
    const { host, api } = failing();
    api.get(MERGE_REQUEST).reply(200, mergeRequest());
    api.get(MERGE_REQUEST).reply(200, mergeRequest({ merge_when_pipeline_succeeds: true }));
    expect(await host.merge(change, keep)).toMatchObject({ kind: "queued" });
  });

  test("is given up where the target branch changed meanwhile", async () => {
    const { host, api } = failing();
    const elsewhere = { merge_when_pipeline_succeeds: true, target_branch: "release" };
    api.get(MERGE_REQUEST).reply(200, mergeRequest(elsewhere));
    api.post(`${MERGE_REQUEST}/cancel_merge_when_pipeline_succeeds`).reply(201, {});
    expect(await host.merge(change, keep)).toEqual({ kind: "barred" });
  });

  test("is a failure where it is not there", async () => {
    const { host, api } = failing();
    api.get(MERGE_REQUEST).times(6).reply(200, mergeRequest());
    await expect(host.merge(change, keep)).rejects.toThrow("GitLab failed (502)");
  });
});

test("a place on the merge train that GitLab accepted is read again after a limit, and not confirmed twice", async () => {
  const { host, api } = gitlabUnderTest();
  const answers = [intent, undefined];
  api.get(PROJECT).reply(200, { merge_trains_enabled: true });
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.post(`${PROJECT}/merge_trains/merge_requests/17`).reply(201, []);
  api.get(MERGE_REQUEST).times(3).reply(429, {}, { "retry-after": "30" });
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ merge_when_pipeline_succeeds: true }));
  expect(await host.merge(change, () => Promise.resolve(answers.shift()))).toMatchObject({ kind: "queued" });
  expect(answers).toEqual([undefined]);
});

test("an accepted place on the merge train that cannot be read any more is not called refused by GitLab", async () => {
  const { host, api } = gitlabUnderTest();
  api.get(PROJECT).reply(200, { merge_trains_enabled: true });
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.post(`${PROJECT}/merge_trains/merge_requests/17`).reply(201, []);
  api.get(MERGE_REQUEST).times(3).reply(503, "down");
  const reason = expect.stringMatching(/^GitLab accepted this merge request for the merge train, but .*503/);
  expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason });
});

test("that waits for a limit is among the writes that wait", async () => {
  const { host, api, clock, waits } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(429, {}, { "retry-after": "30" });
  const sleep = clock.sleep.bind(clock);
  const waiting: unknown[] = [];
  clock.sleep = (ms, signal) => {
    waiting.push(...waits.current());
    return sleep(ms, signal);
  };
  const answers = [intent, undefined];
  await host.merge(change, () => Promise.resolve(answers.shift()));
  expect(waiting).toEqual([expect.objectContaining({ host: host.id, reason: "asked" })]);
  expect(waits.current()).toEqual([]);
});

test("is confirmed again before each further try", async () => {
  const { host, api } = mergeUnderTest();
  api
    .get(MERGE_REQUEST)
    .times(2)
    .reply(200, mergeRequest({ detailed_merge_status: "checking" }));
  api.put(MERGE).reply(405, { message: "405 Method Not Allowed" });
  const answers = [intent, undefined];
  expect(await host.merge(change, () => Promise.resolve(answers.shift()))).toEqual({ kind: "barred" });
  expect(answers).toEqual([]);
});

test("waits until the merge is carried out", async () => {
  const { host, api, clock } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(200, locked);
  api.get(MERGE_REQUEST).times(2).reply(200, locked);
  api.get(MERGE_REQUEST).reply(200, merged);
  expect(await host.merge(change, keep)).toMatchObject({ kind: "merged" });
  expect(clock.sleeps).toEqual([500, 1000]);
});

test("tells GitLab's error when the merge was accepted and failed", async () => {
  const { host, api } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(200, locked);
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ merge_error: "Something went\nwrong" }));
  const reason = expect.stringContaining('"Something went wrong"');
  expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason });
});

test("a merge that is only scheduled is not called done", async () => {
  const { host, api } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(200, mergeRequest());
  api.get(MERGE_REQUEST).times(6).reply(200, mergeRequest());
  expect(await host.merge(change, keep)).toMatchObject({ kind: "refused" });
});

test("another head that was merged is not ours", async () => {
  const { host, api } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(409, { message: "SHA does not match HEAD of source branch" });
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ state: "merged", sha: OTHER }));
  expect(await host.merge(change, keep)).toMatchObject({ kind: "refused" });
});

test.each<[number, object, RegExp]>([
  [401, {}, /account of gitlab.token may not merge into main.*Maintainer/],
  [403, {}, /account of gitlab.token may not merge into main/],
  [405, { detailed_merge_status: "ci_must_pass" }, /merge status is "ci_must_pass"/],
  [405, { detailed_merge_status: "need_rebase" }, /Rebase it, then plan and sync/],
  [406, { has_conflicts: true }, /has conflicts.*Resolve them/],
  [409, { sha: OTHER }, /head commit changed.*Plan and sync the new head/],
  [409, { detailed_merge_status: "not_open" }, /"not_open".*"said".*by hand/],
  [422, { detailed_merge_status: "conflict" }, /has conflicts.*Resolve them/],
  [422, { detailed_merge_status: "need_rebase" }, /Rebase it, then plan and sync/],
  [422, { detailed_merge_status: "not_approved" }, /"not_approved".*"said".*by hand/],
])("%d is a refusal that says what to do", async (status, changes, reason) => {
  const { host, api } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(status, { message: "said" });
  api.get(MERGE_REQUEST).reply(200, mergeRequest(changes as Record<string, unknown>));
  expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason: expect.stringMatching(reason) });
});

test("401 with a token that may not read either is a failure of the token", async () => {
  const { host, api } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(401, { message: "401 Unauthorized" });
  api.get(MERGE_REQUEST).reply(401, { message: "401 Unauthorized" });
  await expect(host.merge(change, keep)).rejects.toMatchObject({ reason: "unauthenticated" });
});

describe.each([
  [405, "405 Method Not Allowed"],
  [409, "409 Conflict: Resource lock"],
  [422, "Branch cannot be merged"],
])("%d", (status, message) => {
  test("is tried again while GitLab computes the mergeability, for 30 seconds", async () => {
    const { host, api, clock } = mergeUnderTest();
    api.get(MERGE_REQUEST).reply(200, mergeRequest());
    api.put(MERGE).times(4).reply(status, { message });
    api
      .get(MERGE_REQUEST)
      .times(7)
      .reply(200, mergeRequest({ detailed_merge_status: "checking" }));
    const reason = expect.stringContaining("still computing");
    expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason });
    expect(clock.sleeps).toEqual([5000, 10_000, 15_000]);
  });

  test("is tried once more when GitLab has computed the mergeability since, and no more than once", async () => {
    const { host, api, clock } = mergeUnderTest();
    api.get(MERGE_REQUEST).reply(200, mergeRequest());
    api.put(MERGE).times(2).reply(status, { message });
    api.get(MERGE_REQUEST).times(3).reply(200, mergeRequest());
    expect(await host.merge(change, keep)).toMatchObject({ kind: "refused" });
    expect(clock.sleeps).toEqual([5000]);
    api.put(MERGE).reply(status, { message });
    api.get(MERGE_REQUEST).times(3).reply(200, mergeRequest());
    api.put(MERGE).reply(200, merged);
    api.get(MERGE_REQUEST).reply(200, merged);
    expect(await host.merge(change, keep)).toMatchObject({ kind: "merged" });
  });
});

test("405 is tried again while GitLab takes the status that svc has just set into the pipeline", async () => {
  const { host, api, clock } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(405, { message: "405 Method Not Allowed" });
  api
    .get(MERGE_REQUEST)
    .times(2)
    .reply(200, mergeRequest({ detailed_merge_status: "ci_still_running" }));
  api.put(MERGE).reply(200, merged);
  api.get(MERGE_REQUEST).reply(200, merged);
  expect(await host.merge(change, keep)).toMatchObject({ kind: "merged" });
  expect(clock.sleeps).toEqual([5000]);
});

test("an unknown outcome is sent once and looked up", async () => {
  const { host, api } = mergeUnderTest();
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.put(MERGE).reply(502, "<html>");
  api.get(MERGE_REQUEST).times(2).reply(200, merged);
  expect(await host.merge(change, keep)).toMatchObject({ kind: "merged" });
  const other = mergeUnderTest();
  other.api.put(MERGE).reply(502, "<html>");
  other.api.get(MERGE_REQUEST).times(7).reply(200, mergeRequest());
  await expect(other.host.merge(change, keep)).rejects.toMatchObject({ name: "HostFailure", reason: "failed" });
});

describe("the source branch", () => {
  function answerMerge() {
    const { host, api } = mergeUnderTest();
    api.get(MERGE_REQUEST).reply(200, mergeRequest());
    api.put(MERGE).reply(200, merged);
    api.get(MERGE_REQUEST).reply(200, merged);
    return { host, api };
  }
  /** Of other merge requests, these are open from the branch. Those from branches of that name in forks are not asked for. */
  function answerOpen(api: nock.Scope, ...others: readonly object[]): void {
    const open = { state: "opened", per_page: 100, page: 1 };
    api
      .get(`${PROJECT}/merge_requests`)
      .query({ ...open, source_project_id: "42", source_branch: "feat/x" })
      .reply(200, [mergeRequest(), ...others]);
    api
      .get(`${PROJECT}/merge_requests`)
      .query({ ...open, target_branch: "feat/x" })
      .reply(200, []);
  }

  test("is deleted when it is still what was merged", async () => {
    const { host, api } = answerMerge();
    api.get(BRANCH).reply(200, { commit: { id: HEAD }, protected: false, default: false });
    answerOpen(api);
    api.delete(BRANCH).reply(204);
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note: undefined });
  });

  test("is kept for another merge request, however many are open from branches of its name in forks", async () => {
    const { host, api } = answerMerge();
    api.get(BRANCH).reply(200, { commit: { id: HEAD }, protected: false });
    answerOpen(api, { iid: 18 });
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note: expect.stringContaining("!18") });
  });

  test.each<[string, object, RegExp]>([
    ["protected", { commit: { id: HEAD }, protected: true }, /protected branch/],
    ["the default branch", { commit: { id: HEAD }, protected: false, default: true }, /protected branch/],
    ["moved", { commit: { id: OTHER }, protected: false }, /newer commits/],
  ])("is kept when %s", async (_, branch, note) => {
    const { host, api } = answerMerge();
    api.get(BRANCH).reply(200, branch);
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note: expect.stringMatching(note) });
  });

  test("is kept when its name is protected or it is in a fork, without asking", async () => {
    const named = answerMerge();
    const wanted = { ...intent, deleteSourceBranch: true, protectedBranches: ["develop"] };
    expect(await named.host.merge({ ...change, headBranch: "develop" }, confirming(wanted))).toMatchObject({
      note: expect.stringContaining("never deleted"),
    });
    const fork = answerMerge();
    expect(await fork.host.merge({ ...change, fork: true }, remove)).toMatchObject({
      note: expect.stringContaining("another repository"),
    });
  });

  test("is fine when it is gone", async () => {
    const { host, api } = answerMerge();
    api.get(BRANCH).reply(200, { commit: { id: HEAD }, protected: false });
    answerOpen(api);
    api.delete(BRANCH).reply(404, { message: "404 Branch Not Found" });
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note: undefined });
  });

  test("is looked at again after the pause that a limit asks for, and kept with what was pushed meanwhile", async () => {
    const { host, api } = mergeUnderTest();
    api.get(MERGE_REQUEST).reply(200, mergeRequest());
    api.put(MERGE).reply(200, merged);
    api.get(MERGE_REQUEST).reply(200, merged);
    api.get(BRANCH).reply(200, { commit: { id: HEAD }, protected: false });
    answerOpen(api);
    api.delete(BRANCH).reply(429, {}, { "retry-after": "30" });
    api.get(BRANCH).reply(200, { commit: { id: OTHER }, protected: false });
    expect(await host.merge(change, remove)).toEqual({
      kind: "merged",
      note: expect.stringContaining("newer commits"),
    });
  });

  test("is noted when it may not be deleted", async () => {
    const { host, api } = answerMerge();
    api.get(BRANCH).reply(200, { commit: { id: HEAD }, protected: false });
    answerOpen(api);
    api.delete(BRANCH).reply(403, { message: "403 Forbidden" });
    const note = expect.stringMatching(/feat\/x was not deleted: .*403/);
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note });
  });
});

test("an update that still runs after a minute is not said to have failed like the one before", async () => {
  const { host, api } = gitlabUnderTest();
  const before = mergeRequest({ merge_error: "Rebase failed: resolve all conflicts" });
  api.get(MERGE_REQUEST).reply(200, before);
  api.get(BRANCH).reply(200, { commit: { id: HEAD }, protected: false });
  api.put(`${MERGE_REQUEST}/rebase`).reply(202, { rebase_in_progress: true });
  api
    .get(MERGE_REQUEST)
    .query({ include_rebase_in_progress: true })
    .times(8)
    .reply(200, { ...before, rebase_in_progress: true });
  const reason = "GitLab accepted the rebase and has not made a new head within a minute";
  expect(await host.updateBranch(change)).toEqual({ kind: "refused", reason });
});

test.each([
  [403, "Cannot push to source branch", /\(403\): the account of gitlab\.token has to be allowed to force-push/],
  [409, "Failed to enqueue the rebase operation. Try again later.", /Try again later\." \(409\)$/],
])(
  "an update that GitLab refuses with %i says what GitLab said, and a right only where one is missing",
  async (status, message, reason) => {
    const { host, api } = gitlabUnderTest();
    api.get(MERGE_REQUEST).reply(200, mergeRequest());
    api.get(BRANCH).reply(200, { commit: { id: HEAD }, protected: false });
    api.put(`${MERGE_REQUEST}/rebase`).reply(status, { message });
    expect(await host.updateBranch(change)).toEqual({ kind: "refused", reason: expect.stringMatching(reason) });
  },
);

test("an open revert is looked for among the merge requests of our own account alone", async () => {
  const { host, api } = mergeUnderTest();
  api.get("/user").reply(200, { id: 7, username: "svc" });
  const ours = { state: "opened", author_id: "7", target_branch: "main" };
  const one = { iid: 18, source_branch: "svc-revert-17-by-4711", target_branch: "main", author: { id: 7 } };
  api
    .get(`${PROJECT}/merge_requests`)
    .query((asked) => Object.entries(ours).every(([key, value]) => asked[key] === value))
    .reply(200, [{ ...one, iid: 19, author: { id: 8 } }, one]);
  const outcome = await host.revert(change, { id: "4711", login: "bo", bot: false });
  expect(outcome).toEqual({ kind: "opened", number: 18, known: true });
});

test("a revert is found where GitLab does not tell its number", async () => {
  const { host, api } = mergeUnderTest();
  const branch = "svc-revert-17-by-4711";
  const listed = (found: readonly object[]) => api.get(`${PROJECT}/merge_requests`).query(true).reply(200, found);
  api.get("/user").reply(200, { id: 7, username: "svc" });
  listed([]);
  api.get(MERGE_REQUEST).reply(200, { merge_commit_sha: OTHER });
  listed([]);
  listed([]);
  api.delete(`${PROJECT}/repository/branches/${branch}`).reply(404, { message: "404 Branch Not Found" });
  api.post(`${PROJECT}/repository/branches`).query(true).reply(201, { name: branch });
  api.post(`${PROJECT}/repository/commits/${OTHER}/revert`).times(2).reply(201, {});
  api.post(`${PROJECT}/merge_requests`).reply(201, {});
  listed([{ iid: 18, source_branch: branch, target_branch: "main", author: { id: 7 } }]);
  const outcome = await host.revert(change, { id: "4711", login: "bo", bot: false });
  expect(outcome).toEqual({ kind: "opened", number: 18, known: false });
});
