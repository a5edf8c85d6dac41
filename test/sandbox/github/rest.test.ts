import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { connected } from "./connected.js";

const owner = "acme";
const repo = "deploy";
const name = `${owner}/${repo}`;
let world: Awaited<ReturnType<typeof connected>>;
let octokit: Awaited<ReturnType<typeof world.client>>;

beforeAll(async () => {
  world = await connected();
  await world.github.createRepository(name, { "a.yaml": "one\n", "b.yaml": "two\n" });
  octokit = await world.client(name);
});
afterAll(() => world.stop());

async function status(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => "answered",
    (error: unknown) => (error as { status: number }).status,
  );
}

test("base.sha stays where the base was when the pull request last changed", async () => {
  const number = await world.github.open({ repository: name, by: "ana", changes: { "base-sha": "1" } });
  const before = await world.store.resolve(name, "main");
  const moved = await world.github.pushToBranch(name, "main", { "later.yaml": "1" });
  expect((await octokit.rest.pulls.get({ owner, repo, pull_number: number })).data.base.sha).toBe(before);
  await world.github.push(name, number, { "base-sha": "2" });
  expect((await octokit.rest.pulls.get({ owner, repo, pull_number: number })).data.base.sha).toBe(moved);
});

describe("comments", () => {
  test.each([
    { length: 65_536, answer: "answered" },
    { length: 65_537, answer: 422 },
  ])("of $length characters: $answer", async ({ length, answer }) => {
    const number = await world.github.open({ repository: name, by: "ana", changes: { long: String(length) } });
    const body = "x".repeat(length);
    expect(await status(octokit.rest.issues.createComment({ owner, repo, issue_number: number, body }))).toBe(answer);
  });

  test("of other people are not the App's to edit", async () => {
    const number = await world.github.open({ repository: name, by: "ana", changes: { other: "1" } });
    const id = Number(await world.github.comment(name, number, "bo", "mine"));
    expect(await status(octokit.rest.issues.updateComment({ owner, repo, comment_id: id, body: "x" }))).toBe(403);
  });
});

describe("merging", () => {
  async function opened(file: string): Promise<number> {
    return world.github.open({ repository: name, by: "ana", changes: { [file]: "1\n" } });
  }

  test("two merges at once merge once", async () => {
    const number = await opened("twice");
    const tries = await Promise.all(
      [1, 2].map(() => status(octokit.rest.pulls.merge({ owner, repo, pull_number: number }))),
    );
    expect(tries.sort()).toEqual([405, "answered"]);
  });

  test.each([
    {
      why: "missing reviews",
      prepare: async () => {
        const number = await opened("reviews");
        world.github.requireReviews(name, 1);
        return number;
      },
      answer: 405,
    },
    { why: "a workflow in it", prepare: () => opened(".github/workflows/ci.yaml"), answer: 403 },
  ])("$why: $answer", async ({ prepare, answer }) => {
    const number = await prepare();
    expect(await status(octokit.rest.pulls.merge({ owner, repo, pull_number: number }))).toBe(answer);
    world.github.requireReviews(name, 0);
    expect(world.github.changeRequest(name, number).state).toBe("open");
  });
});

test("all of this was as GitHub describes it", () => {
  expect(world.github.violations).toEqual([]);
});
