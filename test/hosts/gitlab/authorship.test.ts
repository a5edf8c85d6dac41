import { describe, expect, test } from "@jest/globals";
import nock from "nock";
import { accountsOf } from "../../../src/hosts/gitlab/commit-reports.js";
import { interceptRequests } from "../intercept.js";
import { change, gitlabUnderTest, HEAD, MERGE_REQUEST, OTHER, PROJECT } from "./gitlab-under-test.js";

interceptRequests();

const ben = { id: "102", login: "ben", bot: false };
const kim = { id: "103", login: "kim", bot: false };
const commit = (sha: string, author: typeof ben | null, authorEmail: string, committerEmail = authorEmail) => ({
  sha,
  author,
  authorEmail,
  committerEmail,
});

describe("accounts", () => {
  test.each([
    [
      "its author's, who is the committer as well",
      [commit("a", ben, "ben@x")],
      [ben],
      { people: [ben, ben], unknown: false },
    ],
    [
      "a committer who wrote another commit",
      [commit("a", ben, "ben@x", "kim@x"), commit("b", kim, "kim@x")],
      [ben, kim],
      { people: [ben, kim], unknown: false },
    ],
    [
      "a committer of the merge request who wrote nothing",
      [commit("a", ben, "ben@x", "kim@x")],
      [kim],
      { people: [ben, kim], unknown: true },
    ],
    ["nobody's", [commit("a", null, "who@x")], [], { people: [], unknown: true }],
  ])("a commit is %s", (_, commits, committers, expected) => {
    expect(accountsOf(commits, committers).get("a")).toEqual(expected);
  });
});

const event = (username: string, push_data: object | null) => ({ author: { id: 7, username }, push_data });
const push = (ref: string | null, commit_from: string | null, commit_to: string | null) => ({
  ref,
  ref_type: "branch",
  commit_from,
  commit_to,
});

function graphql(answer: object) {
  return nock("https://gitlab.example.com/git", { reqheaders: { "private-token": "glpat-secret" } })
    .post("/api/graphql")
    .reply(200, answer);
}

function commitsAnswer(nodes: readonly object[], more: object = { hasNextPage: false, endCursor: null }) {
  const mergeRequest = {
    committers: { pageInfo: { hasNextPage: false }, nodes: [] },
    commits: { pageInfo: more, nodes },
  };
  return { data: { project: { mergeRequest } } };
}

const VERSIONS = [
  { id: 2, head_commit_sha: HEAD },
  { id: 1, head_commit_sha: OTHER },
];

test("pushes to other branches and tags are left out, and one to several branches is told without its commits", async () => {
  const { host, api } = gitlabUnderTest();
  api.get("/user").reply(200, { id: 900, username: "svc" });
  graphql(commitsAnswer([]));
  api.get(`${MERGE_REQUEST}/versions`).reply(200, VERSIONS);
  api
    .get(`${PROJECT}/events`)
    .query(true)
    .reply(200, [
      event("ben", push("feat/x", OTHER, HEAD)),
      event("ben", push("main", OTHER, HEAD)),
      event("ben", { ...push("feat/x", OTHER, HEAD), ref_type: "tag" }),
      event("kim", push(null, null, null)),
      event("ben", null),
      event("ana", push("feat/x", null, OTHER)),
    ]);
  const { pushes, opened } = await host.authorship(change);
  expect(pushes.map(({ by, before, after }) => [by?.login, before, after])).toEqual([
    ["ben", OTHER, HEAD],
    ["kim", undefined, undefined],
    ["ana", undefined, OTHER],
  ]);
  expect(opened).toBe(OTHER);
});

test("events are read back to the branch's creation, 500 at most; commits page by page", async () => {
  const { host, api } = gitlabUnderTest();
  api.get("/user").reply(200, { id: 900, username: "svc" });
  const node = (sha: string) => ({
    sha,
    authorEmail: "b@x",
    committerEmail: "b@x",
    author: { id: "gid://gitlab/User/102", username: "ben" },
  });
  graphql(commitsAnswer([node(HEAD)], { hasNextPage: true, endCursor: "MTAw" }));
  graphql(commitsAnswer([node(OTHER)]));
  api.get(`${MERGE_REQUEST}/versions`).reply(200, VERSIONS);
  const others = Array.from({ length: 100 }, () => event("ben", push("other", OTHER, HEAD)));
  const pages = api.get(`${PROJECT}/events`).query(true).times(5).reply(200, others);
  const { accounts, pushes } = await host.authorship(change);
  expect([...accounts.keys()]).toEqual([HEAD, OTHER]);
  expect(accounts.get(HEAD)).toEqual({ people: [ben, ben], unknown: false });
  expect(pushes).toEqual([]);
  expect(pages.isDone()).toBe(true);
});

test("a fork's pushes are not asked for", async () => {
  const { host, api } = gitlabUnderTest();
  api.get("/user").reply(200, { id: 900, username: "svc" });
  graphql(commitsAnswer([]));
  api.get(`${MERGE_REQUEST}/versions`).reply(200, VERSIONS);
  expect(await host.authorship({ ...change, fork: true })).toMatchObject({ pushes: [], opened: OTHER });
});

test.each([
  [
    "a field that GitLab does not know",
    {
      errors: [
        {
          message: "Field 'committers' doesn't exist on type 'MergeRequest'",
          locations: [{ line: 4, column: 7 }],
          path: ["query", "project", "mergeRequest", "committers"],
          extensions: { code: "undefinedField", typeName: "MergeRequest", fieldName: "committers" },
        },
      ],
    },
    "rejected",
    /'committers'.*GitLab 16/,
  ],
  [
    "a query that took too long",
    { data: { project: null }, errors: [{ message: "Timeout on MergeRequest.commits" }] },
    "failed",
    /^GitLab could not read the commits of acme\/platform\/gitops!17 \("Timeout on MergeRequest\.commits"\)\. Try again later\.$/,
  ],
  ["no merge request", { data: { project: { mergeRequest: null } } }, "failed", /GitLab/],
])("%s is a failure, and nobody's approval", async (_, answer, reason, message) => {
  const { host, api } = gitlabUnderTest();
  api.get("/user").reply(200, { id: 900, username: "svc" });
  graphql(answer);
  api.get(`${MERGE_REQUEST}/versions`).reply(200, VERSIONS);
  api.get(`${PROJECT}/events`).query(true).reply(200, []);
  await expect(host.authorship(change)).rejects.toMatchObject({
    name: "HostFailure",
    reason,
    message: expect.stringMatching(message),
  });
});
