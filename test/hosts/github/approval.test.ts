import { describe, expect, test } from "@jest/globals";
import { validate } from "@octokit/graphql-schema";
import { APPROVAL_QUERY, AWAITED_QUERY, COMMITS_QUERY } from "../../../src/hosts/github/approval.js";
import { MINIMISE_MUTATION } from "../../../src/hosts/github/comments.js";
import { interceptRequests } from "../intercept.js";
import { change, githubUnderTest, HEAD, OTHER } from "./github-under-test.js";

interceptRequests();

const person = (login: string, databaseId: number) => ({ __typename: "User", login, databaseId });
const bo = person("bo", 102);
const GIVEN = "2026-03-02T09:00:10Z";
const review = (state: string, author: object | null = bo, oid: string = HEAD) => ({
  state,
  submittedAt: GIVEN,
  author,
  commit: { oid },
});
const timeline = (...nodes: unknown[]) => ({ timelineItems: { pageInfo: { hasPreviousPage: false }, nodes } });
const led = (createdAt: string, to = "main", from = "staging") => ({ createdAt, from, to });

function pullRequest(reviewDecision: string | null, nodes: unknown[], changes: object = {}) {
  const latestOpinionatedReviews = { pageInfo: { hasNextPage: false }, nodes };
  return {
    headRefOid: HEAD,
    baseRefName: "main",
    reviewDecision,
    ...timeline(),
    latestOpinionatedReviews,
    ...changes,
  };
}

async function approvalOf(answer: object) {
  const { host, api } = githubUnderTest();
  api.post("/graphql").reply(200, { data: { repository: { pullRequest: answer } } });
  const reviewRequests = { nodes: [] };
  api
    .post("/graphql")
    .optionally()
    .reply(200, { data: { repository: { pullRequest: { reviewRequests } } } });
  return host.reviews(change);
}

test.each([APPROVAL_QUERY, COMMITS_QUERY, AWAITED_QUERY, MINIMISE_MUTATION])(
  "the document is GraphQL of GitHub's schema: %s",
  (query) => {
    expect(validate(query)).toEqual([]);
  },
);

describe("approved", () => {
  test.each([
    ["the rules are met", "APPROVED"],
    ["no rules are set", null],
  ])("by a person who is not the author, on the head, when %s", async (_, decision) => {
    expect(await approvalOf(pullRequest(decision, [review("APPROVED")]))).toEqual({
      approved: true,
      approvers: ["bo"],
      people: [{ id: expect.any(String), login: "bo", bot: false, at: "2026-03-02T09:00:10.000Z" }],
      missing: undefined,
      looks: [
        {
          by: { id: "102", login: "bo", bot: false, at: "2026-03-02T09:00:10.000Z" },
          saw: change.headRevision,
          from: undefined,
        },
      ],
    });
  });

  test("also after the base changed", async () => {
    const changes = timeline(led("2026-03-02T09:00:01Z", "staging", "main"), led("2026-03-02T09:00:09Z"));
    expect(await approvalOf(pullRequest("APPROVED", [review("APPROVED")], changes))).toMatchObject({
      approved: true,
      approvers: ["bo"],
    });
  });

  test("also when another approval is stale or dismissed", async () => {
    const nodes = [
      review("APPROVED", person("olga", 103), OTHER),
      review("DISMISSED", person("kim", 104)),
      review("APPROVED"),
      null,
    ];
    expect(await approvalOf(pullRequest("APPROVED", nodes))).toMatchObject({ approved: true, approvers: ["bo"] });
  });
});

describe("not approved", () => {
  test.each<[string, object, RegExp]>([
    ["nobody reviewed and nothing is required", pullRequest(null, []), /Nobody other than the author/],
    ["the decision alone says so", pullRequest("APPROVED", []), /Nobody other than the author/],
    ["changes are requested", pullRequest("CHANGES_REQUESTED", [review("APPROVED")]), /requested changes/],
    [
      "a standing request for changes, nothing being required",
      pullRequest(null, [review("APPROVED"), review("CHANGES_REQUESTED", person("olga", 103))]),
      /olga requested changes/,
    ],
    [
      "a standing request for changes, the rules being met",
      pullRequest("APPROVED", [review("APPROVED"), review("CHANGES_REQUESTED", person("olga", 103), OTHER)]),
      /olga requested changes/,
    ],
    ["more reviews are required", pullRequest("REVIEW_REQUIRED", [review("APPROVED")]), /requires more reviews/],
    ["an unknown decision", pullRequest("MAYBE", [review("APPROVED")]), /unknown kind/],
    ["an earlier commit", pullRequest("APPROVED", [review("APPROVED", bo, OTHER)]), /bo approved an earlier commit/],
    ["no commit", pullRequest("APPROVED", [{ ...review("APPROVED"), commit: null }]), /earlier commit/],
    ["the author", pullRequest("APPROVED", [review("APPROVED", person("ana", 101))]), /Nobody other/],
    ["the author under a new name", pullRequest("APPROVED", [review("APPROVED", person("anna", 101))]), /Nobody other/],
    ["the author by name", pullRequest("APPROVED", [review("APPROVED", person("ANA", 999))]), /Nobody other/],
    ["a bot", pullRequest("APPROVED", [review("APPROVED", { __typename: "Bot", login: "svc" })]), /Nobody other/],
    ["a bot's login", pullRequest("APPROVED", [review("APPROVED", person("x[bot]", 5))]), /Nobody other/],
    ["a deleted account", pullRequest("APPROVED", [review("APPROVED", null)]), /Nobody other/],
    ["only comments", pullRequest(null, [review("COMMENTED")]), /Nobody other/],
    ["the head moved", pullRequest("APPROVED", [review("APPROVED")], { headRefOid: OTHER }), /head commit changed/],
    ...[
      ["in the second in which the base changed", timeline(led(GIVEN))] as const,
      ["before the base changed", timeline(led("2026-03-02T09:00:01Z"), led("2026-03-02T09:00:11Z"))] as const,
      [
        "before it changed, told in another order",
        timeline(led("2026-03-02T09:00:11Z"), led("2026-03-02T09:00:01Z")),
      ] as const,
    ].map(([when, changes]): [string, object, RegExp] => [
      when,
      pullRequest("APPROVED", [review("APPROVED")], changes),
      /^bo approved before the base changed from staging to main: approve again\.$/,
    ]),
    [
      "an approval without a time, after the base changed",
      pullRequest("APPROVED", [{ ...review("APPROVED"), submittedAt: null }], timeline(led("2026-03-02T09:00:01Z"))),
      /before the base changed/,
    ],
    ...[
      ["an entry of the timeline is missing", timeline(null)] as const,
      ["the last change is missing", timeline(led("2026-03-02T09:00:01Z", "staging", "main"))] as const,
    ].map(([what, changes]): [string, object, RegExp] => [
      what,
      pullRequest("APPROVED", [review("APPROVED")], changes),
      /^GitHub does not tell when the base changed to main, so which approvals came after that cannot be told/,
    ]),
    [
      "the timeline is cut off",
      pullRequest("APPROVED", [review("APPROVED")], {
        timelineItems: { pageInfo: { hasPreviousPage: true }, nodes: [led("2026-03-02T09:00:01Z")] },
      }),
      /more than 100 times, so which approvals came after the last change cannot be told: open a new pull request/,
    ],
    [
      "the base changed meanwhile",
      pullRequest("APPROVED", [review("APPROVED")], { baseRefName: "staging" }),
      /The base branch changed while/,
    ],
    [
      "too many reviews",
      pullRequest("APPROVED", [], {
        latestOpinionatedReviews: { pageInfo: { hasNextPage: true }, nodes: [review("APPROVED")] },
      }),
      /More than 100/,
    ],
  ])("%s", async (_, answer, missing) => {
    expect(await approvalOf(answer)).toMatchObject({
      approved: false,
      missing: expect.stringMatching(missing),
    });
  });
});

describe("whose review is awaited", () => {
  async function missingWith(answer: object) {
    const { host, api } = githubUnderTest();
    api.post("/graphql").reply(200, { data: { repository: { pullRequest: pullRequest("REVIEW_REQUIRED", []) } } });
    api.post("/graphql").reply(200, answer);
    return (await host.reviews(change)).missing;
  }
  const awaited = (...nodes: unknown[]) => ({ data: { repository: { pullRequest: { reviewRequests: { nodes } } } } });
  const asked = (asCodeOwner: boolean, requestedReviewer: object | null) => ({ asCodeOwner, requestedReviewer });

  test.each<[string, object, RegExp]>([
    [
      "people and teams, code owners as such",
      awaited(
        asked(false, { __typename: "User", login: "bo" }),
        asked(true, { __typename: "Team", combinedSlug: "acme/platform" }),
        asked(false, null),
        null,
      ),
      /requires more reviews.* A review was asked of bo, acme\/platform \(code owner\)\.$/,
    ],
    ["nobody", awaited(), /code owners\.$/],
    [
      "a team that the App may not read",
      { ...awaited(), errors: [{ type: "FORBIDDEN", message: "Resource not accessible by integration" }] },
      /code owners\.$/,
    ],
  ])("%s", async (_, answer, sentence) => {
    expect(await missingWith(answer)).toMatch(sentence);
  });
});

describe("failures", () => {
  test.each([
    ["NOT_FOUND", "not-found"],
    ["FORBIDDEN", "forbidden"],
    ["RATE_LIMITED", "rate-limited"],
    ["SOMETHING", "failed"],
  ])("the GraphQL error %s", async (type, reason) => {
    const { host, api } = githubUnderTest();
    const data = { repository: { pullRequest: pullRequest("APPROVED", [review("APPROVED")]) } };
    // A limit that names no pause is tried again after a minute.
    api
      .post("/graphql")
      .times(reason === "rate-limited" ? 2 : 1)
      .reply(200, { data, errors: [{ type, message: "no" }] });
    await expect(host.reviews(change)).rejects.toMatchObject({ name: "HostFailure", reason });
  });

  const broken =
    "Something went wrong while executing your query. Please include `0401:6C25` when reporting this issue.";
  test.each<[number, string | object]>([
    [502, "<html>"],
    [200, { data: null, errors: [{ message: broken }] }],
  ])("the query is repeated when GitHub fails with status %d, since it only reads", async (status, body) => {
    const { host, api } = githubUnderTest();
    api.post("/graphql").reply(status, body);
    api.post("/graphql").reply(200, { data: { repository: { pullRequest: pullRequest(null, [review("APPROVED")]) } } });
    expect(await host.reviews(change)).toMatchObject({ approved: true });
  });

  test.each([
    ["3.10.4", false],
    ["3.11.0", false],
    ["3.12.0", true],
    ["", true],
  ])("a server of version %j is asked for merge queues only if it has them", async (version, hasQueues) => {
    const { host, api } = githubUnderTest({ version });
    api
      .post("/graphql", ({ query }: { query: string }) => query.includes("isInMergeQueue") === hasQueues)
      .reply(200, { data: { repository: { pullRequest: pullRequest(null, [review("APPROVED")]) } } });
    expect(await host.reviews(change)).toMatchObject({ approved: true });
  });

  test("no pull request in the answer is no approval", async () => {
    const { host, api } = githubUnderTest();
    api.post("/graphql").reply(200, { data: { repository: null } });
    await expect(host.reviews(change)).rejects.toMatchObject({ name: "HostFailure" });
  });
});
