import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chown, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { appKeys } from "../sandbox/world.js";
import { hashOfToken } from "../src/config/server/server-parts.js";
import { mainProgram } from "./compiled/compiled.js";
import { keepLog, registerSecret } from "./secrets-in-logs/kept-logs.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const running = new Set<ChildProcess>();
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-main-"));
});

afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  running.clear();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The program as a person starts it, with nothing in its environment but what is given. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [...mainProgram(), ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let output = "";
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
      for (const listener of listeners) listener();
    });
  }
  const ended = once(child, "close").then(([code]: unknown[]) => {
    keepLog(output);
    return { code, output };
  });
  return {
    child,
    ended,
    /** The first match in what the program prints. */
    async printed(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        const found = pattern.exec(output);
        if (found !== null) return found;
        const more = new Promise<"more">((resolve) => {
          listeners.add(() => resolve("more"));
        });
        if ((await Promise.race([more, ended])) !== "more") throw new Error(`the program ended: ${output}`);
      }
    },
  };
}

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const VALID = `
server: { host: 127.0.0.1, port: 0 }
deployer: { server_url: "http://127.0.0.1:9", token: "\${ARGOCD_TOKEN}" }
hostb: { url: "http://127.0.0.1:9", token: glpat-of-the-program, webhook_secret: hook-of-the-program }
`;

test("a start removes the clones that a killed process has left, and none of one that runs", async () => {
  const path = await file("without-folder.yaml", VALID);
  const folderOfAll = join(folder, "tmp");
  await mkdir(folderOfAll);
  const begin = async () => {
    const program = start(["-c", path], { ARGOCD_TOKEN: "token", TMPDIR: folderOfAll });
    await program.printed(/"listening"/);
    return program;
  };
  const clones = async () => (await readdir(folderOfAll)).filter((name) => name.startsWith("svc-"));
  const killed = await begin();
  const [left] = await clones();
  expect(left).toBeDefined();
  killed.child.kill("SIGKILL");
  await killed.ended;
  expect(await clones()).toEqual([left]);
  await begin();
  const [first, ...others] = await clones();
  expect([first === left, others]).toEqual([false, []]);
  await begin();
  expect(await clones()).toEqual(expect.arrayContaining([first]));
  expect(await clones()).toHaveLength(2);
});

test("a start leaves the clones of other containers, and what other users give the name of clones", async () => {
  const path = await file("in-a-shared-folder.yaml", VALID);
  const shared = join(folder, "shared-tmp");
  await mkdir(join(shared, "elsewhere"), { recursive: true });
  const { pid, exited } = endedProcess();
  await exited;
  const nameOn = (host: string, end: string) => `svc-clones-${pid}-1-${host}-${end}`;
  const planted = [nameOn("another-container", "aaaaaa"), nameOn(hostname(), "linked"), `svc-clones-${pid}-1-noHost`];
  for (const name of planted) {
    if (name.endsWith("linked")) await symlink(join(shared, "elsewhere"), join(shared, name));
    else await mkdir(join(shared, name));
  }
  await mkdir(join(shared, nameOn(hostname(), "gone66")));
  if (process.getuid?.() === 0) {
    const others = nameOn(hostname(), "others");
    await mkdir(join(shared, others));
    await chown(join(shared, others), 12_345, 12_345);
    planted.push(others);
  }
  await start(["-c", path], { ARGOCD_TOKEN: "token", TMPDIR: shared }).printed(/"listening"/);
  const found = (await readdir(shared)).filter((name) => name.startsWith(`svc-clones-${pid}-1-`));
  expect(found.sort()).toEqual(planted.sort());
});

/** A process that has ended, so that nobody has its id. */
function endedProcess() {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  return { pid: child.pid, exited: once(child, "close") };
}

describe("svc check", () => {
  test("says that files are valid and ends with 0", async () => {
    const server = await file("svc.yaml", VALID);
    const repository = await file(".svc.yaml", "require_approval: true\n");
    const { code, output } = await start(["check", server, repository], { ARGOCD_TOKEN: "x" }).ended;
    expect(
      output
        .trim()
        .split("\n")
        .map((line) => line.replace(/^.*\//, "")),
    ).toEqual(["svc.yaml: valid", ".svc.yaml: valid"]);
    expect(code).toBe(0);
  });

  test("lists every mistake with file, line and key, and ends with 1", async () => {
    const server = await file("broken.yaml", "deployer:\n  server_url: ftp://x\n  tokn: y\nhosta: {}\n");
    const { code, output } = await start(["check", server]).ended;
    expect(output).toMatch(/broken\.yaml:2:\d+ deployer\.server_url/);
    expect(output).toMatch(/broken\.yaml:3:\d+ deployer\.tokn.*token/);
    expect(output).toMatch(/hosta\.app_id/);
    expect(code).toBe(1);
  });

  test("warns of a login at which nobody can log in", async () => {
    const server = await file("login.yaml", `${VALID}auth: { enabled: true, session_secret: "${"0".repeat(64)}" }\n`);
    const { code, output } = await start(["check", server], { ARGOCD_TOKEN: "x" }).ended;
    expect(output).toContain("warning: auth.enabled: no provider is configured");
    expect(code).toBe(0);
  });
});

describe("the other commands", () => {
  test("a token is printed once, with the hash that svc.yaml takes", async () => {
    const { code, output } = await start(["token"]).ended;
    const [, token = "", hash = ""] = /^token: (\S+)\nhash: {2}(\S+)\n/.exec(output) ?? [];
    expect([code, token.startsWith("svc_api_"), hash]).toEqual([0, true, hashOfToken(token)]);
  });

  test("setup shows a code and serves its pages until it is ended, and says what is missing", async () => {
    const secrets = join(folder, "secrets");
    const argv = ["--url", "https://svc.example.org", "--secrets", secrets];
    const { child, ended, printed } = start(["setup", "github", ...argv]);
    const [, url = ""] = await printed(/Open (\S+) [^]*^ {4}\S{4}-\S{4}$/m);
    expect(await (await fetch(url)).text()).toContain("Register the GitHub App");
    child.kill("SIGINT");
    await ended;
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    const without = await start(["setup", "gitlab", "--project", "acme/shop", ...argv]).ended;
    expect(without).toMatchObject({ code: 1, output: expect.stringContaining("there is no token") });
  });

  test("without Redis nobody else than the service can give a role", async () => {
    const server = await file("svc.yaml", VALID);
    const { code, output } = await start(["users", "set-role", "-c", server, "oidc:7", "admin"], { ARGOCD_TOKEN: "x" })
      .ended;
    expect(output).toContain("names no Redis");
    expect(code).toBe(1);
  });
});

describe("the program", () => {
  test.each([
    [["--help"], 0, "Usage:"],
    [["--version"], 0, "svc 0."],
    [["setup", "github", "--help"], 0, "Usage: svc setup github --url URL"],
    [
      ["deploy"],
      2,
      "svc: unknown command `deploy`; there are `check`, `setup`, `token` and `users set-role`. `svc --help` says",
    ],
    [["-c", "/does/not/exist.yaml"], 1, "there is no such file"],
  ])("%j ends with %i", async (args, expected, text) => {
    const { code, output } = await start(args).ended;
    expect(output).toContain(text);
    expect(code).toBe(expected);
  });

  test("does not start with an empty webhook secret", async () => {
    const key = JSON.stringify(appKeys().privateKey);
    const server = await file("empty.yaml", `${VALID}hosta: { app_id: 1, private_key: ${key}, webhook_secret: "" }\n`);
    const { code, output } = await start(["-c", server], { ARGOCD_TOKEN: "x" }).ended;
    expect(output).toContain("hosta.webhook_secret");
    expect(code).toBe(1);
  });

  test("does not start while a variable is unset, and names the key", async () => {
    const server = await file("svc.yaml", VALID);
    const { code, output } = await start(["-c", server]).ended;
    expect(output).toMatch(/deployer\.token.*ARGOCD_TOKEN/);
    expect(code).toBe(1);
  });

  test("ends when its port is in use, and names the setting", async () => {
    const other = createServer();
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const server = await file("svc.yaml", VALID.replace("port: 0", `port: ${port}`));
    const { code, output } = await start(["-c", server], { ARGOCD_TOKEN: "x" }).ended;
    other.close();
    expect(output).toContain(`cannot start: port ${port} is in use`);
    expect(output).toContain("set server.port to a free port");
    expect(code).toBe(1);
  });

  test.each([{ before: [] }, { before: ["check", "--online"] }])(
    "ends when there is no room for clones, and names the setting: %j",
    async ({ before }) => {
      const server = await file("svc.yaml", VALID);
      const full = join(folder, "no-such-folder");
      const args = before.length === 0 ? ["-c", server] : [...before, server];
      const { code, output } = await start(args, { ARGOCD_TOKEN: "x", TMPDIR: full }).ended;
      expect(output).toContain(`cannot start: no folder for clones can be created in ${full} (ENOENT)`);
      expect(output).toContain("set server.data_dir to a folder");
      expect(output).not.toContain("    at ");
      expect(code).toBe(1);
    },
  );

  test.each([{ before: [] }, { before: ["check", "--online"] }])(
    "ends when svc cannot write to server.data_dir, and says so: %j",
    async ({ before }) => {
      const folderBelowFile = join(await file("no-folder", ""), "clones");
      const server = await file("svc.yaml", VALID.replace("port: 0", `port: 0, data_dir: ${folderBelowFile}`));
      const args = before.length === 0 ? ["-c", server] : [...before, server];
      const { code, output } = await start(args, { ARGOCD_TOKEN: "x" }).ended;
      expect(output).toContain(`cannot start: no folder for clones can be created in ${folderBelowFile} (ENOTDIR)`);
      expect(output).toContain("set server.data_dir to a folder");
      expect(code).toBe(1);
    },
  );

  test("a check leaves it to the service to create server.data_dir, in which another user could not write", async () => {
    const missing = join(folder, "not-yet", "clones");
    const server = await file("svc.yaml", VALID.replace("port: 0", `port: 0, data_dir: ${missing}`));
    const { output } = await start(["check", "--online", server], { ARGOCD_TOKEN: "x" }).ended;
    expect(output).not.toContain("no folder for clones");
    expect(await readdir(folder)).not.toContain("not-yet");
  });

  test("reaches GitHub, GitLab, Argo CD and the login provider through the proxy of the environment", async () => {
    const asked = new Set<string>();
    const proxy = createServer();
    proxy.on("connect", (request, socket) => {
      asked.add(request.url ?? "");
      // The program may end the connection first.
      socket.on("error", () => socket.destroy());
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const { port } = proxy.address() as AddressInfo;
    const key = JSON.stringify(appKeys().privateKey);
    const server = await file(
      "proxied.yaml",
      `server: { host: 127.0.0.1, port: 0, base_url: "http://127.0.0.1" }
argocd: { server_url: "https://argocd.invalid", token: t }
github: { app_id: 1, private_key: ${key}, webhook_secret: hook-of-the-program, api_url: "https://github.invalid/api/v3", web_url: "https://github.invalid" }
gitlab: { url: "http://gitlab.invalid", token: t, webhook_secret: hook-of-the-program }
auth:
  enabled: true
  session_secret: "${"0".repeat(64)}"
  cookie_secure: false
  oidc: { name: Company, issuer_url: "https://id.invalid", client_id: i, client_secret: s, allowed_domains: [a.org] }
`,
    );
    const proxies = { HTTPS_PROXY: `127.0.0.1:${port}`, HTTP_PROXY: `http://127.0.0.1:${port}` };
    const program = start(["-c", server], proxies);
    const [, url = ""] = await program.printed(/"url":"(http:[^"]+)","version"/);
    for (const system of ["Argo CD", "GitLab", "GitHub"]) {
      await program.printed(new RegExp(`not usable at start: ${system}`));
    }
    await fetch(`${url}/auth/oidc/login`, { redirect: "manual" });
    program.child.kill("SIGTERM");
    const { output } = await program.ended;
    proxy.close();
    expect([...asked].sort()).toEqual([
      "argocd.invalid:443",
      "github.invalid:443",
      "gitlab.invalid:80",
      "id.invalid:443",
    ]);
    expect(output).toContain("except to the hosts in NO_PROXY");
  });

  test("starts and answers although GitLab and Argo CD are away, says what is missing, and ends by SIGTERM", async () => {
    const server = await file("svc.yaml", VALID);
    const more = await file("more.yaml", "server: { log_level: debug }\n");
    const secrets = ["secret-token-value", "glpat-of-the-program", "hook-of-the-program"];
    for (const secret of secrets) registerSecret("configuration of the program", secret);
    const program = start(["-c", server, "-c", more], { ARGOCD_TOKEN: "secret-token-value" });
    const [, url = ""] = await program.printed(/"url":"(http:[^"]+)","version"/);
    const health = await fetch(`${url}/health`);
    expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    const page = await (await fetch(url)).text();
    expect(page).toContain("No application is locked.");
    await program.printed(/not usable at start: Argo CD/);
    await program.printed(/not usable at start: GitLab/);
    program.child.kill("SIGTERM");
    const { code, output } = await program.ended;
    expect(code).toBe(0);
    expect(output).toContain("argocd.server_url");
    expect(output).toContain("gitlab.token");
    for (const secret of secrets) expect(output).not.toContain(secret);
  });
});
