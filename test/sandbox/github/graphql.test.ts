import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connected } from "./connected.js";

const owner = "acme";
const repo = "deploy";
const name = `${owner}/${repo}`;
let world: Awaited<ReturnType<typeof connected>>;
let octokit: Awaited<ReturnType<typeof world.client>>;

beforeAll(async () => {
  world = await connected();
  await world.github.createRepository(name, { "a.yaml": "one\n" });
  octokit = await world.client(name);
});
afterAll(() => world.stop());

const approval = `query($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) { pullRequest(number: $number) { headRefOid reviewDecision } }
}`;

test("a comment is minimised", async () => {
  const number = await world.github.open({ repository: name, by: "ana", changes: { c: "2\n" } });
  const { data } = await octokit.rest.issues.createComment({ owner, repo, issue_number: number, body: "old plan" });
  const minimize = `mutation($id: ID!) {
    minimizeComment(input: { subjectId: $id, classifier: OUTDATED }) { minimizedComment { isMinimized } }
  }`;
  expect(await octokit.graphql(minimize, { id: data.node_id })).toEqual({
    minimizeComment: { minimizedComment: { isMinimized: true } },
  });
  const lost = octokit.graphql(minimize, { id: "IC_nothing" });
  await expect(lost).rejects.toMatchObject({ errors: [{ type: "NOT_FOUND", path: ["minimizeComment"] }] });
});

test.each([
  { what: "repository", owner, repo: "no", number: 1, path: ["repository"] },
  { what: "pull request", owner, repo, number: 999, path: ["repository", "pullRequest"] },
])("an unknown $what is an error in an answer with status 200", async ({ path, ...variables }) => {
  await expect(octokit.graphql(approval, variables)).rejects.toMatchObject({
    name: "GraphqlResponseError",
    errors: [{ type: "NOT_FOUND", path, message: expect.stringContaining("Could not resolve to a") }],
  });
});

test("what was asked so far was in GitHub's schema", () => {
  expect(world.github.violations).toEqual([]);
});

test.each([
  { fault: "a field that the schema lacks", query: "{ viewer { loginn } }", says: /Cannot query field "loginn"/ },
  { fault: "broken syntax", query: "{ viewer {", says: /Syntax Error/ },
  {
    fault: "a wrong variable",
    query: 'query($n: Int!) { repository(owner: "a", name: "b") { pullRequest(number: $n) { id } } }',
    says: /Variable "\$n"/,
  },
  {
    fault: "a field that the sandbox has no answer for",
    query: "{ viewer { login } }",
    says: /does not serve Query\.viewer/,
  },
])("$fault is refused and noted", async ({ query, says }) => {
  const before = world.github.violations.length;
  await expect(octokit.graphql(query)).rejects.toMatchObject({
    errors: expect.arrayContaining([expect.objectContaining({ message: expect.stringMatching(says) })]),
  });
  expect(world.github.violations.slice(before).join("\n")).toMatch(says);
});

test("a connection without a page size is refused", async () => {
  const number = await world.github.open({ repository: name, by: "ana", changes: { p: "2\n" } });
  const query = `{ repository(owner: "acme", name: "deploy") { pullRequest(number: ${number}) { reviewRequests { nodes { asCodeOwner } } } } }`;
  await expect(octokit.graphql(query)).rejects.toMatchObject({ errors: [{ type: "MISSING_PAGINATION_BOUNDARIES" }] });
});

test("a wrong token is 401", async () => {
  const headers = { authorization: "bearer nonsense", "content-type": "application/json" };
  const response = await fetch(`${world.github.url}/api/graphql`, {
    method: "POST",
    headers,
    body: `{"query":"{viewer{login}}"}`,
  });
  expect([response.status, await response.json()]).toEqual([
    401,
    expect.objectContaining({ message: "Bad credentials" }),
  ]);
});
