import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { projectPath, refusal, repository, startWorld, type World } from "./world.js";

let world: World;
let number: number;
beforeEach(async () => {
  world = await startWorld();
  number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
});
afterEach(async () => {
  expect(world.forge.violations).toEqual([]);
  await world.stop();
});

const head = (): string => world.forge.changeRequest(repository, number).headRevision;
const merge = (
  options: { sha?: string; squash?: boolean; shouldRemoveSourceBranch?: boolean } = {},
): Promise<unknown> => world.client.MergeRequests.merge(repository, number, { sha: head(), ...options });

test("merging makes a merge commit by the bot and tells the receiver", async () => {
  const before = head();
  const answer = await merge();
  expect(answer).toMatchObject({ state: "merged", merged_by: { id: 900 }, sha: before, squash_commit_sha: null });
  const tip = await world.store.resolve(repository, "main");
  expect(answer).toMatchObject({ merge_commit_sha: tip });
  expect(await world.client.Repositories.mergeBase(repository, ["main", before])).toMatchObject({ id: before });
  // The author ticked that the source branch shall go, and the request said nothing else.
  expect(await world.forge.branches(repository)).toEqual(["main"]);
  await world.forge.idle();
  const { body } = world.received.at(-1) ?? { body: {} };
  expect(body).toMatchObject({
    object_kind: "merge_request",
    user: { id: 900 },
    object_attributes: { action: "merge", state: "merged", state_id: 3, merge_commit_sha: tip },
  });
});

test("squashing leaves one commit, and the source branch goes if asked", async () => {
  await world.forge.push(repository, number, { "apps/api.yaml": "replicas: 5\n" });
  const before = await world.store.resolve(repository, "main");
  const answer = await merge({ squash: true, shouldRemoveSourceBranch: true });
  const tip = await world.store.resolve(repository, "main");
  expect(answer).toMatchObject({ state: "merged", squash: true, squash_commit_sha: tip });
  const branch = await world.client.Branches.show(repository, "main");
  expect(branch.commit.parent_ids).toEqual([before]);
  expect(await world.forge.branches(repository)).toEqual(["main"]);
});

test("the source branch stays when the request says so", async () => {
  await merge({ shouldRemoveSourceBranch: false });
  expect(await world.forge.branches(repository)).toEqual(["change-1", "main"]);
});

test("a source branch that moved on, or is protected, stays", async () => {
  world.forge.protectBranch(repository, "change-1");
  await merge({ shouldRemoveSourceBranch: true });
  expect(await world.forge.branches(repository)).toContain("change-1");
});

test("a push that comes during the merge is not what was merged", async () => {
  const before = head();
  const resolve = world.store.resolve.bind(world.store);
  let merged: unknown;
  world.store.resolve = async (path, ref) => {
    const tip = await resolve(path, ref);
    if (ref !== "refs/heads/change-1" || tip === before) return tip;
    world.store.resolve = resolve;
    // The push has moved the branch, and what it changes about the merge request is still to come.
    merged = await merge({ sha: before, shouldRemoveSourceBranch: false });
    return tip;
  };
  const pushed = await world.forge.pushToBranch(repository, "change-1", { "apps/web.yaml": "replicas: 3\n" });
  expect(merged).toMatchObject({ state: "merged", sha: before });
  expect(head()).toBe(before);
  expect(await resolve(repository, "refs/heads/change-1")).toBe(pushed);
  expect(await world.client.Repositories.mergeBase(repository, ["main", pushed])).toMatchObject({ id: before });
});

test("the merge of one makes the check of the others start anew", async () => {
  const other = await world.forge.open({ repository, by: "bo", changes: { "apps/web.yaml": "replicas: 3\n" } });
  const status = async (): Promise<string> =>
    (await world.client.MergeRequests.show(repository, other)).detailed_merge_status;
  expect(await status()).toBe("mergeable");
  await merge();
  expect(await status()).toBe("conflict");
});

describe("is refused", () => {
  const notAllowed = { status: 405, text: "405 Method Not Allowed" };
  test.each<[string, () => unknown, { status: number; text: string }]>([
    ["when it is closed", () => world.forge.close(repository, number), notAllowed],
    ["when it is a draft", () => world.forge.markDraft(repository, number, true), notAllowed],
    ["while the check runs", () => world.forge.delayMergeability(repository, number, 3), notAllowed],
    ["when changes are requested", () => world.forge.review(repository, number, "bo", "request-changes"), notAllowed],
    [
      "when it conflicts",
      () => world.forge.pushToBranch(repository, "main", { "apps/web.yaml": "replicas: 9\n" }),
      { status: 422, text: "Branch cannot be merged" },
    ],
    [
      "when the bot may not push to a protected target",
      () => world.forge.setAccess(repository, world.forge.bot.username, "write"),
      { status: 401, text: "401 Unauthorized" },
    ],
  ])("%s", async (_, prepare, expected) => {
    await prepare();
    const tip = await world.store.resolve(repository, "main");
    expect(await refusal(merge())).toEqual(expected);
    expect(await world.store.resolve(repository, "main")).toBe(tip);
    expect(world.forge.changeRequest(repository, number).state).not.toBe("merged");
  });

  test("when the head is another than expected", async () => {
    const stale = head();
    await world.forge.pushSilently(repository, number, { "apps/web.yaml": "replicas: 3\n" });
    expect(await refusal(merge({ sha: stale }))).toEqual({
      status: 409,
      text: `SHA does not match HEAD of source branch: ${head()}`,
    });
    expect(world.forge.changeRequest(repository, number).state).toBe("open");
  });

  test("the second time", async () => {
    const both = await Promise.all([refusal(merge()), refusal(merge())]);
    expect(both.filter((one) => one === undefined)).toHaveLength(1);
    expect(both).toContainEqual(notAllowed);
  });
});

test("a target that is not protected takes the merge of a Developer", async () => {
  await world.forge.pushToBranch(repository, "release", { "notes.md": "r\n" });
  await world.forge.retarget(repository, number, "release");
  world.forge.setAccess(repository, world.forge.bot.username, "write");
  expect(await merge()).toMatchObject({ state: "merged" });
  expect((await world.call("GET", `${projectPath}/merge_requests/1`)).body).toMatchObject({ target_branch: "release" });
});
