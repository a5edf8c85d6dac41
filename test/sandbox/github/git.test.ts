import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connected } from "./connected.js";

const run = promisify(execFile);
const name = "acme/deploy";
let world: Awaited<ReturnType<typeof connected>>;
let folder: string;
let token: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "github-clone-"));
  await run("git", ["init", "--quiet", "--bare", "."], { cwd: folder });
  world = await connected();
  await world.github.createRepository(name, { "a.yaml": "one\n" }, { private: true });
  await world.github.createRepository("acme/public", { "a.yaml": "one\n" });
  const app = await world.probot.auth();
  const { data } = await app.rest.apps.getRepoInstallation({ owner: "acme", repo: "deploy" });
  const created = await app.rest.apps.createInstallationAccessToken({
    installation_id: data.id,
    repositories: ["deploy"],
    permissions: { contents: "read" },
  });
  token = created.data.token;
});
afterAll(async () => {
  await world.stop();
  await rm(folder, { recursive: true });
});

function fetchRef(repository: string, ref: string, password?: string): Promise<unknown> {
  const basic = Buffer.from(`x-access-token:${password ?? ""}`).toString("base64");
  const credentials = password === undefined ? [] : ["-c", `http.extraHeader=Authorization: Basic ${basic}`];
  const args = ["fetch", "--quiet", "--depth=1", "--filter=blob:none", world.github.cloneUrl(repository), ref];
  return run("git", [...credentials, ...args], { cwd: folder, env: { ...process.env, GIT_TERMINAL_PROMPT: "0" } });
}

test("the head of a fork's pull request is fetched from the target repository without its files", async () => {
  const number = await world.github.open({ repository: name, by: "olga", changes: { "a.yaml": "2\n" }, fork: true });
  await fetchRef(name, `refs/pull/${number}/head`, token);
  const { stdout } = await run("git", ["rev-parse", "FETCH_HEAD"], { cwd: folder });
  expect(stdout.trim()).toBe(world.github.changeRequest(name, number).headRevision);
  const objects = await run("git", ["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"], { cwd: folder });
  expect(new Set(objects.stdout.trim().split("\n"))).toEqual(new Set(["commit", "tree"]));
});

test.each([
  { what: "a private repository without a token", repository: name, password: undefined },
  { what: "a private repository with a wrong token", repository: name, password: "ghs_wrong" },
  { what: "a public repository with a wrong token", repository: "acme/public", password: "ghs_wrong" },
])("$what is refused", async ({ repository, password }) => {
  await expect(fetchRef(repository, "refs/heads/main", password)).rejects.toMatchObject({
    stderr: expect.stringMatching(/Authentication failed|could not read Username/),
  });
});

test("a public repository is read by anybody", async () => {
  await fetchRef("acme/public", "refs/heads/main");
});
