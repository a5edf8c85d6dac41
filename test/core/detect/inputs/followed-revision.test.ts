import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { followedRevision, sideOf } from "../../../../src/core/detect/inputs/moving-sources.js";
import { revision, type Revision } from "../../../../src/core/model/brand.js";
import type { JsonObject } from "../../../../src/core/model/json.js";
import { CHANGE, memorySnapshot, OWN_URL } from "../memory-snapshot.js";

const ID = (digit: number) => revision(String(digit).repeat(40));
const REFS: Readonly<Record<string, Revision>> = {
  "refs/heads/main": ID(1),
  "refs/heads/release": ID(2),
  "refs/heads/team/web": ID(3),
  "refs/heads/both": ID(4),
  "refs/tags/both": ID(5),
  "refs/heads/twice": ID(6),
  "refs/tags/twice": ID(6),
  "refs/tags/v1.2": ID(7),
  "refs/heads/2024-release": ID(8),
  "refs/heads/abc1234": ID(9),
  "refs/heads/refs/heads/release": ID(3),
};

function resolve(name: string, refs = REFS, defaultBranch = "main") {
  return followedRevision(name, new Map(Object.entries(refs)), defaultBranch);
}

test.each<[string, number]>([
  ["", 1],
  ["HEAD", 1],
  ["main", 1],
  ["refs/heads/main", 1],
  ["team/web", 3],
  ["twice", 6],
  ["v1.2", 7],
  ["refs/tags/v1.2", 7],
  ["2024-release", 8],
  ["abc1234", 9],
])("%j means its commit", (name, digit) => {
  expect(resolve(name)).toEqual({ kind: "commit", commit: ID(digit) });
});

test("forty digits are a commit, in any case and whatever is called so", () => {
  const name = "A".repeat(40);
  expect(resolve(name, { [`refs/heads/${name}`]: ID(1) })).toEqual({ kind: "commit", commit: "a".repeat(40) });
});

test.each([
  ["both", "both means both refs/heads/both and refs/tags/both"],
  ["refs/heads/release", "refs/heads/release means both refs/heads/refs/heads/release and refs/heads/release"],
  ["gone", "gone is neither a branch nor a tag"],
  ["heads/main", "heads/main is neither a branch nor a tag"],
  ["refs/pull/7/head", "refs/pull/7/head is neither a branch nor a tag"],
  ["abc12345", "abc12345 is an abbreviated commit id"],
  ["1.x", "1.x may mean a range of versions"],
  ["v1.x", "v1.x may mean a range of versions"],
  ["x", "x may mean a range of versions"],
  ["*", "* may mean a range of versions"],
  ["^1.2", "^1.2 may mean a range of versions"],
  [">= 1.0 < 2.0", ">= 1.0 < 2.0 may mean a range of versions"],
  ["1.0 - 2.0", "1.0 - 2.0 may mean a range of versions"],
  ["1.0 || 2.0", "1.0 || 2.0 may mean a range of versions"],
])("%j has no certain commit", (name, why) => {
  const found = resolve(name);
  expect(found.kind === "unclear" ? found.problem : "").toContain(why);
});

test("HEAD is unclear if a branch or tag is called so, or if the default branch is missing", () => {
  expect(resolve("HEAD", { ...REFS, "refs/tags/HEAD": ID(2) }).kind).toBe("unclear");
  expect(resolve("", { ...REFS, "refs/heads/HEAD": ID(2) }).kind).toBe("unclear");
  expect(resolve("HEAD", REFS, "trunk").kind).toBe("unclear");
});

test("any text is resolved in no time, and only to a commit that a ref of its name has", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\s=!<>~^vxX*|0-9.-]*$/)), (name) => {
      const found = resolve(name);
      if (found.kind === "unclear" || name === "") return;
      expect(
        Object.entries(REFS).some(([ref, id]) => id === found.commit && (ref === name || ref.endsWith(`/${name}`))),
      ).toBe(true);
    }),
  );
  const before = process.cpuUsage();
  resolve(`${" ".repeat(100_000)}a`);
  resolve("1".repeat(100_000) + "a");
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(1); // seconds of our own, however busy the machine is
});

function side(baseBranch: string, source: JsonObject, tag: string) {
  const snapshot = memorySnapshot({}, {}, { [`refs/heads/${baseBranch}`]: ID(1), [`refs/tags/${tag}`]: ID(2) });
  const spec = { source: { repoURL: OWN_URL, path: "a", targetRevision: baseBranch, ...source } };
  return sideOf(spec, { change: { ...CHANGE, baseBranch }, snapshot });
}

// `MaxVersion` of Argo CD looks for the highest tag before any branch of that name, from v3.5 among tags with a prefix.
test.each<[string, JsonObject, string, string]>([
  ["1.x", {}, "v1.2.3", "1.x may mean a range of versions"],
  ["2.0.x", {}, "2", "2.0.x may mean a range of versions"],
  ["2.x.x", {}, "v2.1.0", "2.x.x may mean a range of versions"],
  ["v1.x", {}, "v1+build.5", "v1.x may mean a range of versions"],
  ["1.2.x-rc", {}, "v1.2.3", "1.2.x-rc may mean a range of versions"],
  ["x", {}, "0.1", "x may mean a range of versions"],
  [">=1.0", { tagPrefix: "web-" }, "web-1.2.3", ">=1.0 may mean a range of versions"],
  ["1.2", { tagPrefix: "web-" }, "web-1.2", "1.2 with the prefix web- means a tag"],
])("the base branch %s is not certainly followed by %j where there is the tag %s", async (base, source, tag, why) => {
  const { unclear, side: found } = await side(base, source, tag);
  expect(unclear).toContain(`source 1: ${why}`);
  expect(found.positions).toEqual([1]);
});

test.each<[string, JsonObject, string]>([
  ["1.x", {}, "web-1.2.3"],
  ["1.x", {}, "release"],
  ["2.x", {}, "v1.2.3"],
  ["2.x", {}, "v20.2.3"],
  ["1.2.x", {}, "1.3"],
  ["2.x.x", {}, "v1.2.3"],
  ["1.x", { tagPrefix: "web-" }, "v1.2.3"],
  ["1.2", {}, "v1.2.3"],
  ["2024.q1", {}, "v1.2.3"],
  ["1.2.3.4", {}, "v1.2.3"],
  ["1.x/prod", {}, "v1.2.3"],
  ["2-staging/eu", {}, "v2.0"],
  ["main", { tagPrefix: "web-" }, "web-1.2.3"],
])("the base branch %s is followed by %j where there is the tag %s", async (base, source, tag) => {
  expect(await side(base, source, tag)).toMatchObject({ unclear: undefined, side: { positions: [1], fixed: [] } });
});

test("a version is looked for among the tags with the prefix", async () => {
  const spec = { source: { repoURL: OWN_URL, path: "a", targetRevision: "1.2", tagPrefix: "web-" } };
  const refs = { "refs/tags/1.2": ID(1), "refs/tags/web-1.2": ID(2) };
  const found = await sideOf(spec, { change: CHANGE, snapshot: memorySnapshot({}, {}, refs) });
  expect(found.side.fixed).toEqual([{ position: 1, follows: "1.2", revision: ID(2) }]);
});
