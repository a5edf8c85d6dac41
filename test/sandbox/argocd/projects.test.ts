import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { Json } from "../../../sandbox/argocd/json.js";
import { startConversation, type Conversation } from "./conversation.js";

const PATH = "/api/v1/projects";

let talk: Conversation;
beforeEach(async () => {
  talk = await startConversation();
});
afterEach(() => talk.stop());

function project(name: string, spec: Json = {}): Json {
  return { project: { metadata: { name, labels: { of: "test" } }, spec } };
}

async function said(method: string, path: string, body?: Json): Promise<Json> {
  const { status, answer } = await talk.call(method, path, { body });
  return { status, message: (answer as { readonly message?: string }).message ?? "" };
}

test("a project is created with its labels, listed to those who may see it, and deleted when nothing uses it", async () => {
  const created = await talk.ok("POST", PATH, project("mine", { sourceRepos: ["*"] }));
  expect(created).toMatchObject({ metadata: { name: "mine", labels: { of: "test" } }, spec: { sourceRepos: ["*"] } });
  expect((await talk.ok("GET", PATH)).items).toContainEqual(created);
  expect((await talk.call("GET", PATH, { who: "nobody" })).answer).toMatchObject({ items: [] });
  expect((await talk.call("POST", PATH, { who: "nobody", body: project("other") })).status).toBe(403);

  talk.add("app", "plain", { spec: { project: "mine" } });
  const used = { status: 400, message: "project is referenced by 1 applications" };
  expect(await said("DELETE", `${PATH}/mine`)).toEqual(used);
  talk.argocd.removeApplication("app");
  expect(await talk.ok("DELETE", `${PATH}/mine`)).toEqual({});
  const gone = { status: 404, message: 'appprojects.argoproj.io "mine" not found' };
  expect(await said("DELETE", `${PATH}/mine`)).toEqual(gone);
  const reserved = { status: 400, message: "name 'default' is reserved and cannot be deleted" };
  expect(await said("DELETE", `${PATH}/default`)).toEqual(reserved);
});

test("creating it again returns the existing one only if the spec is the same", async () => {
  const first = await talk.ok("POST", PATH, project("mine", { sourceRepos: ["*"] }));
  expect(await talk.ok("POST", PATH, project("mine", { sourceRepos: ["*"] }))).toEqual(first);
  expect(await said("POST", PATH, project("mine"))).toMatchObject({
    status: 400,
    message: "existing project spec is different, use upsert flag to force update",
  });
});

test("a new project allows nothing that it does not name: neither repositories, nor destinations, nor namespaces", async () => {
  await talk.ok("POST", PATH, project("empty"));
  talk.add("app", "plain", { spec: { project: "empty" } });
  const spec = talk.argocd.application("app")?.spec as Json;
  const { message } = (await said("PUT", "/api/v1/applications/app/spec", spec)) as { readonly message: string };
  expect(message).toContain("is not permitted in project 'empty'");
  expect(message).toContain("do not match any of the allowed destinations in project 'empty'");

  talk.argocd.setManifests("app", "*", [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "fresh" } }]);
  const { status } = await talk.sync("app");
  expect(status.operationState).toMatchObject({
    phase: "Failed",
    message: "one or more synchronization tasks are not valid: resource :Namespace is not permitted in project empty",
  });
  expect(talk.argocd.liveObject("Namespace", "", "fresh")).toBeUndefined();
});
