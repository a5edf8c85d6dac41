import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { projectPath, refusal, repository, startWorld, type World } from "./world.js";

let world: World;
let number: number;
beforeEach(async () => {
  world = await startWorld({ edition: "premium" });
  number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
});
afterEach(() => world.stop());

describe("award emoji", () => {
  test("are given once; the second time GitLab finds nothing", async () => {
    const note = Number(await world.forge.comment(repository, number, "ana", "svc plan"));
    const award = (name: string) => world.client.MergeRequestNoteAwardEmojis.award(repository, number, note, name);
    expect(await award("eyes")).toMatchObject({ name: "eyes", awardable_id: note, user: { id: 900 } });
    expect(await refusal(award("eyes"))).toMatchObject({
      status: 404,
      text: expect.stringContaining("already been taken") as unknown,
    });
    await award("rocket");
    const all = await world.client.MergeRequestNoteAwardEmojis.all(repository, number, note);
    expect(all.map(({ name }) => name)).toEqual(["eyes", "rocket"]);
    const seen = world.forge.changeRequest(repository, number).comments.find(({ id }) => id === String(note));
    expect(seen?.reactions.map(({ name }) => name)).toEqual(["eyes", "rocket"]);
    expect(await refusal(world.client.MergeRequestNoteAwardEmojis.award(repository, number, 7, "eyes"))).toMatchObject({
      status: 404,
    });
    expect(world.forge.violations).toEqual([]);
  });
});

describe("commit statuses", () => {
  const set = (state: "pending" | "success", more: object) => {
    const sha = world.forge.changeRequest(repository, number).headRevision;
    return world.client.Commits.editStatus(repository, sha, state, { name: "svc/sync", ...more });
  };

  test("stand in the pipeline of the head, and pending twice is refused", async () => {
    expect((await world.client.MergeRequests.show(repository, number)).head_pipeline).toBeNull();
    world.forge.runPipeline(repository, number);
    const { head_pipeline: pipeline, sha } = await world.client.MergeRequests.show(repository, number);
    expect(pipeline).toMatchObject({ sha, ref: "change-1", status: "running" });
    const pipelineId = pipeline?.id ?? 0;
    await set("pending", { pipelineId, ref: "change-1", description: "waits" });
    expect(await refusal(set("pending", { pipelineId }))).toMatchObject({
      status: 400,
      text: expect.stringMatching(/^Cannot transition status via :enqueue from :pending/) as unknown,
    });
    await set("success", { pipelineId });
    await set("success", { pipelineId });
    const all = await world.client.Commits.allStatuses(repository, sha, { name: "svc/sync" });
    expect(all).toMatchObject([{ status: "success", pipeline_id: pipelineId, author: { id: 900 } }]);
    expect(world.forge.statuses(repository, sha).map(({ state }) => state)).toEqual(["pending", "success", "success"]);
    expect(await refusal(set("success", { pipelineId, description: "x".repeat(256) }))).toMatchObject({ status: 400 });
    expect(world.forge.violations).toEqual([]);
  });

  test("without a pipeline would make one: that is a violation", async () => {
    expect(await refusal(set("pending", {}))).toMatchObject({ status: 404 });
    expect(world.forge.violations).toEqual([expect.stringContaining("without pipeline_id")]);
  });

  test("of a state that GitLab does not have are refused", async () => {
    const sha = world.forge.changeRequest(repository, number).headRevision;
    const answer = await world.call("POST", `${projectPath}/statuses/${sha}`, { body: { state: "failure" } });
    expect(answer.status).toBe(400);
    expect(world.forge.violations.join()).toContain("state");
  });
});
