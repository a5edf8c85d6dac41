import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";

/** Compares with a committed file; `UPDATE_GOLDEN=1` writes it, for a person to read the difference. */
export function expectGolden(name: string, parts: readonly string[]): void {
  const file = fileURLToPath(new URL(`./golden/${name}.md`, import.meta.url));
  const text = `${parts.join("\n\n=== next comment ===\n\n")}\n`;
  if (process.env.UPDATE_GOLDEN === "1") writeFileSync(file, text);
  expect(existsSync(file)).toBe(true);
  expect(text).toBe(readFileSync(file, "utf8"));
}
