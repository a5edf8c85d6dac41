import { describe, expect, test } from "@jest/globals";
import nock from "nock";
import type { MergeIntent } from "../../../src/core/model/result.js";
import { interceptRequests } from "../intercept.js";
import { HEAD, OTHER, change, githubUnderTest, pull } from "./github-under-test.js";

interceptRequests();

const PULL = "/repos/acme/deploy/pulls/7";
const BRANCH = "/repos/acme/deploy/branches/feat%2Fx";
const BRANCH_REF = "/repos/acme/deploy/git/refs/heads%2Ffeat%2Fx";
/** No other pull request is open from the branch or into it. */
function answerNobodyElse(api: nock.Scope, beside: readonly object[] = []): void {
  api.get("/repos/acme/deploy/pulls").query({ state: "open", head: "acme:feat/x", per_page: 10 }).reply(200, beside);
  api.get("/repos/acme/deploy/pulls").query({ state: "open", base: "feat/x", per_page: 10 }).reply(200, []);
}
const intent: MergeIntent = { method: "squash", deleteSourceBranch: false, protectedBranches: ["main"] };
const confirming = (confirmed: MergeIntent) => () => Promise.resolve(confirmed);
const keep = confirming(intent);
const remove = confirming({ ...intent, deleteSourceBranch: true });
const NO_QUEUE = {
  id: "PR_7",
  headRefOid: HEAD,
  baseRefName: "main",
  isMergeQueueEnabled: false,
  isInMergeQueue: false,
};
const merged = { merged: true, sha: OTHER };

test.each(["squash", "merge", "rebase"] as const)("merges by %s with the head as guard", async (method) => {
  const { host, api } = githubUnderTest();
  api.get(PULL).reply(200, pull());
  api.put(`${PULL}/merge`, { sha: HEAD, merge_method: method }).reply(200, merged);
  expect(await host.merge(change, confirming({ ...intent, method }))).toEqual({ kind: "merged", note: undefined });
});

test.each([
  [403, /may not merge .*"said".*Contents: write/],
  [409, /head commit changed/],
  [422, /invalid.*"said"/],
])("%d is a refusal that says what to do", async (status, reason) => {
  const { host, api } = githubUnderTest();
  api.get(PULL).reply(200, pull());
  api.put(`${PULL}/merge`).reply(status, { message: "said" });
  expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason: expect.stringMatching(reason) });
});

test("is not tried unless it is confirmed, nor into another base branch", async () => {
  const { host, api } = githubUnderTest();
  expect(await host.merge(change, () => Promise.resolve(undefined))).toEqual({ kind: "barred" });
  const { base } = pull() as { base: object };
  api.get(PULL).reply(200, pull({ base: { ...base, ref: "release" } }));
  expect(await host.merge(change, keep)).toEqual({ kind: "barred" });
});

test("is not tried in a stack, which GitHub merges in another way, and says so", async () => {
  const { host, api } = githubUnderTest();
  api.get(PULL).reply(200, pull({ stack: { id: 1, position: 1, size: 2, base: { ref: "main", sha: OTHER } } }));
  expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason: expect.stringMatching(/stack.*by hand/) });
});

test("is confirmed again after the pause that a limit asks for", async () => {
  const { host, api, clock } = githubUnderTest();
  api.get(PULL).reply(200, pull());
  api.put(`${PULL}/merge`).reply(429, {}, { "retry-after": "30" });
  const answers = [intent, undefined];
  expect(await host.merge(change, () => Promise.resolve(answers.shift()))).toEqual({ kind: "barred" });
  expect([answers, clock.sleeps]).toEqual([[], [30_000]]);
});

test("a place in the merge queue is confirmed again after the pause that a limit asks for", async () => {
  const { host, api } = githubUnderTest();
  api.get(PULL).times(2).reply(200, pull());
  api.put(`${PULL}/merge`).reply(405, { message: "Changes must be made through the merge queue" });
  const queue = { data: { repository: { pullRequest: { ...NO_QUEUE, isMergeQueueEnabled: true } } } };
  api.post("/graphql").times(2).reply(200, queue);
  api
    .post("/graphql", /enqueuePullRequest/)
    .reply(200, { errors: [{ type: "RATE_LIMITED", message: "limit" }] }, { "retry-after": "30" });
  const answers = [intent, intent, undefined];
  expect(await host.merge(change, () => Promise.resolve(answers.shift()))).toEqual({ kind: "barred" });
  expect(answers).toEqual([]);
});

test("that waits for a limit is among the writes that wait", async () => {
  const { host, api, clock, waits } = githubUnderTest();
  api.get(PULL).reply(200, pull());
  api.put(`${PULL}/merge`).reply(429, {}, { "retry-after": "30" });
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
  const { host, api } = githubUnderTest();
  api
    .get(PULL)
    .times(2)
    .reply(200, pull({ mergeable: null }));
  api.put(`${PULL}/merge`).reply(405, { message: "not yet" });
  const answers = [intent, undefined];
  expect(await host.merge(change, () => Promise.resolve(answers.shift()))).toEqual({ kind: "barred" });
  expect(answers).toEqual([]);
});

describe("405", () => {
  test("is a refusal when GitHub knows the mergeability", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(405, { message: "Squash merges are not allowed" });
    api.get(PULL).reply(200, pull());
    api.post("/graphql").reply(200, { data: { repository: { pullRequest: NO_QUEUE } } });
    const reason = expect.stringMatching(/"Squash merges are not allowed".*method "squash"/);
    expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason });
    expect(clock.sleeps).toEqual([]);
  });

  test("is tried again while GitHub computes it", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).times(2).reply(405, { message: "not yet" });
    api
      .get(PULL)
      .times(4)
      .reply(200, pull({ mergeable: null }));
    api.put(`${PULL}/merge`).reply(200, merged);
    expect(await host.merge(change, keep)).toMatchObject({ kind: "merged" });
    expect(clock.sleeps).toEqual([5000, 10_000]);
  });

  test("is tried once more when GitHub has computed it since, and no more than once", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).times(2).reply(405, { message: "not yet" });
    api
      .get(PULL)
      .times(3)
      .reply(200, pull({ mergeable: true, mergeable_state: "clean" }));
    api
      .post("/graphql")
      .times(2)
      .reply(200, { data: { repository: { pullRequest: NO_QUEUE } } });
    expect(await host.merge(change, keep)).toMatchObject({ kind: "refused" });
    expect(clock.sleeps).toEqual([5000]);
    api.put(`${PULL}/merge`).reply(405, { message: "not yet" });
    api
      .get(PULL)
      .times(3)
      .reply(200, pull({ mergeable: true, mergeable_state: "unstable" }));
    api.post("/graphql").reply(200, { data: { repository: { pullRequest: NO_QUEUE } } });
    api.put(`${PULL}/merge`).reply(200, merged);
    expect(await host.merge(change, keep)).toMatchObject({ kind: "merged" });
  });

  test("is tried once more where a check blocks it, since GitHub may not count yet what svc has just set", async () => {
    const { host, api, clock } = githubUnderTest();
    const blocked = pull({ mergeable: true, mergeable_state: "blocked" });
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(405, { message: 'Required status check "svc/sync" is expected.' });
    api.get(PULL).times(2).reply(200, blocked);
    api.post("/graphql").reply(200, { data: { repository: { pullRequest: NO_QUEUE } } });
    api.put(`${PULL}/merge`).reply(200, merged);
    expect(await host.merge(change, keep)).toMatchObject({ kind: "merged" });
    expect(clock.sleeps).toEqual([5000]);
  });

  test("is given up after 30 seconds", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).times(4).reply(405, { message: "not yet" });
    api
      .get(PULL)
      .times(7)
      .reply(200, pull({ mergeable: null }));
    const reason = expect.stringContaining("still computing");
    expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason });
    expect(clock.sleeps).toEqual([5000, 10_000, 15_000]);
  });

  test("is not tried once more where the branch has a merge queue", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(405, { message: "Changes must be made through the merge queue" });
    api.get(PULL).reply(200, pull({ mergeable: true, mergeable_state: "blocked" }));
    const queued = { ...NO_QUEUE, isMergeQueueEnabled: true, isInMergeQueue: true };
    api
      .post("/graphql")
      .times(2)
      .reply(200, { data: { repository: { pullRequest: queued } } });
    expect(await host.merge(change, keep)).toMatchObject({ kind: "queued" });
    expect(clock.sleeps).toEqual([]);
  });

  test("is not told as still computing once GitHub has computed it, after half a minute", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).times(4).reply(405, { message: "At least 1 approving review is required." });
    api
      .get(PULL)
      .times(6)
      .reply(200, pull({ mergeable: null }));
    api.get(PULL).reply(200, pull({ mergeable: true, mergeable_state: "blocked" }));
    api.post("/graphql").reply(200, { data: { repository: { pullRequest: NO_QUEUE } } });
    const reason = expect.stringContaining("At least 1 approving review is required.");
    expect(await host.merge(change, keep)).toEqual({ kind: "refused", reason });
  });

  test("means success when somebody merged the same head meanwhile", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(405, { message: "closed" });
    api.get(PULL).reply(200, pull({ state: "closed", merged: true }));
    expect(await host.merge(change, keep)).toMatchObject({ kind: "merged" });
  });
});

describe("an unknown outcome", () => {
  test("is sent once and looked up", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(502, "<html>");
    api.get(PULL).reply(200, pull({ state: "closed", merged: true }));
    expect(await host.merge(change, keep)).toMatchObject({ kind: "merged" });
  });

  test("is a failure when nothing was merged", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(502, "<html>");
    api.get(PULL).reply(200, pull());
    await expect(host.merge(change, keep)).rejects.toMatchObject({ name: "HostFailure", reason: "failed" });
  });
});

describe("the source branch", () => {
  test("is deleted when it is still what was merged", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(200, merged);
    api.get(BRANCH).reply(200, { commit: { sha: HEAD }, protected: false });
    answerNobodyElse(api);
    api.delete(BRANCH_REF).reply(204);
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note: undefined });
  });

  test.each<[string, object, RegExp]>([
    ["protected by name", { headBranch: "develop" }, /never deleted/],
    ["the default branch", { headBranch: "trunk", defaultBranch: "trunk" }, /never deleted/],
    ["the base branch", { headBranch: "release", baseBranch: "release" }, /never deleted/],
    ["in a fork", { fork: true }, /another repository/],
  ])("is kept when %s, without asking", async (_, changes, note) => {
    const { host, api } = githubUnderTest();
    const { base } = pull() as { base: object };
    api.get(PULL).reply(200, pull({ base: { ...base, ref: { ...change, ...changes }.baseBranch } }));
    api.put(`${PULL}/merge`).reply(200, merged);
    const wanted = { ...intent, deleteSourceBranch: true, protectedBranches: ["main", "develop"] };
    const outcome = await host.merge({ ...change, ...changes }, confirming(wanted));
    expect(outcome).toEqual({ kind: "merged", note: expect.stringMatching(note) });
  });

  test.each<[string, object, RegExp]>([
    ["protected", { commit: { sha: HEAD }, protected: true }, /protected branch/],
    ["moved", { commit: { sha: OTHER }, protected: false }, /newer commits/],
  ])("is kept when %s", async (_, branch, note) => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(200, merged);
    api.get(BRANCH).reply(200, branch);
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note: expect.stringMatching(note) });
  });

  test("is deleted although the list still has what was merged, or an answer has what was not asked for", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(200, merged);
    api.get(BRANCH).reply(200, { commit: { sha: HEAD }, protected: false });
    answerNobodyElse(api, [pull(), { ...pull(), number: 9, head: { ref: "other" } }]);
    api.delete(BRANCH_REF).reply(204);
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note: undefined });
  });

  test("is kept when nobody can tell whether another one needs it", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(200, merged);
    api.get(BRANCH).reply(200, { commit: { sha: HEAD }, protected: false });
    api.get("/repos/acme/deploy/pulls").query(true).times(2).reply(403, { message: "no" });
    expect(await host.merge(change, remove)).toEqual({
      kind: "merged",
      note: expect.stringMatching(/not deleted: .*403/),
    });
  });

  test("is fine when it is gone", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(200, merged);
    api.get(BRANCH).reply(404, { message: "Branch not found" });
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note: undefined });
  });

  test("is fine when somebody is faster", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(200, merged);
    api.get(BRANCH).reply(200, { commit: { sha: HEAD }, protected: false });
    answerNobodyElse(api);
    api.delete(BRANCH_REF).reply(422, { message: "Reference does not exist" });
    api.get(BRANCH).reply(404, { message: "Branch not found" });
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note: undefined });
  });

  test("is noted when a ruleset forbids its deletion, which GitHub answers with the same status", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(200, merged);
    api
      .get(BRANCH)
      .times(2)
      .reply(200, { commit: { sha: HEAD }, protected: false });
    answerNobodyElse(api);
    api.delete(BRANCH_REF).reply(422, { message: "Repository rule violations found" });
    const note = expect.stringMatching(/feat\/x was not deleted: .*Repository rule violations found/);
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note });
  });

  test("is looked at again after the pause that a limit asks for, and kept with what was pushed meanwhile", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(200, merged);
    api.get(BRANCH).reply(200, { commit: { sha: HEAD }, protected: false });
    answerNobodyElse(api);
    api.delete(BRANCH_REF).reply(429, {}, { "retry-after": "30" });
    api.get(BRANCH).reply(200, { commit: { sha: OTHER }, protected: false });
    expect(await host.merge(change, remove)).toEqual({
      kind: "merged",
      note: expect.stringContaining("newer commits"),
    });
  });

  test("is noted when it may not be deleted", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.put(`${PULL}/merge`).reply(200, merged);
    api.get(BRANCH).reply(200, { commit: { sha: HEAD }, protected: false });
    answerNobodyElse(api);
    api.delete(BRANCH_REF).reply(403, { message: "Resource not accessible by integration" });
    const note = expect.stringMatching(/feat\/x was not deleted: .*403/);
    expect(await host.merge(change, remove)).toEqual({ kind: "merged", note });
  });
});

test("an open revert is looked for among the pull requests into the same branch alone", async () => {
  const { host, api, installation } = githubUnderTest();
  api.get("/app").reply(200, { slug: "svc", name: "svc" });
  api
    .get("/app/installations")
    .query(true)
    .reply(200, [{ id: installation }]);
  api.get("/users/svc%5Bbot%5D").reply(200, { id: 7, login: "svc[bot]", type: "Bot" });
  const body = "<!-- svc:revert of=7 by=4711 -->";
  const one = { number: 8, body, user: { id: 7 }, base: { ref: "main" } };
  api
    .get("/repos/acme/deploy/pulls")
    .query((asked) => asked.state === "open" && asked.base === "main")
    .reply(200, [{ ...one, number: 9, user: { id: 8 } }, one]);
  const outcome = await host.revert(change, { id: "4711", login: "bo", bot: false });
  expect(outcome).toEqual({ kind: "opened", number: 8, known: true });
});

/** What GitHub's GraphQL answers to a mutation that took too long, whatever became of it. */
const TOO_LONG: [number, nock.Body] = [
  200,
  {
    data: null,
    errors: [{ message: "Something went wrong while executing your query. This may be the result of a timeout." }],
  },
];

describe("the merge queue, where GitHub failed at each try", () => {
  const failed = "GitHub failed (502) when asked to put acme/deploy#7 into the merge queue";
  test.each([
    ["and took the last one all the same", { isInMergeQueue: true }, { kind: "queued" }],
    ["and has it not", {}, { kind: "refused", reason: expect.stringContaining("did not take this pull request") }],
    ["and has another head of it", { isInMergeQueue: true, headRefOid: OTHER }, { kind: "refused" }],
    ["and does not tell", undefined, failed],
    ["with status 200, and took the last one all the same", { isInMergeQueue: true }, { kind: "queued" }, TOO_LONG],
    ["with status 200, and has it not", {}, { kind: "refused" }, TOO_LONG],
  ])("%s", async (_, last, expected, failure: [number, nock.Body] = [502, "<html>"]) => {
    const { host, api } = githubUnderTest();
    const queue = { ...NO_QUEUE, isMergeQueueEnabled: true };
    api.get(PULL).times(2).reply(200, pull());
    api.put(`${PULL}/merge`).reply(405, { message: "Changes must be made through the merge queue" });
    let tries = 0;
    nock("https://api.github.com")
      .post("/graphql")
      .times(20)
      .reply((_uri, body) => {
        const isTry = JSON.stringify(body).includes("enqueuePullRequest");
        if (isTry) tries += 1;
        if (isTry || (tries === 4 && last === undefined)) return failure;
        const now = tries === 4 ? { ...queue, ...last } : queue;
        return [200, { data: { repository: { pullRequest: now } } }];
      });
    const merging = host.merge(change, keep);
    if (typeof expected === "string") await expect(merging).rejects.toThrow(expected);
    else expect(await merging).toMatchObject(expected);
    expect(tries).toBe(4);
    nock.cleanAll();
  });
});

test("a revert of which GitHub says that it took too long is looked for before it is called refused", async () => {
  const { host, api, installation } = githubUnderTest();
  api.get("/app").reply(200, { id: 12, slug: "svc-gate" });
  api
    .get("/app/installations")
    .query(true)
    .reply(200, [{ id: installation }]);
  api.get("/users/svc-gate%5Bbot%5D").reply(200, { id: 900, login: "svc-gate[bot]", type: "Bot" });
  const body = "<!-- svc:revert of=7 by=4711 -->\nReverts #7";
  const made = { number: 8, body, user: { id: 900 }, base: { ref: "main" } };
  api.get("/repos/acme/deploy/pulls").query(true).reply(200, []);
  api.post("/graphql").reply(200, { data: { repository: { pullRequest: { id: "PR_7" } } } });
  api.post("/graphql", /revertPullRequest/).reply(...TOO_LONG);
  api.get("/repos/acme/deploy/pulls").query(true).reply(200, [made]);
  const outcome = await host.revert(change, { id: "4711", login: "bo", bot: false });
  expect(outcome).toEqual({ kind: "opened", number: 8, known: false });
});
