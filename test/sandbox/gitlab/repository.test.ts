import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { projectPath, refusal, repository, startWorld, type World } from "./world.js";

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.stop();
});

describe("the repository", () => {
  test("branches are shown and removed, the protected ones stay", async () => {
    await world.forge.pushToBranch(repository, "team/one", { "notes.md": "r\n" });
    const branch = await world.client.Branches.show(repository, "team/one");
    expect(branch).toMatchObject({ name: "team/one", protected: false, default: false, merged: false });
    expect(await world.client.Branches.show(repository, "main")).toMatchObject({ protected: true, default: true });
    await world.client.Branches.remove(repository, "team/one");
    expect(await world.forge.branches(repository)).toEqual(["main"]);
    expect(await refusal(world.client.Branches.remove(repository, "team/one"))).toEqual({
      status: 404,
      text: "404 Branch Not Found",
    });
    expect(await refusal(world.client.Branches.remove(repository, "main"))).toMatchObject({ status: 400 });
    await world.forge.pushToBranch(repository, "stable", { "notes.md": "s\n" });
    world.forge.protectBranch(repository, "stable");
    expect(await refusal(world.client.Branches.remove(repository, "stable"))).toMatchObject({ status: 400 });
    expect(world.forge.violations).toEqual([]);
  });

  test("a merge base needs two known refs", async () => {
    expect(await refusal(world.client.Repositories.mergeBase(repository, ["main"]))).toMatchObject({ status: 400 });
    expect(await refusal(world.client.Repositories.mergeBase(repository, ["main", "gone"]))).toEqual({
      status: 404,
      text: "Could not find ref: gone",
    });
    const commas = await world.call("GET", `${projectPath}/repository/merge_base?refs=main,main`);
    expect(commas.status).toBe(200);
    expect(world.forge.violations).toEqual([]);
  });
});
