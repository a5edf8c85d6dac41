import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import express from "express";
import { GitStore } from "../../sandbox/git/git-store.js";
import { smartHttp } from "../../sandbox/git/smart-http.js";
import { listenOnLoopback, type LoopbackServer } from "../../sandbox/loopback.js";

const run = promisify(execFile);
const secret = `Basic ${Buffer.from("x-access-token:t0ken").toString("base64")}`;
let store: GitStore;
let server: LoopbackServer;
let folder: string;
let head: string;
const seen: { url: string; encoding: string | undefined; protocol: unknown }[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "clone-"));
  store = await GitStore.create();
  await store.createRepository("acme/deploy", { "a.yaml": "one\n", "b.yaml": "two\n" });
  await run("git", ["init", "--quiet", "--bare", "."], { cwd: folder });
  head = await store.commit(
    "acme/deploy",
    "topic",
    { "a.yaml": "ONE\n" },
    { from: await store.resolve("acme/deploy", "main") },
  );
  await store.setRef("acme/deploy", "refs/pull/1/head", head);
  const app = express();
  app.use((request, _response, next) => {
    seen.push({
      url: request.url,
      encoding: request.headers["content-encoding"],
      protocol: request.headers["git-protocol"],
    });
    next();
  });
  app.use(
    smartHttp(
      store,
      (_name, header) => header === secret,
      (path) => /^\/(.+)\.git$/.exec(path)?.[1],
    ),
  );
  app.use((_request, response) => void response.status(418).send("not git"));
  server = await listenOnLoopback(app);
});
afterAll(async () => {
  await server.stop();
  await store.remove();
  await rm(folder, { recursive: true });
});

function fetchInto(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const header = `http.extraHeader=Authorization: ${secret}`;
  return run("git", ["-c", header, "fetch", "--no-tags", ...args], { cwd: folder });
}

test("a partial fetch of a pull request's head brings its trees and no file", async () => {
  const { stderr } = await fetchInto(
    "--depth=1",
    "--filter=blob:none",
    `${server.url}/acme/deploy.git`,
    "refs/pull/1/head:refs/heads/pr",
  );
  expect(stderr).not.toMatch(/filtering not recognized/);
  expect((await run("git", ["rev-parse", "pr"], { cwd: folder })).stdout.trim()).toBe(head);
  const { stdout } = await run("git", ["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"], {
    cwd: folder,
  });
  expect(stdout.trim().split("\n").sort()).toEqual(["commit", "tree"]);
  expect(seen.some(({ protocol }) => protocol === "version=2")).toBe(true);
});

test("a packed request body is understood", async () => {
  // git packs request bodies of more than 1,024 bytes: many wants and haves make one.
  const ids: string[] = [];
  for (let n = 0; n < 40; n += 1) ids.push(await store.commit("acme/deploy", `many-${n}`, { n: `${n}` }));
  await fetchInto(`${server.url}/acme/deploy.git`, "refs/heads/many-*:refs/heads/many-*");
  expect(seen.some(({ encoding }) => encoding === "gzip")).toBe(true);
  expect((await run("git", ["rev-parse", "many-39"], { cwd: folder })).stdout.trim()).toBe(ids[39]);
});

test.each([
  {
    name: "no credentials",
    path: "/acme/deploy.git/info/refs?service=git-upload-pack",
    header: undefined,
    status: 401,
  },
  { name: "wrong ones", path: "/acme/deploy.git/info/refs?service=git-upload-pack", header: "Basic eDp5", status: 401 },
  { name: "unknown repository", path: "/acme/no.git/info/refs?service=git-upload-pack", header: secret, status: 404 },
  { name: "a push", path: "/acme/deploy.git/info/refs?service=git-receive-pack", header: secret, status: 403 },
  { name: "the old protocol's files", path: "/acme/deploy.git/HEAD", header: secret, status: 418 },
])("$name: $status", async ({ path, header, status }) => {
  const response = await fetch(server.url + path, { headers: header === undefined ? {} : { authorization: header } });
  await response.text();
  expect(response.status).toBe(status);
  if (status === 401) expect(response.headers.get("www-authenticate")).toMatch(/^Basic realm=/);
});

test("a client that goes before it has sent all that it announced leaves no connection to git behind", async () => {
  const pipes = (): number => process.getActiveResourcesInfo().filter((name) => name === "PipeWrap").length;
  const before = pipes();
  const headers = { authorization: secret, "git-protocol": "version=2", "content-length": 100 };
  const client = request(`${server.url}/acme/deploy.git/git-upload-pack`, { method: "POST", headers });
  client.on("error", () => undefined);
  // git answers what it has got, and ends.
  client.write("0014command=ls-refs\n0000");
  const [answer] = (await once(client, "response")) as [IncomingMessage];
  expect(await text(answer)).toContain(head);
  client.destroy();
  while (pipes() > before) await delay(20);
  expect(pipes()).toBe(before);
});

test("a stopped server cuts connections that are still open", async () => {
  const app = express();
  const asked = new Promise<void>((resolve) => {
    app.use(() => resolve());
  });
  const hanging = await listenOnLoopback(app);
  const answer = fetch(hanging.url).then(
    () => "answered",
    () => "cut",
  );
  await asked;
  await hanging.stop();
  expect(await answer).toBe("cut");
});
