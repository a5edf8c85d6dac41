import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parse, stringify } from "yaml";
import { rsaKey } from "../config/rsa-key.js";
import { serveChart } from "./chart-registry.js";
import type { ChartRegistry } from "./chart-registry.js";
import { runTool, toolPath } from "./deploy-tool.js";
import { guideBlocks, guideText } from "./guide.js";
import type { GuideBlock } from "./guide.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** What the reader's folder holds after `npm run build`, without the packages: the bundle needs none. */
const COPIED = ["dist", "views", "deploy", "openapi.yaml", "package.json"];

const folder = mkdtempSync(join(tmpdir(), "svc-guide-"));
const published = mkdtempSync(join(tmpdir(), "svc-guide-registry-"));
let registry: ChartRegistry;

beforeAll(async () => {
  if (!existsSync(join(ROOT, "dist"))) throw new Error("there is no dist; run npm run build first");
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  writeFileSync(join(folder, "github.pem"), rsaKey());
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly version: string };
  registry = await serveChart("ghcr.io", "acme/charts/svc", version, published);
});
afterAll(() => {
  registry.stop();
  for (const each of [folder, published]) rmSync(each, { recursive: true });
});

/** One shell session with every block that can be run, in the reader's order; a line before each says which it is. */
function session(blocks: readonly GuideBlock[]): string {
  const steps = blocks.map((block, index) => {
    if (block.kind === "file") return `cat > ${block.name} <<'END OF FILE'\n${block.text}END OF FILE\n`;
    if (block.kind === "instead") return "";
    switch (block.proof.kind) {
      case "run":
        return `echo "== ${index}"\n${block.text}echo\n`;
      case "background":
        return `{\n${block.text}} >service.log 2>&1 &\ntrap 'kill -- -'$! EXIT\n`;
      case "ci":
      case "needs":
        return "";
    }
  });
  return `set -euo pipefail\nset -m\n${steps.join("")}`;
}

interface Ended {
  readonly status: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Does what a reader would do, in the reader's folder. */
function follow(script: string): Promise<Ended> {
  const programs = [toolPath("helm"), toolPath("kustomize"), process.execPath].map((path) => dirname(path));
  const env = {
    HOME: folder,
    PATH: [...programs, process.env.PATH ?? ""].join(delimiter),
    ...registry.environment,
  };
  return new Promise((resolve) =>
    execFile(
      "bash",
      ["-c", script],
      { cwd: folder, env, timeout: 240_000, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) =>
        resolve({ status: error === null ? 0 : (error.code ?? error.message), stdout, stderr }),
    ),
  );
}

test("a reader who does word for word what docs/installation.md says gets what it says", async () => {
  const blocks = guideBlocks(guideText());
  const { stdout, stderr, status } = await follow(session(blocks));
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  const said = new Map(
    stdout.split(/^== /m).map((part) => [Number.parseInt(part, 10), part.slice(part.indexOf("\n") + 1).trim()]),
  );
  const expected = blocks.flatMap((block, index) =>
    block.kind === "commands" && block.proof.kind === "run" ? [{ index, prints: block.proof.prints }] : [],
  );
  expect(expected.length).toBeGreaterThan(4);
  for (const { index, prints } of expected) {
    expect(said.has(index)).toBe(true);
    if (prints !== undefined) expect(said.get(index)).toBe(prints);
  }
  expect(stdout).toMatch(/image: "?ghcr\.io\/acme\/svc@sha256:/);
}, 260_000);

test("the chart takes what docs/installation.md has for a managed Redis", () => {
  const blocks = guideBlocks(guideText());
  const written = blocks.find((block) => block.kind === "file" && block.name === "values.yaml");
  const values = parse(written?.text ?? "") as { readonly config: object };
  const others = blocks.filter((block) => block.kind === "instead");
  expect(others.map(({ section }) => section)).toEqual(["redis"]);
  for (const { text } of others) {
    const changed = { ...values, config: { ...values.config, ...(parse(text) as object) } };
    const args = ["template", "svc", join(ROOT, "deploy/chart"), "--set", "image.repository=svc", "--values", "-"];
    const { ok, stdout, stderr } = runTool("helm", args, stringify(changed));
    expect([ok, stderr]).toEqual([true, expect.not.stringContaining("Error")]);
    expect(stdout).toContain("address: redis.example.org:6380");
    expect(stdout).not.toContain("mymaster");
  }
});
