import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { rsaKey } from "../config/rsa-key.js";
import { toolPath } from "./deploy-tool.js";
import { guideBlocks, guideText } from "./guide.js";
import type { GuideBlock } from "./guide.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** What the reader's folder holds after `npm ci` and `npm run build`. */
const COPIED = ["dist", "views", "deploy", "openapi.yaml", "package.json"];

const folder = mkdtempSync(join(tmpdir(), "svc-guide-"));

beforeAll(() => {
  if (!existsSync(join(ROOT, "dist"))) throw new Error("there is no dist; run npm run build first");
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "github.pem"), rsaKey());
});
afterAll(() => rmSync(folder, { recursive: true }));

/** One shell session with every block that can be run, in the reader's order; a line before each says which it is. */
function session(blocks: readonly GuideBlock[]): string {
  const steps = blocks.map((block, index) => {
    if (block.kind === "file") return `cat > ${block.name} <<'END OF FILE'\n${block.text}END OF FILE\n`;
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

test("a reader who does word for word what docs/installation.md says gets what it says", () => {
  const blocks = guideBlocks(guideText());
  const programs = [toolPath("helm"), toolPath("kustomize"), process.execPath].map((path) => dirname(path));
  const { stdout, stderr, status } = spawnSync("bash", ["-c", session(blocks)], {
    cwd: folder,
    encoding: "utf8",
    env: { HOME: folder, PATH: [...programs, process.env.PATH ?? ""].join(delimiter) },
    timeout: 120_000,
  });
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
}, 150_000);
