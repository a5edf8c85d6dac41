import { describe, expect, test } from "@jest/globals";
import nock from "nock";
import { pino } from "pino";
import { HostFailure } from "../../../src/core/model/errors.js";
import { interceptRequests } from "../intercept.js";
import { BASE, FORK_POINT, HEAD, OTHER, change, githubUnderTest, mintToken, pull, ref } from "./github-under-test.js";

interceptRequests();

const PULL = "/repos/acme/deploy/pulls/7";

describe("facts of a pull request", () => {
  function answerFacts(api: nock.Scope, changes: Record<string, unknown> = {}) {
    api.get(PULL).reply(200, pull(changes));
    api.get("/repos/acme/deploy/branches/main").reply(200, { commit: { sha: BASE }, protected: true });
    answerComparison(api, "main", { base_commit: { sha: BASE }, merge_base_commit: { sha: FORK_POINT } });
  }

  function answerComparison(api: nock.Scope, base: string, body: object, status = 200) {
    api.get(`/repos/acme/deploy/compare/${base}...${HEAD}`).query({ per_page: "1" }).reply(status, body);
  }

  test("come from three reads", async () => {
    const { host, api } = githubUnderTest();
    answerFacts(api);
    expect(await host.getChangeRequest(ref)).toEqual({
      ...change,
      repositoryId: "1",
      repositoryUrls: [
        "https://github.com/acme/deploy.git",
        "git@github.com:acme/deploy.git",
        "https://github.com/acme/deploy",
        "https://git.example.com/acme/deploy.git",
        "git@git.example.com:acme/deploy.git",
      ],
    });
  });

  test.each<[string, Record<string, unknown>, object]>([
    ["a fork", { head: { ref: "x", sha: HEAD, repo: { id: 2 } } }, { fork: true }],
    ["a deleted fork", { head: { ref: "x", sha: HEAD, repo: null } }, { fork: true }],
    ["a deleted author", { user: null }, { author: undefined }],
    ["a bot as author", { user: { id: 5, login: "renovate[bot]", type: "Bot" } }, { author: { bot: true } }],
    ["a merged one", { state: "closed", merged: true }, { state: "merged" }],
    ["a closed one", { state: "closed" }, { state: "closed" }],
    ["a draft", { draft: true }, { draft: true }],
  ])("%s", async (_, changes, expected) => {
    const { host, api } = githubUnderTest();
    answerFacts(api, changes);
    expect(await host.getChangeRequest(ref)).toMatchObject(expected);
  });

  test.each([
    ["a tag has the name of the base branch", { base_commit: { sha: OTHER }, merge_base_commit: { sha: OTHER } }, 200],
    ["the base branch cannot be compared by its name", { message: "Not Found" }, 404],
  ])("where %s, the head is compared with its tip", async (_, body, status) => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull());
    api.get("/repos/acme/deploy/branches/main").reply(200, { commit: { sha: BASE }, protected: true });
    answerComparison(api, "main", body, status);
    answerComparison(api, BASE, { base_commit: { sha: BASE }, merge_base_commit: { sha: FORK_POINT } });
    expect(await host.getChangeRequest(ref)).toMatchObject({ baseRevision: BASE, mergeBase: FORK_POINT });
  });

  test("the installation and its token are asked for once", async () => {
    const { host, api } = githubUnderTest();
    answerFacts(api);
    answerFacts(api);
    await host.getChangeRequest(ref);
    await host.getChangeRequest(ref);
  });

  test("an answer of another shape is a failure that names what was asked", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(200, pull({ head: { ref: "x", sha: "not a commit", repo: null } }));
    await expect(host.getChangeRequest(ref)).rejects.toThrow(
      "GitHub gave an unexpected answer when asked to read the pull request acme/deploy#7 (head.sha).",
    );
  });

  test("an aborted call rejects with the signal's reason", async () => {
    const { host } = githubUnderTest({ installed: false });
    const reason = new Error("stopped");
    await expect(host.getChangeRequest(ref, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test("an App that is not installed is said so", async () => {
    const { host, api } = githubUnderTest({ installed: false });
    api.get("/repos/acme/deploy/installation").reply(404, { message: "Not Found" });
    await expect(host.getChangeRequest(ref)).rejects.toMatchObject({
      reason: "not-found",
      message: expect.stringContaining("that the GitHub App is installed on the repository"),
    });
  });

  test("what is missing in a repository costs no second look-up of the installation", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(404, { message: "Not Found" });
    await expect(host.mergeability(ref)).rejects.toThrow(HostFailure);
    api.get(PULL).reply(200, pull());
    expect(await host.mergeability(ref)).toBe("mergeable");
  });

  test("an App that was installed anew is found again", async () => {
    const { host, api, installation } = githubUnderTest({ installed: false });
    api.get("/repos/acme/deploy/installation").reply(200, { id: installation });
    api.post(`/app/installations/${installation}/access_tokens`).reply(404, { message: "Not Found" });
    await expect(host.mergeability(ref)).rejects.toThrow(HostFailure);
    api.get("/repos/acme/deploy/installation").reply(200, { id: installation + 100_000 });
    mintToken(installation + 100_000);
    api.get(PULL).reply(200, pull());
    expect(await host.mergeability(ref)).toBe("mergeable");
  });
});

describe("mergeability", () => {
  test("is polled while GitHub computes it", async () => {
    const { host, api, clock } = githubUnderTest();
    api
      .get(PULL)
      .times(2)
      .reply(200, pull({ mergeable: null }));
    api.get(PULL).reply(200, pull({ mergeable: false }));
    expect(await host.mergeability(ref)).toBe("conflicts");
    expect(clock.sleeps).toEqual([500, 1000]);
  });

  test("stays unknown when GitHub takes more than 16 seconds", async () => {
    const { host, api, clock } = githubUnderTest();
    api
      .get(PULL)
      .times(6)
      .reply(200, pull({ mergeable: null }));
    expect(await host.mergeability(ref)).toBe("unknown");
    expect(clock.sleeps).toEqual([500, 1000, 2000, 4000, 8000]);
  });

  test("is not polled when closed", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).reply(200, pull({ state: "closed", mergeable: null }));
    expect(await host.mergeability(ref)).toBe("unknown");
    expect(clock.sleeps).toEqual([]);
  });
});

describe("who may command", () => {
  const bo = { id: "102", login: "bo", bot: false };
  test.each([
    ["admin", { permission: "admin", user: { id: 102, login: "bo" } }, true],
    ["write", { permission: "write", user: { id: 102, login: "bo" } }, true],
    ["read", { permission: "read", user: { id: 102, login: "bo" } }, false],
    ["none", { permission: "none", user: { id: 102, login: "bo" } }, false],
    ["a login that changed hands", { permission: "admin", user: { id: 999, login: "bo" } }, false],
    ["no user", { permission: "admin", user: null }, false],
  ])("%s", async (_, answer, expected) => {
    const { host, api } = githubUnderTest();
    api.get("/repos/acme/deploy/collaborators/bo/permission").reply(200, answer);
    expect(await host.mayCommand(ref, bo)).toBe(expected);
  });

  test.each([
    ["admin", true],
    ["write", true],
    ["read", true],
    ["none", false],
  ])("who has %s may read: %s", async (permission, expected) => {
    const { host, api } = githubUnderTest();
    const answer = { permission, user: { id: 102, login: "bo" } };
    api.get("/repos/acme/deploy/collaborators/bo/permission").reply(200, answer);
    expect(await host.mayRead(ref, { ...bo, external: false })).toBe(expected);
  });

  test("a login that is gone may not; any other failure is no answer", async () => {
    const { host, api } = githubUnderTest();
    api.get("/repos/acme/deploy/collaborators/bo/permission").reply(404, { message: "Not Found" });
    expect(await host.mayCommand(ref, bo)).toBe(false);
    const other = githubUnderTest();
    other.api.get("/repos/acme/deploy/collaborators/bo/permission").reply(403, { message: "no" });
    await expect(other.host.mayCommand(ref, bo)).rejects.toMatchObject({ reason: "forbidden" });
  });
});

describe("own account", () => {
  test("is asked through an installation, once", async () => {
    const { host, api, installation } = githubUnderTest({ installed: false });
    api.get("/app").reply(200, { id: 12, slug: "svc-gate" });
    api
      .get("/app/installations")
      .query(true)
      .reply(200, [{ id: 1, suspended_at: "2026-01-01T00:00:00Z" }, { id: installation }]);
    mintToken(installation);
    api
      .get("/users/svc-gate%5Bbot%5D")
      .matchHeader("authorization", "token ghs_secret")
      .reply(200, { id: 900, login: "svc-gate[bot]", type: "Bot" });
    const expected = { id: "900", login: "svc-gate[bot]", bot: true };
    expect(await Promise.all([host.self(), host.self()])).toEqual([expected, expected]);
    expect(await host.self()).toEqual(expected);
  });

  test("is asked through the next installation where one refuses, as by its list of allowed addresses", async () => {
    const { host, api, installation } = githubUnderTest({ installed: false });
    const refusing = installation + 100_000;
    api.get("/app").reply(200, { id: 12, slug: "svc-gate" });
    api
      .get("/app/installations")
      .query(true)
      .reply(200, [{ id: refusing }, { id: installation }]);
    mintToken(refusing, "ghs_refused");
    mintToken(installation);
    const account = () => api.get("/users/svc-gate%5Bbot%5D");
    account().matchHeader("authorization", "token ghs_refused").reply(403, { message: "IP allow list" });
    account().matchHeader("authorization", "token ghs_secret").reply(200, { id: 900, login: "svc-gate[bot]" });
    expect((await host.self()).id).toBe("900");
  });

  test("is asked as anybody when the App is installed nowhere", async () => {
    const { host, api } = githubUnderTest({ installed: false });
    api.get("/app").reply(200, { slug: "svc-gate" });
    api.get("/app/installations").query(true).reply(200, []);
    nock("https://api.github.com", { badheaders: ["authorization"] })
      .get("/users/svc-gate%5Bbot%5D")
      .reply(200, { id: 900, login: "svc-gate[bot]" });
    expect((await host.self()).id).toBe("900");
  });

  test("a server that answers nobody without credentials is not taken for a wrong App key", async () => {
    const { host, api } = githubUnderTest({ installed: false });
    api.get("/app").reply(200, { slug: "svc-gate" });
    api.get("/app/installations").query(true).reply(200, []);
    api.get("/users/svc-gate%5Bbot%5D").reply(401, { message: "Requires authentication" });
    const failure = host.self();
    await expect(failure).rejects.toMatchObject({ name: "HostFailure", reason: "failed" });
    await expect(failure).rejects.toThrow(/answers nobody without credentials.*install the App/);
    await expect(failure).rejects.not.toThrow("github.private_key");
  });

  test("a wrong App key is said with the settings to check, and asked again the next time", async () => {
    const { host, api } = githubUnderTest({ installed: false });
    api.get("/app").times(2).reply(401, { message: "A JSON web token could not be decoded" });
    const expected = {
      reason: "unauthenticated",
      message: expect.stringContaining("check github.app_id and github.private_key"),
    };
    await expect(host.self()).rejects.toMatchObject(expected);
    await expect(host.self()).rejects.toMatchObject(expected);
  });

  test("a key that is none is said before anything is asked", async () => {
    const { host } = githubUnderTest({ installed: false, key: "-----BEGIN RSA PRIVATE KEY-----\nnope" });
    const failure = host.self();
    await expect(failure).rejects.toMatchObject({ name: "HostFailure", reason: "unauthenticated" });
    await expect(failure).rejects.toThrow("github.private_key is not a usable private key");
  });
});

describe("comments", () => {
  function answerSelf(api: nock.Scope, installation: number) {
    api.get("/app").reply(200, { slug: "svc" });
    api
      .get("/app/installations")
      .query(true)
      .reply(200, [{ id: installation }]);
    api.get("/users/svc%5Bbot%5D").reply(200, { id: 900, login: "svc[bot]" });
  }

  test("only those of our own account are listed, over all pages", async () => {
    const { host, api, installation } = githubUnderTest();
    answerSelf(api, installation);
    const others = Array.from({ length: 99 }, (_, index) => ({ id: index + 1, body: "<!-- svc -->", user: { id: 5 } }));
    const comments = api.get("/repos/acme/deploy/issues/7/comments").query({ per_page: "100", page: "1" });
    comments.reply(200, [...others, { id: 100, body: "ours", user: { id: 900 } }]);
    api
      .get("/repos/acme/deploy/issues/7/comments")
      .query({ per_page: "100", page: "2" })
      .reply(200, [
        { id: 101, body: null, user: { id: 900 } },
        { id: 102, body: "x", user: null },
      ]);
    expect(await host.listOwnComments(ref)).toEqual([
      { id: "100", body: "ours" },
      { id: "101", body: "" },
    ]);
  });

  test("are posted and edited", async () => {
    const { host, api } = githubUnderTest();
    api.post("/repos/acme/deploy/issues/7/comments", { body: "hello" }).reply(201, { id: 55 });
    api.patch("/repos/acme/deploy/issues/comments/55", { body: "again" }).reply(200, { id: 55 });
    expect(await host.postComment(ref, "hello", { urgency: "result" })).toBe("55");
    await host.editComment(ref, "55", "again");
  });

  test("are edited after a limit, also where they show a manifest that names a mutation", async () => {
    const { host, api } = githubUnderTest();
    api.patch("/repos/acme/deploy/issues/comments/55").reply(429, { message: "limit" }, { "retry-after": "7" });
    api.patch("/repos/acme/deploy/issues/comments/55").reply(200, { id: 55 });
    await host.editComment(ref, "55", '+ query: "enqueuePullRequest(input: {})"');
  });

  test.each([500, 502, 429])("are sent once, also when the answer is %d", async (status) => {
    const { host, api } = githubUnderTest();
    api.post("/repos/acme/deploy/issues/7/comments").reply(status, { message: "oops" }, { "retry-after": "1" });
    await expect(host.postComment(ref, "hello", { urgency: "help" })).rejects.toThrow(HostFailure);
  });
});

test("git reads with a token for this repository's contents alone", async () => {
  const { host, api, installation } = githubUnderTest({ installed: false });
  api.get("/repos/acme/deploy/installation").reply(200, { id: installation });
  api
    .post(`/app/installations/${installation}/access_tokens`, {
      repositories: ["deploy"],
      permissions: { contents: "read" },
    })
    .reply(201, { token: "ghs_clone", expires_at: "2099-01-01T00:00:00Z" });
  const source = {
    url: "https://github.com/acme/deploy.git",
    authorization: `Basic ${Buffer.from("x-access-token:ghs_clone").toString("base64")}`,
    headRef: "refs/pull/7/head",
  };
  // Both ask for it at once, and GitHub makes one.
  expect(await Promise.all([host.cloneSource(ref), host.cloneSource(ref)])).toEqual([source, source]);
});

describe("the token for git is made anew", () => {
  const authorizationOf = (token: string) => `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;

  test("once the App was uninstalled and installed again, which ended the one before", async () => {
    const { host, api, installation } = githubUnderTest({ installed: false });
    api.get("/repos/acme/deploy/installation").reply(200, { id: installation });
    mintToken(installation, "ghs_before");
    expect((await host.cloneSource(ref)).authorization).toBe(authorizationOf("ghs_before"));
    api.post(`/app/installations/${installation}/access_tokens`).reply(404, { message: "Not Found" });
    await expect(host.mergeability(ref)).rejects.toMatchObject({ reason: "not-found" });
    api.get("/repos/acme/deploy/installation").reply(200, { id: installation + 100_000 });
    mintToken(installation + 100_000, "ghs_after");
    expect((await host.cloneSource(ref)).authorization).toBe(authorizationOf("ghs_after"));
    expect((await host.cloneSource(ref)).authorization).toBe(authorizationOf("ghs_after"));
  });

  test("for another repository that got the name: GitHub gives the first one for the repository, not for its name", async () => {
    const { host, api, installation } = githubUnderTest({ installed: false });
    api.get("/repos/acme/deploy/installation").reply(200, { id: installation });
    for (const [repositoryId, token] of [
      ["1", "ghs_one"],
      ["2", "ghs_two"],
    ] as const) {
      mintToken(installation, token);
      expect((await host.cloneSource({ ...ref, repositoryId })).authorization).toBe(authorizationOf(token));
    }
  });
});

describe("refusals", () => {
  test.each<[number, Record<string, string>, string, RegExp]>([
    [403, {}, "forbidden", /does not allow svc to .*"said".*permissions/],
    [403, { "x-ratelimit-remaining": "0" }, "rate-limited", /rate limit/],
    [429, {}, "rate-limited", /rate limit/],
    [404, {}, "not-found", /found nothing \(404\)/],
    [409, {}, "rejected", /\(409, "said"\)/],
    [415, {}, "rejected", /\(415, "said"\)/],
    [422, {}, "rejected", /\(422, "said"\)/],
  ])("%d %j", async (status, headers, reason, text) => {
    const { host, api } = githubUnderTest();
    // A limit that names no pause is tried again after a minute.
    api
      .get(PULL)
      .times(reason === "rate-limited" ? 2 : 1)
      .reply(status, { message: "sa\u202eid\n" }, headers);
    const failure = host.mergeability(ref);
    await expect(failure).rejects.toMatchObject({ name: "HostFailure", reason });
    await expect(failure).rejects.toThrow(
      text.source.includes("said") ? new RegExp(text.source.replace("said", "sa id")) : text,
    );
  });

  test("a read is tried three times when GitHub fails", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).times(3).reply(503, "<html>");
    await expect(host.mergeability(ref)).rejects.toMatchObject({ reason: "failed" });
    const [first = 0, second = 0, ...others] = clock.sleeps;
    expect(others).toEqual([]);
    expect([first >= 500, first <= 750, second >= 1000, second <= 1500]).toEqual([true, true, true, true]);
  });

  test("a secondary limit is waited for as long as GitHub asks, within a minute", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).reply(403, { message: "secondary" }, { "retry-after": "7" });
    api.get(PULL).reply(200, pull());
    expect(await host.mergeability(ref)).toBe("mergeable");
    expect(clock.sleeps).toEqual([7000]);
    const other = githubUnderTest();
    other.api.get(PULL).reply(429, { message: "secondary" }, { "retry-after": "3600" });
    await expect(other.host.mergeability(ref)).rejects.toMatchObject({ reason: "rate-limited" });
  });

  test.each<[string, string]>([
    ["secondary", "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."],
    ["primary", "API rate limit exceeded for installation."],
    ["older", "You have triggered an abuse detection mechanism. Please retry your request again later."],
  ])("a %s limit that names no pause is waited for a minute, although it comes as a 403", async (_, message) => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).reply(403, { message }, { "x-ratelimit-remaining": "4711" });
    api.get(PULL).reply(200, pull());
    expect(await host.mergeability(ref)).toBe("mergeable");
    expect(clock.sleeps).toEqual([60_000]);
  });

  test("a limit that goes on doubles the pause, and a comment that can wait is posted after it", async () => {
    const { host, api, clock } = githubUnderTest();
    const comments = "/repos/acme/deploy/issues/7/comments";
    const message = "You have exceeded a secondary rate limit.";
    api.post(comments).times(4).reply(403, { message }, { "x-ratelimit-remaining": "4711" });
    api.post(comments).reply(201, { id: 55 });
    const started = clock.now().getTime();
    expect(await host.postComment(ref, "hello", { urgency: "result" })).toBe("55");
    expect((clock.now().getTime() - started) / 60_000).toBe(1 + 2 + 4 + 8);
  });

  const invalid = { resource: "IssueComment", code: "unprocessable", field: "data" };

  test.each<[string, unknown]>([
    ["says", { ...invalid, message: "was submitted too quickly" }],
    ["says in a plain text", "was submitted too quickly"],
    ["says by a code", { resource: "IssueComment", code: "abuse", field: "base" }],
  ])(
    "a comment that GitHub calls invalid, and %s that it came too quickly, is posted a minute later",
    async (_, error) => {
      const { host, api, clock } = githubUnderTest();
      const comments = "/repos/acme/deploy/issues/7/comments";
      api.post(comments).reply(422, { message: "Validation Failed", errors: [{ ...invalid, message: null }, error] });
      api.post(comments).reply(201, { id: 55 });
      const started = clock.now().getTime();
      expect(await host.postComment(ref, "hello", { urgency: "result" })).toBe("55");
      expect(clock.now().getTime() - started).toBe(60_000);
    },
  );

  test.each<[string, unknown]>([
    ["text", "Body is too long (maximum is 65536 characters)"],
    ["error", { ...invalid, message: "Body is too long" }],
  ])("a comment that GitHub refuses with any other %s is not sent again, and that is told", async (_, error) => {
    const { host, api } = githubUnderTest();
    const message = "Validation Failed";
    api.post("/repos/acme/deploy/issues/7/comments").reply(422, { message, errors: [error], abuse: "abuse" });
    const said = expect.stringContaining('(422, "Validation Failed: Body is too long');
    const refusal = { reason: "rejected", message: said };
    await expect(host.postComment(ref, "hello", { urgency: "result" })).rejects.toMatchObject(refusal);
  });

  test("a limit of reads holds writes as well", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).times(2).reply(429, { message: "slow down" });
    await expect(host.mergeability(ref)).rejects.toMatchObject({ reason: "rate-limited" });
    const started = clock.now().getTime();
    api.post("/repos/acme/deploy/issues/7/comments").reply(429, { message: "slow down" });
    await expect(host.postComment(ref, "hello", { urgency: "help" })).rejects.toMatchObject({ reason: "rate-limited" });
    api.post("/repos/acme/deploy/issues/7/comments").reply(201, { id: 55 });
    expect(await host.postComment(ref, "hello", { urgency: "result" })).toBe("55");
    expect(clock.now().getTime() - started).toBe(120_000);
  });

  test.each<[string, object]>([
    ["RATE_LIMITED", { type: "RATE_LIMITED", message: "API rate limit exceeded" }],
    ["RATE_LIMIT", { type: "RATE_LIMIT", code: "graphql_rate_limit", message: "API rate limit already exceeded" }],
    ["a secondary limit", { message: "You have exceeded a secondary rate limit." }],
  ])("GraphQL's %s in a 200 is a limit", async (_, error) => {
    const { host, api, clock } = githubUnderTest();
    api
      .post("/graphql")
      .times(2)
      .reply(200, { data: null, errors: [error] });
    await expect(host.reviews(change)).rejects.toMatchObject({ reason: "rate-limited" });
    expect(clock.sleeps).toEqual([60_000]);
  });

  test("what people wrote is no limit, and a refusal that only quotes one is none either", async () => {
    const { host, api, clock } = githubUnderTest();
    api.get(PULL).reply(200, pull({ title: "RATE_LIMITED: you have exceeded a secondary rate limit" }));
    expect(await host.mergeability(ref)).toBe("mergeable");
    api.get(PULL).reply(403, { message: "Resource not accessible by integration", said: "secondary rate limit" });
    await expect(host.mergeability(ref)).rejects.toMatchObject({ reason: "forbidden" });
    expect(clock.sleeps).toEqual([]);
  });

  test("a renamed repository is followed within GitHub, for reads", async () => {
    const { host, api } = githubUnderTest();
    api.get(PULL).reply(301, "", { location: "https://api.github.com/repositories/1/pulls/7" });
    api.get("/repositories/1/pulls/7").reply(200, pull({ head: { ref: "x", sha: OTHER, repo: null } }));
    expect(await host.mergeability(ref)).toBe("mergeable");
  });

  test("a renamed repository is not followed for writes", async () => {
    const { host, api } = githubUnderTest();
    const location = "https://api.github.com/repositories/1/issues/7/comments";
    api.post("/repos/acme/deploy/issues/7/comments").reply(307, "", { location });
    await expect(host.postComment(ref, "x", { urgency: "result" })).rejects.toThrow(
      "redirect to https://api.github.com (307), which is not followed: if the repository was renamed, try again; if not, set github.api_url",
    );
  });
});

describe("the open pull requests with a head", () => {
  const page = (numbers: readonly number[], next: string | undefined, head: string = HEAD) => ({
    data: {
      repository: {
        refs: { pageInfo: { hasNextPage: false }, nodes: [] },
        pullRequests: {
          pageInfo: { hasNextPage: next !== undefined, endCursor: next ?? null },
          nodes: numbers.map((number) => ({ number, headRefOid: head })),
        },
      },
    },
  });
  const hundred = (at: number) => Array.from({ length: 100 }, (_, index) => at * 100 + index + 1);

  test("are those of all open ones, page by page", async () => {
    const { host, api } = githubUnderTest();
    const asked: unknown[] = [];
    const note = ({ variables }: { variables: { after: unknown } }) => asked.push(variables.after) > 0;
    api.post("/graphql", note).reply(200, page(hundred(0), "c1", OTHER));
    api.post("/graphql", note).reply(200, page([101, 102], "c2"));
    api.post("/graphql", note).reply(200, page([103], undefined, OTHER));
    expect(await host.openWithHead(change)).toEqual({ numbers: [101, 102], cutOff: undefined });
    expect(asked).toEqual([null, "c1", "c2"]);
  });

  test("are read for ten pages; what may be behind is said", async () => {
    const { host, api } = githubUnderTest();
    for (let at = 0; at < 10; at += 1) {
      api.post("/graphql").reply(200, page(hundred(at), `c${at}`, at === 3 ? HEAD : OTHER));
    }
    const { numbers, cutOff } = await host.openWithHead(change);
    expect(numbers).toEqual(hundred(3));
    expect(cutOff).toBe("more than 1,000 are open");
  });

  test("are not known without the branches of the merge queue, one of which may have this head", async () => {
    const { host, api } = githubUnderTest();
    const { data } = page([7], undefined);
    api.post("/graphql").reply(200, { data: { repository: { ...data.repository, refs: null } } });
    await expect(host.openWithHead(change)).rejects.toThrow("list the open pull requests of acme/deploy");
  });

  test("are not known from an answer of another shape", async () => {
    const { host, api } = githubUnderTest();
    api.post("/graphql").reply(200, { data: { repository: { pullRequests: null } } });
    await expect(host.openWithHead(change)).rejects.toThrow("list the open pull requests of acme/deploy");
  });
});

test("a comment is told of although others are edited while the pages are read", async () => {
  const { host, api } = githubUnderTest();
  api
    .get("/repos/acme/deploy/pulls")
    .query(true)
    .reply(200, [pull({ number: 7, updated_at: "2026-03-02T10:01:00Z" })]);
  const timeOf = (id: number) => `2026-03-02T10:00:${String(Math.floor(id / 10)).padStart(2, "0")}Z`;
  let all = Array.from({ length: 150 }, (_, id) => ({
    id: id + 1,
    node_id: `IC_${id + 1}`,
    html_url: "https://github.com/acme/deploy/pull/7#issuecomment-1",
    user: { id: 101, login: "ana", type: "User" },
    created_at: timeOf(id),
    updated_at: timeOf(id),
  }));
  api
    .get("/repos/acme/deploy/issues/comments")
    .query(true)
    .times(3)
    .reply(200, (uri) => {
      const { searchParams: asked } = new URL(uri, "https://api.github.com");
      const first = (Number(asked.get("page")) - 1) * 100;
      const since = String(asked.get("since")).replace(".000Z", "Z");
      const page = all.filter(({ updated_at }) => updated_at >= since).slice(first, first + 100);
      // Whoever edits one of the first comments moves those behind it.
      all = [...all.slice(1), ...all.slice(0, 1).map((one) => ({ ...one, updated_at: "2026-03-02T10:05:00Z" }))];
      return page;
    });
  api
    .post("/graphql")
    .times(2)
    .reply(200, (_uri, body) => {
      const { ids } = (body as { variables: { ids: string[] } }).variables;
      return { data: { nodes: ids.map((id) => ({ id, lastEditedAt: null })) } };
    });
  const { comments } = await host.recentActivity(ref, new Date("2026-03-02T10:00:00Z"));
  const ids = comments.map(({ id }) => Number(id));
  expect(ids.filter((id) => id > 3)).toEqual(Array.from({ length: 147 }, (_, index) => index + 4));
  nock.cleanAll();
});

test("of more than 500 comments that are new or edited, it is said up to when they were read", async () => {
  const { host, api } = githubUnderTest();
  api.get("/repos/acme/deploy/pulls").query(true).reply(200, []);
  for (const page of [1, 2, 3, 4, 5]) {
    const comments = Array.from({ length: 100 }, (_, index) => ({
      id: page * 100 + index,
      node_id: "IC_1",
      html_url: "https://github.com/acme/deploy/pull/7#issuecomment-1",
      created_at: "2026-01-01T10:00:00Z",
      updated_at: `2026-03-02T10:0${page}:00Z`,
    }));
    api
      .get("/repos/acme/deploy/issues/comments")
      .query(({ sort, direction, since }) => {
        return sort === "updated" && direction === "asc" && since === `2026-03-02T10:0${page - 1}:00.000Z`;
      })
      .reply(200, comments);
  }
  const { readTo } = await host.recentActivity(ref, new Date("2026-03-02T10:00:00Z"));
  expect(readTo).toEqual(new Date("2026-03-02T10:05:00Z"));
});

test("more than 500 pull requests that changed are all told of", async () => {
  const { host, api } = githubUnderTest();
  const changedPull = (number: number) => ({ ...pull(), number, updated_at: "2026-03-02T10:01:00Z" });
  for (const page of [1, 2, 3, 4, 5, 6, 7]) {
    const count = page === 7 ? 1 : 100;
    api
      .get("/repos/acme/deploy/pulls")
      .query((query) => query.page === String(page))
      .reply(
        200,
        Array.from({ length: count }, (_, index) => changedPull(page * 100 + index)),
      );
  }
  api.get("/repos/acme/deploy/issues/comments").query(true).reply(200, []);
  const { heads } = await host.recentActivity(ref, new Date("2026-03-02T10:00:00Z"));
  expect(heads).toHaveLength(601);
});

describe("the repositories of several installations", () => {
  function startWith(owners: readonly string[]) {
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line) => lines.push(line) });
    const { host, api, installation } = githubUnderTest({ installed: false, log });
    const all = owners.map((login, index) => ({ id: installation + (index + 1) * 100_000, account: { login } }));
    nock("https://api.github.com").persist().get("/app/installations").query(true).reply(200, all);
    for (const { id } of all) mintToken(id, `ghs_${id}`);
    const answer = (owner: string, status: number, body: object) => {
      const { id } = all.find(({ account }) => account.login === owner) ?? { id: 0 };
      const list = api.get("/installation/repositories").query(true);
      list.matchHeader("authorization", `token ghs_${id}`).reply(status, body);
    };
    const of = (...names: readonly string[]) => ({
      repositories: names.map((full_name) => ({ full_name, archived: false })),
    });
    return { host, lines, answer, of };
  }

  test("are found although one refuses, whose earlier ones stay, and the log names it", async () => {
    const { host, lines, answer, of } = startWith(["acme", "other"]);
    answer("acme", 403, { message: "the IP allow list of acme" });
    answer("other", 200, of("other/one"));
    expect(await host.repositories(() => true)).toEqual(["other/one"]);
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
      expect.objectContaining({ owner: "acme", msg: "could not list the repositories of an installation of the App" }),
    ]);
    answer("acme", 200, of("acme/deploy"));
    answer("other", 200, of("other/one"));
    expect(await host.repositories(() => true)).toEqual(["acme/deploy", "other/one"]);
    answer("acme", 403, { message: "This installation has been suspended" });
    answer("other", 200, of("other/two"));
    expect(await host.repositories(() => true)).toEqual(["acme/deploy", "other/two"]);
  });

  test("are not taken for none where every installation refuses", async () => {
    const { host, answer } = startWith(["acme"]);
    answer("acme", 403, { message: "the IP allow list of acme" });
    await expect(host.repositories(() => true)).rejects.toMatchObject({ reason: "forbidden" });
  });

  test("are looked through for one that was renamed, which is not gone as long as one refuses", async () => {
    const { host } = startWith(["acme", "other"]);
    const api = nock("https://api.github.com");
    for (const name of ["other/deploy", undefined]) {
      api.get("/repos/acme/deploy/installation").reply(404, { message: "Not Found" });
      api.get("/repositories/1").reply(403, { message: "the IP allow list of acme" });
      api.get("/repositories/1").reply(name === undefined ? 404 : 200, { full_name: name });
      if (name === undefined) continue;
      const other = githubUnderTest({ installed: false }).installation;
      api.get(`/repos/${name}/installation`).reply(200, { id: other });
      mintToken(other);
      api.get(`/repos/${name}/pulls/7`).reply(200, pull());
    }
    const renamed = { ...ref, repositoryId: "1" };
    expect(await host.state(renamed)).toBe("open");
    await expect(host.state(renamed)).rejects.toMatchObject({ reason: "forbidden" });
  });
});

test("what changes while the pull requests are listed, as after a limit, counts as not read", async () => {
  const { host, api } = githubUnderTest();
  const pulls = Array.from({ length: 100 }, (_, index) => ({
    ...pull(),
    number: index + 1,
    updated_at: "2026-03-02T10:01:00Z",
  }));
  const first = "Mon, 02 Mar 2026 10:02:00 GMT";
  const later = "Mon, 02 Mar 2026 10:04:00 GMT";
  const answer = (page: string) => api.get("/repos/acme/deploy/pulls").query((query) => query.page === page);
  answer("1").reply(200, pulls, { date: first });
  answer("2").reply(429, {}, { "retry-after": "60", date: first });
  answer("2").reply(200, [], { date: later });
  api.get("/repos/acme/deploy/issues/comments").query(true).reply(200, [], { date: later });
  const { at } = await host.recentActivity(ref, new Date("2026-03-02T10:00:00Z"));
  expect(at).toEqual(new Date(first));
});
