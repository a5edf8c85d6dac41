import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { projectPath, refusal, repository, signingToken, startWorld, type World } from "./world.js";

const URL = "https://svc.example.org/webhook/hostb";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());

test("a webhook sends pushes alone unless told otherwise, and shows none of its secrets", async () => {
  const hook = await world.client.ProjectHooks.add(repository, URL, { noteEvents: true, token: "a secret of mine" });
  expect(hook).toMatchObject({ url: URL, push_events: true, note_events: true, merge_requests_events: false });
  expect(hook).toMatchObject({ token_present: true, signing_token_present: false, project_id: 42 });
  expect(JSON.stringify(hook)).not.toContain("a secret of mine");
  expect(await world.client.ProjectHooks.all(repository)).toMatchObject([{ id: hook.id }]);
  expect(world.forge.violations).toEqual([]);
});

test("another address takes the secrets away, and an old GitLab has no signing token", async () => {
  const path = `${projectPath}/hooks`;
  const created = await world.call("POST", path, { body: { url: URL, signing_token: signingToken } });
  expect(created).toMatchObject({ status: 201, body: { signing_token_present: true } });
  const { id } = created.body as { readonly id: number };
  const moved = await world.call("PUT", `${path}/${id}`, { body: { url: `${URL}/` } });
  expect(moved).toMatchObject({ status: 200, body: { id, signing_token_present: false } });
  world.forge.webhooks.setSigning(false);
  const old = await world.call("PUT", `${path}/${id}`, { body: { url: URL, signing_token: signingToken } });
  expect(old.body).not.toHaveProperty("signing_token_present");
  world.forge.webhooks.setSigning(true);
  expect(world.forge.violations).toEqual([]);
});

test.each([
  ["no address", { url: "ftp:svc" }],
  ["a signing token of another length", { url: URL, signing_token: "whsec_c2hvcnQ=" }],
])("%s is refused", async (_, body) => {
  expect(await world.call("POST", `${projectPath}/hooks`, { body })).toMatchObject({ status: 422 });
});

test("a project's webhook needs a Maintainer, and a group's Premium", async () => {
  world.forge.webhooks.setGroupLevel("acme", 50);
  expect(await refusal(world.client.GroupHooks.all("acme"))).toMatchObject({ status: 404 });
  world.forge.webhooks.setProjectLevel(repository, 30);
  expect(await refusal(world.client.ProjectHooks.all(repository))).toMatchObject({ status: 403 });
});
