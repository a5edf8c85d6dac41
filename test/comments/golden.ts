import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { wordsOfOthers } from "../scenarios/host-words.js";

/**
 * Compares what stands on GitHub with a committed file; `UPDATE_GOLDEN=1` writes it, for a person to read the difference. What
 * stands on GitLab must have GitLab's words.
 * @param write the comments on a host.
 */
export function expectGolden(name: string, write: (host: HostId) => readonly string[]): void {
  expect(wordsOfOthers("hostb", write("hostb"))).toEqual([]);
  const file = fileURLToPath(new URL(`./golden/${name}.md`, import.meta.url));
  const text = `${write("hosta").join("\n\n=== next comment ===\n\n")}\n`;
  if (process.env.UPDATE_GOLDEN === "1") writeFileSync(file, text);
  expect(existsSync(file)).toBe(true);
  expect(text).toBe(readFileSync(file, "utf8"));
}
