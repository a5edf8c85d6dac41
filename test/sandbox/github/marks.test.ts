import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { connected } from "./connected.js";

const owner = "acme";
const repo = "deploy";
const name = `${owner}/${repo}`;
let world: Awaited<ReturnType<typeof connected>>;
let octokit: Awaited<ReturnType<typeof world.client>>;
let number: number;
let comment: string;

beforeAll(async () => {
  world = await connected();
  await world.github.createRepository(name, { "a.yaml": "one\n" });
  octokit = await world.client(name);
  number = await world.github.open({ repository: name, by: "ana", changes: { "a.yaml": "two\n" } });
  comment = await world.github.comment(name, number, "ana", "svc plan");
});
afterAll(() => world.stop());

const statusOf = (call: Promise<{ status: number }>): Promise<number> =>
  call.then(
    ({ status }) => status,
    (error: unknown) => (error as { status: number }).status,
  );

test("the App was granted what app.yml asks for", async () => {
  const manifest = parse(readFileSync(new URL("../../../app.yml", import.meta.url), "utf8")) as {
    default_permissions: unknown;
  };
  const { data } = await (await world.probot.auth()).rest.apps.getAuthenticated();
  expect(data?.permissions).toEqual(manifest.default_permissions);
});

describe("reactions", () => {
  const react = (content: "eyes" | "rocket", client = octokit) =>
    client.rest.reactions.createForIssueComment({ owner, repo, comment_id: Number(comment), content });

  test("are made once, shown on the comment, and send no webhook", async () => {
    const before = world.received.length;
    expect((await react("eyes")).status).toBe(201);
    expect((await react("eyes")).status).toBe(200);
    await world.github.idle();
    expect(world.received).toHaveLength(before);
    const { data } = await octokit.rest.issues.getComment({ owner, repo, comment_id: Number(comment) });
    expect(data.reactions).toMatchObject({ total_count: 1, eyes: 1, rocket: 0 });
    const seen = world.github.changeRequest(name, number).comments.find(({ id }) => id === comment);
    expect(seen?.reactions).toEqual([{ by: "svc-app[bot]", name: "eyes" }]);
  });

  test("of a kind that GitHub does not have are refused and noted", async () => {
    const wrong = react("tada" as "eyes");
    expect(await statusOf(wrong)).toBe(422);
    expect(world.github.violations.join()).toContain("reactions");
  });
});

describe("commit statuses", () => {
  const set = (more: object) => {
    const sha = world.github.changeRequest(name, number).headRevision;
    return octokit.rest.repos.createCommitStatus({ owner, repo, sha, state: "pending", context: "svc/sync", ...more });
  };

  test("are kept in order", async () => {
    const { data } = await set({ description: "waits", target_url: "https://svc.example.com" });
    expect(data).toMatchObject({ state: "pending", context: "svc/sync", creator: { login: "svc-app[bot]" } });
    await set({ state: "error" });
    const { headRevision } = world.github.changeRequest(name, number);
    expect(world.github.statuses(name, headRevision)).toEqual([
      { name: "svc/sync", state: "pending", description: "waits", url: "https://svc.example.com" },
      { name: "svc/sync", state: "failure", description: "", url: undefined },
    ]);
  });

  test.each([
    ["too long a description", { description: "x".repeat(141) }],
    ["a commit that is not there", { sha: "1".repeat(40) }],
    ["a state that GitHub does not have", { state: "done" }],
  ])("%s is refused", async (_, more) => {
    expect(await statusOf(set(more))).toBe(422);
  });
});

describe("members of teams", () => {
  const membership = (org: string, team_slug: string, username: string, client = octokit) =>
    client.rest.teams.getMembershipForUserInOrg({ org, team_slug, username });

  test("are found whatever the case, others are not", async () => {
    world.github.setTeam("acme/platform", ["ana"]);
    expect((await membership("ACME", "Platform", "Ana")).data).toMatchObject({ state: "active" });
    expect(await statusOf(membership("acme", "platform", "bo"))).toBe(404);
    expect(await statusOf(membership("acme", "other", "ana"))).toBe(404);
    expect(await statusOf(membership("umbrella", "platform", "ana"))).toBe(404);
  });
});

test("code owners are asked for their review and hold up the decision", async () => {
  const ask = async () => {
    const query = `query($number: Int!) { repository(owner: "acme", name: "deploy") { pullRequest(number: $number) {
      reviewDecision
      reviewRequests(first: 5) { nodes { asCodeOwner requestedReviewer { ... on User { login } } } }
    } } }`;
    return (await octokit.graphql<{ repository: { pullRequest: unknown } }>(query, { number })).repository.pullRequest;
  };
  for (const login of ["bo", "olivia"]) world.github.setAccess(name, login, "write");
  world.github.setCodeOwners(name, ["olivia"]);
  world.github.requestReviews(name, number, ["olivia"]);
  await world.github.review(name, number, "bo", "approve");
  expect(await ask()).toEqual({
    reviewDecision: "REVIEW_REQUIRED",
    reviewRequests: { nodes: [{ asCodeOwner: true, requestedReviewer: { login: "olivia" } }] },
  });
  await world.github.review(name, number, "olivia", "approve");
  expect(await ask()).toEqual({ reviewDecision: "APPROVED", reviewRequests: { nodes: [] } });
});
