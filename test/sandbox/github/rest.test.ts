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

test("the App knows itself, its bot and its installations", async () => {
  const app = await world.probot.auth();
  expect((await app.rest.apps.getAuthenticated()).data).toMatchObject({ id: 4242, slug: "svc-app" });
  const { data: installations } = await app.rest.apps.listInstallations();
  expect(installations).toHaveLength(1);
  expect(installations[0]).toMatchObject({ account: { login: owner }, app_id: 4242 });
  const bot = await octokit.rest.users.getByUsername({ username: "svc-app[bot]" });
  expect(bot.data).toMatchObject({ login: "svc-app[bot]", type: "Bot" });
  expect((await octokit.rest.users.getByUsername({ username: "SVC-APP[bot]" })).data.id).toBe(bot.data.id);
});

test("a pull request has its head, its base and its size", async () => {
  const number = await world.github.open({
    repository: name,
    by: "ana",
    changes: { "a.yaml": "1\n", "c.yaml": "c\n", "b.yaml": null },
  });
  const { data } = await octokit.rest.pulls.get({ owner, repo, pull_number: number });
  expect(data).toMatchObject({
    number,
    state: "open",
    merged: false,
    mergeable: true,
    mergeable_state: "clean",
    draft: false,
    changed_files: 3,
    additions: 2,
    deletions: 2,
    commits: 1,
    user: { login: "ana", type: "User" },
    head: { ref: `change-${number}`, sha: await world.store.resolve(name, `change-${number}`) },
    base: { ref: "main", sha: await world.store.resolve(name, "main") },
  });
  expect(data.head.repo.id).toBe(data.base.repo.id);
});

test("base.sha stays where the base was when the pull request last changed", async () => {
  const number = await world.github.open({ repository: name, by: "ana", changes: { "base-sha": "1" } });
  const before = await world.store.resolve(name, "main");
  const moved = await world.github.pushToBranch(name, "main", { "later.yaml": "1" });
  expect((await octokit.rest.pulls.get({ owner, repo, pull_number: number })).data.base.sha).toBe(before);
  await world.github.push(name, number, { "base-sha": "2" });
  expect((await octokit.rest.pulls.get({ owner, repo, pull_number: number })).data.base.sha).toBe(moved);
});

describe("mergeability", () => {
  test("is null for as many reads as it is delayed", async () => {
    const number = await world.github.open({ repository: name, by: "ana", changes: { delay: "1" } });
    world.github.delayMergeability(name, number, 2);
    const seen: unknown[] = [];
    for (let read = 0; read < 3; read += 1) {
      const { data } = await octokit.rest.pulls.get({ owner, repo, pull_number: number });
      seen.push([data.mergeable, data.mergeable_state]);
    }
    expect(seen).toEqual([
      [null, "unknown"],
      [null, "unknown"],
      [true, "clean"],
    ]);
  });

  test("is false when the branches conflict", async () => {
    const number = await world.github.open({ repository: name, by: "ana", changes: { conflict: "mine\n" } });
    await world.github.pushToBranch(name, "main", { conflict: "theirs\n" });
    const { data } = await octokit.rest.pulls.get({ owner, repo, pull_number: number });
    expect([data.mergeable, data.mergeable_state]).toEqual([false, "dirty"]);
    expect(await status(octokit.rest.pulls.merge({ owner, repo, pull_number: number }))).toBe(405);
  });
});

test("compare names the merge base and counts both ways", async () => {
  const number = await world.github.open({ repository: name, by: "ana", changes: { cmp: "1" } });
  const mergeBase = await world.store.resolve(name, "main");
  const head = await world.github.push(name, number, { cmp: "2" });
  const base = await world.github.pushToBranch(name, "main", { elsewhere: "1" });
  const { data } = await octokit.rest.repos.compareCommitsWithBasehead({ owner, repo, basehead: `main...${head}` });
  expect(data).toMatchObject({ status: "diverged", ahead_by: 2, behind_by: 1, total_commits: 2 });
  expect(data.merge_base_commit.sha).toBe(mergeBase);
  expect(data.base_commit.sha).toBe(base);
  expect(data.commits.at(-1)?.sha).toBe(head);
  expect(data.files?.map(({ filename }) => filename)).toEqual(["cmp"]);
  const same = await octokit.rest.repos.compareCommitsWithBasehead({ owner, repo, basehead: `${head}...${head}` });
  expect(same.data).toMatchObject({ status: "identical", ahead_by: 0, behind_by: 0 });
  const nothing = octokit.rest.repos.compareCommitsWithBasehead({ owner, repo, basehead: "main...nowhere" });
  expect(await status(nothing)).toBe(404);
});

test.each([
  { login: "writer", level: "write", permission: "write" },
  { login: "boss", level: "admin", permission: "admin" },
  { login: "stranger", level: undefined, permission: "read" },
  { login: "banned", level: "none", permission: "read" },
] as const)("$login has the permission $permission on a public repository", async ({ login, level, permission }) => {
  if (level !== undefined) world.github.setAccess(name, login, level);
  const { data } = await octokit.rest.repos.getCollaboratorPermissionLevel({ owner, repo, username: login });
  expect(data.permission).toBe(permission);
  expect(data.user?.id).toBe((await octokit.rest.users.getByUsername({ username: login })).data.id);
});

describe("comments", () => {
  test("are the bot's own, are edited in place and listed by page", async () => {
    const number = await world.github.open({ repository: name, by: "ana", changes: { comments: "1" } });
    const first = await octokit.rest.issues.createComment({ owner, repo, issue_number: number, body: "first" });
    expect(first.data).toMatchObject({
      body: "first",
      user: { login: "svc-app[bot]", type: "Bot" },
      performed_via_github_app: { id: 4242 },
    });
    for (const n of [2, 3, 4, 5]) await world.github.comment(name, number, "bo", `comment ${n}`);
    await octokit.rest.issues.updateComment({ owner, repo, comment_id: first.data.id, body: "changed" });
    const page = await octokit.rest.issues.listComments({ owner, repo, issue_number: number, per_page: 2, page: 2 });
    expect(page.data.map(({ body }) => body)).toEqual(["comment 3", "comment 4"]);
    expect(page.headers.link).toMatch(/page=1>; rel="prev".*page=3>; rel="next".*page=3>; rel="last"/);
    const all = await octokit.paginate(octokit.rest.issues.listComments, {
      owner,
      repo,
      issue_number: number,
      per_page: 2,
    });
    expect(all.map(({ body }) => body)).toEqual(["changed", "comment 2", "comment 3", "comment 4", "comment 5"]);
    expect(world.github.changeRequest(name, number).comments.map(({ edited }) => edited)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });

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
  async function opened(file: string, draft = false): Promise<number> {
    return world.github.open({ repository: name, by: "ana", changes: { [file]: "1\n" }, draft });
  }

  test("a guard that names another head: 409, and nothing is merged", async () => {
    const number = await opened("guard");
    const old = world.github.changeRequest(name, number).headRevision;
    await world.github.pushSilently(name, number, { guard: "2\n" });
    expect(await status(octokit.rest.pulls.merge({ owner, repo, pull_number: number, sha: old }))).toBe(409);
    expect(world.github.changeRequest(name, number).state).toBe("open");
  });

  test("two merges at once merge once", async () => {
    const number = await opened("twice");
    const tries = await Promise.all(
      [1, 2].map(() => status(octokit.rest.pulls.merge({ owner, repo, pull_number: number }))),
    );
    expect(tries.sort()).toEqual([405, "answered"]);
  });

  test("squash puts one commit on the base branch; the branch is deleted once", async () => {
    const number = await opened("squashed");
    const sha = world.github.changeRequest(name, number).headRevision;
    const before = (await world.store.resolve(name, "main")) ?? "";
    const { data } = await octokit.rest.pulls.merge({ owner, repo, pull_number: number, sha, merge_method: "squash" });
    expect(data).toMatchObject({ merged: true, sha: await world.store.resolve(name, "main") });
    expect(await world.store.countCommits(name, before, data.sha)).toBe(1);
    expect(world.github.changeRequest(name, number)).toMatchObject({ state: "merged", mergedBy: "svc-app[bot]" });
    const pull = await octokit.rest.pulls.get({ owner, repo, pull_number: number });
    expect(pull.data).toMatchObject({ state: "closed", merged: true, merge_commit_sha: data.sha });
    const ref = `heads/change-${number}`;
    expect(await world.github.branches(name)).toContain(`change-${number}`);
    expect(await status(octokit.rest.git.deleteRef({ owner, repo, ref }))).toBe("answered");
    expect(await world.github.branches(name)).not.toContain(`change-${number}`);
    const again = octokit.rest.git.deleteRef({ owner, repo, ref });
    await expect(again).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining("Reference does not exist"),
    });
  });

  test.each([
    { why: "a draft", prepare: () => opened("draft", true), answer: 405 },
    {
      why: "a way of merging that the repository does not allow",
      prepare: async () => {
        const number = await opened("method");
        world.github.allowMergeMethods(name, "squash");
        return number;
      },
      answer: 405,
    },
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
    world.github.allowMergeMethods(name, "merge", "squash", "rebase");
    world.github.requireReviews(name, 0);
    expect(world.github.changeRequest(name, number).state).toBe("open");
  });
});

test("a branch says whether it is protected; a protected one is not deleted", async () => {
  await world.github.pushToBranch(name, "release/1.0", { r: "1" });
  world.github.protectBranch(name, "release/1.0");
  const { data } = await octokit.rest.repos.getBranch({ owner, repo, branch: "release/1.0" });
  expect(data).toMatchObject({
    name: "release/1.0",
    protected: true,
    commit: { sha: await world.store.resolve(name, "release/1.0") },
  });
  expect((await octokit.rest.repos.getBranch({ owner, repo, branch: "main" })).data.protected).toBe(false);
  expect(await status(octokit.rest.git.deleteRef({ owner, repo, ref: "heads/release/1.0" }))).toBe(422);
  expect(await status(octokit.rest.repos.getBranch({ owner, repo, branch: "no" }))).toBe(404);
});

test("all of this was as GitHub describes it", () => {
  expect(world.github.violations).toEqual([]);
});
