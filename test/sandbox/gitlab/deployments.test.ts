import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { refusal, repository, startWorld, type World } from "./world.js";

let world: World;
let sha: string;
beforeAll(async () => {
  world = await startWorld();
  const number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
  sha = world.forge.changeRequest(repository, number).headRevision;
});
afterAll(() => world.stop());

const create = (environment: string, ref = "main", status: "running" | "success" = "running") =>
  world.client.Deployments.create(repository, environment, sha, ref, false, { status });

test("a deployment makes its environment, ends once, and is listed", async () => {
  const { id, environment } = await create("prod/web");
  expect(environment).toMatchObject({ name: "prod/web", external_url: null });
  await world.client.Environments.edit(repository, environment.id, { externalUrl: "https://argocd.example.com/" });
  await world.client.Deployments.edit(repository, id, "success");
  expect(await refusal(world.client.Deployments.edit(repository, id, "success"))).toMatchObject({ status: 400 });
  await create("prod/web");
  const all = await world.client.Deployments.all(repository, { environment: "prod/web", orderBy: "id", sort: "desc" });
  expect(all).toMatchObject([
    { status: "running", environment: { external_url: "https://argocd.example.com/" } },
    { id, status: "success", user: { id: 900 } },
  ]);
  expect(world.forge.violations).toEqual([]);
});

test.each(["/web", "web/", "a:b", "ä", "x".repeat(256)])("the name %s is refused", async (name) => {
  expect(await refusal(create(name))).toMatchObject({ status: 400 });
});

test("an environment that was deployed to from a branch stops with the branch", async () => {
  await create("stays", "main", "success");
  await create("stops", "change-1", "success");
  await world.client.Branches.remove(repository, "change-1");
  expect(world.forge.deployments.environments(repository)).toMatchObject({ stays: "available", stops: "stopped" });
});

test("without the role Developer nothing is deployed", async () => {
  world.forge.deployments.forbid(repository);
  expect(await refusal(create("forbidden"))).toMatchObject({ status: 403 });
});
