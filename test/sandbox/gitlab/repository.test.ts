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
    expect((await world.client.Branches.all(repository)).map(({ name }) => name)).toEqual(["main", "team/one"]);
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

  test("a comparison has commits and the text of each file's difference", async () => {
    const number = await world.forge.open({
      repository,
      by: "ana",
      changes: { "apps/web.yaml": "replicas: 2\n", "apps/api.yaml": null, 'odd "name"\t.md': "x\n" },
    });
    const head = world.forge.changeRequest(repository, number).headRevision;
    await world.forge.pushToBranch(repository, "main", { "README.md": "hello\n" });
    const compared = await world.client.Repositories.compare(repository, "main", head);
    expect(compared.commits?.map(({ id }) => id)).toEqual([head]);
    const diffs = Object.fromEntries((compared.diffs ?? []).map((diff) => [diff.new_path, diff]));
    expect(Object.keys(diffs).sort()).toEqual(["apps/api.yaml", "apps/web.yaml", 'odd "name"\t.md']);
    expect(diffs["apps/web.yaml"]?.diff).toBe("@@ -1 +1 @@\n-replicas: 1\n+replicas: 2\n");
    expect(diffs["apps/api.yaml"]).toMatchObject({ deleted_file: true, new_file: false });
    expect(diffs['odd "name"\t.md']).toMatchObject({ new_file: true, diff: "@@ -0,0 +1 @@\n+x\n" });
    const same = await world.client.Repositories.compare(repository, "main", "main");
    expect(same).toMatchObject({ compare_same_ref: true, commits: [], diffs: [] });
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
