import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { childEnvironment } from "../../src/config/environment.js";
import { GitFailure, remoteProblem, startGit, type GitProcess } from "../../src/git/git-process.js";
import { compiled } from "../compiled/compiled.js";
import { startGitElsewhere } from "./git-launcher.js";

test("git that cannot be started, since too many files are open, is an error and does not end the process", async () => {
  const module = compiled("git/git-process.js") ?? new URL("../../src/git/git-process.ts", import.meta.url);
  const program = `
    const { closeSync, openSync } = await import("node:fs");
    const { startGit } = await import("${module.href}");
    const open = [];
    try { for (;;) open.push(openSync("/dev/null")); } catch {}
    const git = startGit(["--version"], process.env, { stdout() {}, stderr() {} });
    git.write("x");
    git.end();
    git.signal("SIGTERM");
    const said = await git.ended.catch(({ code }) => code);
    for (const one of open) closeSync(one);
    console.log(said);`;
  const args = [...(compiled("") === undefined ? ["--import", "tsx"] : []), "--input-type=module", "-e", program];
  const output = await new Promise((resolve) => {
    const limited = ["-c", 'ulimit -n 100; exec "$@"', "sh", process.execPath, ...args];
    execFile("sh", limited, { timeout: 30_000 }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
  expect(output).toBe("EMFILE\n");
});

test.each([
  ["ENOENT", "git could not be started. Install git 2.39 or newer"],
  ["EMFILE", "git could not be started (EMFILE)"],
])("why git could not be started: %s", (code, told) => {
  const cause = Object.assign(new Error("spawn git"), { code });
  expect(remoteProblem(new GitFailure("not-started", "", { cause }))).toBe(told);
});

describe.each([
  ["this process", startGit],
  ["the launcher of the tests", startGitElsewhere],
])("git, started from %s", (_, startFrom) => {
  interface Started extends GitProcess {
    readonly stdout: () => string;
    readonly stderr: () => string;
  }

  function start(args: readonly string[], environment: Readonly<Record<string, string>> = childEnvironment()): Started {
    const texts = { stdout: "", stderr: "" };
    const git = startFrom(args, environment, {
      stdout: (chunk) => void (texts.stdout += chunk.toString()),
      stderr: (chunk) => void (texts.stderr += chunk.toString()),
    });
    return { ...git, stdout: () => texts.stdout, stderr: () => texts.stderr };
  }

  test("gets its arguments, its environment and its input, and gives its output and its status", async () => {
    const hash = start(["hash-object", "--stdin"]);
    hash.write("hello\n");
    hash.end();
    expect(await hash.ended).toBe(0);
    expect(hash.stdout()).toBe("ce013625030ba8dba906f756967f9e9ca394464a\n");
    const given = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "given.key", GIT_CONFIG_VALUE_0: "given value" };
    const asked = start(["config", "--get", "given.key"], { ...childEnvironment(), ...given });
    expect(await asked.ended).toBe(0);
    expect(asked.stdout()).toBe("given value\n");
    const wrong = start(["no-such-command"]);
    expect(await wrong.ended).toBe(1);
    expect(wrong.stderr()).toContain("'no-such-command' is not a git command");
  });

  test("gives megabytes whole and in order, of several commands at once", async () => {
    const lines = Array.from({ length: 50_000 }, (_line, index) => `line ${index}, long enough for many chunks`);
    const text = `${lines.join("\n")}\n`;
    const commands = [1, 2].map(() => start(["stripspace"]));
    for (const command of commands) {
      command.write(text);
      command.end();
    }
    expect(await Promise.all(commands.map(({ ended }) => ended))).toEqual([0, 0]);
    expect(commands.map(({ stdout }) => stdout() === text)).toEqual([true, true]);
  });

  test("that is not installed is an error", async () => {
    await expect(start(["--version"], { PATH: "/nowhere" }).ended).rejects.toThrow("ENOENT");
    const version = start(["--version"]);
    expect(await version.ended).toBe(0);
    expect(version.stdout()).toMatch(/^git version 2/);
  });

  test("is ended by a signal", async () => {
    const git = start(["hash-object", "--stdin-paths"]);
    git.write("/dev/null\n");
    while (git.stdout() === "") await new Promise((resolve) => setImmediate(resolve));
    git.signal("SIGTERM");
    expect(await git.ended).toBeNull();
  });
});

describe("git asks the proxy that svc's own requests go through", () => {
  test.each([
    ["HTTP_PROXY", "https", "", "CONNECT git.invalid:443"],
    ["HTTPS_PROXY", "https", "", "CONNECT git.invalid:443"],
    ["HTTP_PROXY", "http", "", "GET http://git.invalid/acme.git/info/refs?service=git-upload-pack"],
    ["HTTP_PROXY", "https", "example.org,.invalid", undefined],
    ["HTTP_PROXY", "https", "example.org,*.invalid", undefined],
    ["HTTP_PROXY", "https", "*", undefined],
  ])("%s alone, for an address with %s, unless NO_PROXY has it: %j", async (variable, scheme, others, expected) => {
    const asked: string[] = [];
    const proxy = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(403).end();
    });
    proxy.on("connect", (request, socket) => {
      asked.push(`CONNECT ${request.url}`);
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const { port } = proxy.address() as AddressInfo;
    const env = childEnvironment({ PATH: process.env.PATH, [variable]: `127.0.0.1:${port}`, NO_PROXY: others });
    const quiet = { stdout: () => undefined, stderr: () => undefined };
    const git = startGit(
      ["ls-remote", `${scheme}://git.invalid/acme.git`],
      { ...env, GIT_TERMINAL_PROMPT: "0" },
      quiet,
    );
    expect(await git.ended).not.toBe(0);
    proxy.close();
    expect(asked).toEqual(expected === undefined ? [] : [expected]);
  });
});
