import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { startArgoCd } from "../../sandbox/argocd/argocd.js";
import { adapterOperations } from "./adapter-operations.js";
import type { Checked, Violation } from "./check-exchange.js";
import { readSwagger } from "./read-swagger.js";
import { readRecording, recordExchanges, RECORDING_FOLDER } from "./recording.js";
import { reportReplay } from "./replay-report.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-replay-test-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the report", () => {
  const whole = adapterOperations.map((operation): Checked => ({ operation, violations: [] }));
  const violation: Violation = {
    method: "GET",
    path: "/api/v1/applications",
    where: "answer",
    pointer: "/items/0/mood",
    problem: "unknown member",
  };
  const dishonest = (path: string, pointer: string): Checked => ({
    operation: "GET /api/v1/applications",
    violations: [{ ...violation, path, pointer }],
  });

  test("an honest replay that exercises the whole adapter passes", () => {
    const { passed, lines } = reportReplay([...whole, ...whole], { whole: true });
    expect(passed).toBe(true);
    expect(lines).toContain("      2  POST /api/v1/applications/{name}/sync");
    expect(lines.at(-1)).toBe("The contract holds");
  });

  test("an empty replay fails", () => {
    expect(reportReplay([], { whole: false }).passed).toBe(false);
    expect(reportReplay([], { whole: true }).lines.at(-1)).toBe("FAILED: nothing was recorded");
  });

  test("an operation of the adapter that nobody called fails a whole replay and is named in any", () => {
    const part = whole.slice(1);
    expect(reportReplay(part, { whole: true }).passed).toBe(false);
    expect(reportReplay(part, { whole: false }).passed).toBe(true);
    expect(reportReplay(part, { whole: false }).lines).toContain("  not exercised: GET /api/version");
  });

  test("a call that the list of the adapter's does not have is named", () => {
    const other: Checked = { operation: "PATCH /api/v1/applications/{name}", violations: [] };
    const strange = "  exercised, but not listed as the adapter's: PATCH /api/v1/applications/{name}";
    expect(reportReplay([...whole, other], { whole: true }).lines).toContain(strange);
  });

  test("each kind of violation is shown once, with its first example and how often it was", () => {
    const items = [0, 1, 2].map((index) => dishonest(`/api/v1/applications`, `/items/${index}/mood`));
    const { passed, lines } = reportReplay([...whole, ...items, dishonest("/api/v1/applications", "/x")], {
      whole: true,
    });
    expect(passed).toBe(false);
    expect(lines).toContain("2 kinds of violations, each with its first example:");
    expect(lines).toContain("      3  GET /api/v1/applications: answer /items/0/mood: unknown member");
    expect(lines).toContain("      1  GET /api/v1/applications: answer /x: unknown member");
  });
});

describe("the recording", () => {
  const stop = () => {
    process.env[RECORDING_FOLDER] = "";
  };
  beforeEach(stop);
  afterEach(stop);

  test("holds what went over the wire, and no token", async () => {
    const argocd = await startArgoCd({ repositories: () => undefined });
    const token = argocd.addAccount("svc", { permissions: "all" });
    recordExchanges(argocd);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    await fetch(`${argocd.url}/api/version`);
    process.env[RECORDING_FOLDER] = folder;
    recordExchanges(argocd);
    const path = "/api/v1/applications/none/sync";
    await fetch(`${argocd.url}${path}?a=b`, { method: "POST", headers, body: '{"project":"default"}' });
    await argocd.stop();
    const recorded = readRecording(folder);
    expect(recorded).toEqual([
      {
        method: "POST",
        path,
        query: "a=b",
        contentType: "application/json",
        requestBody: '{"project":"default"}',
        status: 404,
        answer: expect.objectContaining({ code: 5 }),
      },
    ]);
    expect(JSON.stringify(recorded)).not.toContain(token);
  });

  test("half a line is no recording", () => {
    const broken = mkdtempSync(join(folder, "broken-"));
    writeFileSync(join(broken, "1.jsonl"), '{"method":"GET","path":"/api');
    expect(() => readRecording(broken)).toThrow();
  });
});

describe("a file that cannot be used is refused before anything runs", () => {
  test.each([
    ["no JSON", "{", "it is no JSON"],
    ["a list", "[]", "it is no swagger 2.0"],
    ["OpenAPI 3", '{"openapi":"3.0.0","paths":{"/a":{}}}', "it is no swagger 2.0: swagger"],
    ["no paths", '{"swagger":"2.0","paths":{}}', "it describes no path"],
    [
      "a reference into nothing",
      '{"swagger":"2.0","paths":{"/a":{"get":{"schema":{"$ref":"#/definitions/b"}}}}}',
      "#/definitions/b, which it does not define",
    ],
  ])("%s", (_case, content, message) => {
    expect(() => readSwagger(content)).toThrow(message);
  });

  test.each([
    ["none is named", [], "Usage: npm run contract -- SWAGGER.json"],
    [
      "it is not there",
      ["/nowhere/swagger.json"],
      "/nowhere/swagger.json cannot be used as Argo CD's swagger 2.0 file: ENOENT",
    ],
  ])("the command ends with 1 when %s", async (_case, args, message) => {
    const main = fileURLToPath(new URL("main.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", main, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    expect({ output, code: child.exitCode }).toEqual({ output: "", code: 1 });
    expect(errors).toContain(message);
    expect(errors.trim().split("\n").length).toBeLessThan(4);
  });
});
