import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { gitEnvironment } from "../../../sandbox/git/run-git.js";
import { repository, startWorld, token, type World } from "./world.js";

const run = promisify(execFile);
let world: World;
let folder: string;
beforeEach(async () => {
  world = await startWorld();
  folder = await mkdtemp(join(tmpdir(), "sandbox-gitlab-"));
  await run("git", ["init", "--quiet", "--bare", folder], { env: gitEnvironment() });
});
afterEach(async () => {
  await world.stop();
  await rm(folder, { recursive: true, force: true });
});

async function fetchHead(number: number, password: string, path = repository): Promise<string> {
  const authorization = `Authorization: Basic ${Buffer.from(`anybody:${password}`).toString("base64")}`;
  const url = `${world.forge.url}/${path}.git`;
  const ref = `refs/merge-requests/${number}/head`;
  const args = ["-C", folder, "-c", `http.extraHeader=${authorization}`, "fetch", "--quiet", url, `${ref}:refs/head`];
  await run("git", args, { env: gitEnvironment() });
  const { stdout } = await run("git", ["-C", folder, "show", "refs/head:apps/web.yaml"], { env: gitEnvironment() });
  return stdout;
}

test("the head of a merge request is fetched from the target project, after each push", async () => {
  const number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
  expect(await fetchHead(number, token)).toBe("replicas: 2\n");
  await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" });
  expect(await fetchHead(number, token)).toBe("replicas: 3\n");
});

test("so is the head of a fork, while the fork itself stays closed", async () => {
  const request = { repository, by: "olga", fork: true, changes: { "apps/web.yaml": "replicas: 7\n" } };
  const number = await world.forge.open(request);
  expect(await fetchHead(number, token)).toBe("replicas: 7\n");
  await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 8\n" });
  expect(await fetchHead(number, token)).toBe("replicas: 8\n");
  expect(await world.forge.open({ ...request, changes: { "apps/api.yaml": "replicas: 4\n" } })).toBe(2);
  await expect(fetchHead(number, token, "olga/gitops")).rejects.toThrow();
});

test("another password, or none, is turned away", async () => {
  const number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
  await expect(fetchHead(number, "glpat-wrong")).rejects.toThrow();
  const bare = await fetch(`${world.forge.cloneUrl(repository)}/info/refs?service=git-upload-pack`);
  expect(bare.status).toBe(401);
});

test("a repository that is not there is 404", async () => {
  const answer = await fetch(`${world.forge.url}/acme/none.git/info/refs?service=git-upload-pack`);
  expect(answer.status).toBe(404);
});
