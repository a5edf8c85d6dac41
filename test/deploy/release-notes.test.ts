import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { releaseNotes } from "../../scripts/release-notes.js";

const CHANGELOG = "# Changelog\n\n## Unreleased\n\n## [1.10.0] - 2026-01-02\n\n### Added\n- B.\n\n## 1.1.0\n- A.\n";

test.each([
  ["1.10.0", "### Added\n- B.\n"],
  ["1.1.0", "- A.\n"],
])("the notes of %s are its section without the heading", (version, notes) => {
  expect(releaseNotes(CHANGELOG, version)).toBe(notes);
});

test.each(["Unreleased", "1.1", "2.0.0"])("there are no notes of %s", (version) => {
  expect(() => releaseNotes(CHANGELOG, version)).toThrow(`no section "## ${version}", or nothing in it`);
});

test("CHANGELOG.md has something for the next release", () => {
  const changelog = readFileSync(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
  expect(releaseNotes(changelog, "Unreleased").length).toBeGreaterThan(100);
});
