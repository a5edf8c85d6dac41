import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { comingNotes, releaseNotes, withAbsoluteLinks } from "../../scripts/release-notes.js";

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

test.each([
  ["## Unreleased\n- C.\n\n## 1.0.0\n- A.\n", "- C.\n"],
  ["## Unreleased\n\n## 1.0.0\n- A.\n", "- A.\n"],
])("a dry run takes the unreleased notes, or else those of the version: %j", (changelog, notes) => {
  expect(comingNotes(changelog, "1.0.0")).toBe(notes);
});

test("the links of notes lead into the repository from wherever they stand", () => {
  const notes = "- [A](docs/a.md#b), [B](https://b.example/c), [C](#c).\n";
  expect(withAbsoluteLinks(notes, "https://git.example/acme/svc/blob/v1.0.0")).toBe(
    "- [A](https://git.example/acme/svc/blob/v1.0.0/docs/a.md#b), [B](https://b.example/c), [C](#c).\n",
  );
});

test("CHANGELOG.md has something for the next release", () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const { version } = JSON.parse(read("package.json")) as { version: string };
  expect(comingNotes(read("CHANGELOG.md"), version).length).toBeGreaterThan(100);
});
