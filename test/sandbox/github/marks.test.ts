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

  test.each([
    ["too long a description", { description: "x".repeat(141) }],
    ["a description with an emoji", { description: "held 🚧" }],
    ["a commit that is not there", { sha: "1".repeat(40) }],
    ["a state that GitHub does not have", { state: "done" }],
  ])("%s is refused", async (_, more) => {
    expect(await statusOf(set(more))).toBe(422);
  });
});
