import { afterEach, beforeEach, expect, test } from "@jest/globals";
import express from "express";
import { z } from "zod";
import { GitStore } from "../../../sandbox/git/git-store.js";
import { ApiFailure, serve, type Answer } from "../../../sandbox/gitlab/api/call.js";
import { Instance } from "../../../sandbox/gitlab/model/instance.js";
import { listenOnLoopback, type LoopbackServer } from "../../../sandbox/loopback.js";

let store: GitStore;
let instance: Instance;
let server: LoopbackServer;
let answer: () => Answer;
beforeEach(async () => {
  store = await GitStore.create();
  instance = new Instance({ store, token: "token" });
  const schema = z.strictObject({ id: z.int() });
  const endpoint = { method: "get", path: "/thing", query: {}, body: {}, answer: schema } as const;
  server = await listenOnLoopback(
    express().get(
      "/thing",
      serve(instance, endpoint, () => answer()),
    ),
  );
});
afterEach(async () => {
  await server.stop();
  await store.remove();
});

test.each<[string, () => Answer, number]>([
  ["as described", () => ({ body: { id: 1 } }), 0],
  ["with a member too many", () => ({ body: { id: 1, name: "x" } }), 1],
  ["with a member too few", () => ({ body: {} }), 1],
  ["of the wrong kind", () => ({ body: { id: "1" } }), 1],
])("an answer %s", async (_, given, violations) => {
  answer = given;
  const response = await fetch(`${server.url}/thing`);
  expect(response.status).toBe(200);
  expect(instance.violations).toHaveLength(violations);
});

test("a refusal is no violation", async () => {
  answer = () => {
    throw new ApiFailure(404, "404 Not found");
  };
  const response = await fetch(`${server.url}/thing`);
  expect([response.status, await response.json()]).toEqual([404, { message: "404 Not found" }]);
  expect(instance.violations).toEqual([]);
});
