import { afterEach, describe, expect, test } from "@jest/globals";
import type { InstanceOptions } from "../../../sandbox/gitlab/model/instance.js";
import { repository, startWorld, type World } from "./world.js";

let world: World;
afterEach(async () => {
  expect(world.forge.violations).toEqual([]);
  await world.stop();
});

async function start(options: Partial<InstanceOptions>): Promise<number> {
  world = await startWorld(options);
  return world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
}

const approvals = (number: number): Promise<Record<string, unknown>> =>
  world.client.MergeRequestApprovals.showConfiguration(repository, { mergerequestIId: number });
const status = async (number: number): Promise<string> =>
  (await world.client.MergeRequests.show(repository, number)).detailed_merge_status;
const actions = (): unknown[] =>
  world.received.map(({ body }) => (body.object_attributes as Record<string, unknown>).action);

describe("after a push", () => {
  test.each(["ce", "free"] as const)("%s keeps old approvals, older than the new version", async (edition) => {
    const number = await start({ edition });
    await world.forge.review(repository, number, "bo", "approve");
    await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" });
    const [version] = await world.client.MergeRequests.allDiffVersions(repository, number);
    const { approved_by } = (await approvals(number)) as { approved_by: { approved_at: string }[] };
    expect(approved_by).toHaveLength(1);
    expect(Date.parse(approved_by[0]?.approved_at ?? "")).toBeLessThan(Date.parse(version?.created_at ?? ""));
    await world.forge.review(repository, number, "bo", "approve");
    const again = (await approvals(number)) as { approved_by: { approved_at: string }[] };
    expect(again.approved_by).toHaveLength(1);
    expect(Date.parse(again.approved_by[0]?.approved_at ?? "")).toBeGreaterThan(Date.parse(version?.created_at ?? ""));
    expect(actions()).toEqual(["open", "approved", "update", "unapproved", "approved"]);
  });

  test("Premium shows them a while, counts them no more, and drops them", async () => {
    const number = await start({ edition: "premium", approvalsSyncingReads: 2 });
    await world.forge.review(repository, number, "bo", "approve");
    await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" });
    expect(await approvals(number)).toMatchObject({ approved: false, approved_by: [{ user: { username: "bo" } }] });
    expect(await status(number)).toBe("approvals_syncing");
    expect(actions()).toEqual(["open", "approved", "update"]);
    expect(await status(number)).toBe("approvals_syncing");
    expect(await status(number)).toBe("not_approved");
    expect(await approvals(number)).toMatchObject({ approved: false, approved_by: [], approvals_left: 1 });
    await world.forge.idle();
    expect(world.received.at(-1)?.body).toMatchObject({
      object_attributes: { action: "unapproved", system: true, system_action: "approvals_reset_on_push" },
    });
  });

  test("Premium keeps an approval that comes before the old ones are gone", async () => {
    const number = await start({ edition: "premium" });
    await world.forge.review(repository, number, "bo", "approve");
    await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" });
    await world.forge.review(repository, number, "bo", "approve");
    expect(await status(number)).toBe("mergeable");
    expect(await approvals(number)).toMatchObject({ approved: true, approved_by: [{ user: { username: "bo" } }] });
  });
});

test("asking for changes takes one's approval back and shows until the same person approves", async () => {
  const number = await start({});
  await world.forge.review(repository, number, "bo", "approve");
  await world.forge.review(repository, number, "bo", "request-changes");
  expect(await status(number)).toBe("requested_changes");
  expect(await approvals(number)).toMatchObject({ approved_by: [] });
  await world.forge.review(repository, number, "cy", "approve");
  await world.forge.review(repository, number, "dee", "comment");
  const reviewers = await world.client.MergeRequests.showReviewers(repository, number);
  expect(reviewers).toMatchObject([
    { user: { username: "bo" }, state: "requested_changes" },
    { user: { username: "cy" }, state: "approved" },
    { user: { username: "dee" }, state: "reviewed" },
  ]);
  expect(await status(number)).toBe("requested_changes");
  await world.forge.review(repository, number, "bo", "approve");
  expect(await status(number)).toBe("mergeable");
});

test("whoever is no Developer may not approve", async () => {
  const number = await start({ edition: "ce" });
  world.forge.setAccess(repository, "gus", "read");
  for (const login of ["gus", "stranger"]) {
    await expect(world.forge.review(repository, number, login, "approve")).rejects.toThrow(/401 Unauthorized/);
  }
  expect(await approvals(number)).toMatchObject({ approved: false, approved_by: [] });
});
