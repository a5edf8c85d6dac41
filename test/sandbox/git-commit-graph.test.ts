import { expect, test } from "@jest/globals";
import { CommitGraph } from "../../sandbox/git/commit-graph.js";

/** root - a - c - merge of c and b; b from root; cross: a criss-cross of a and b; lone: a history of its own. */
function graph(): CommitGraph {
  const made = new CommitGraph();
  made.add("root", []);
  made.add("a", ["root"]);
  made.add("b", ["root"]);
  made.add("c", ["a"]);
  made.add("merge", ["c", "b"]);
  made.add("ab", ["a", "b"]);
  made.add("ba", ["b", "a"]);
  made.add("lone", []);
  made.add("cut", ["elsewhere"]);
  return made;
}

test.each([
  ["a", "a", "a"],
  ["a", "b", "root"],
  ["c", "b", "root"],
  ["merge", "b", "b"],
  ["merge", "ab", undefined],
  ["ab", "ba", undefined],
  ["a", "lone", undefined],
  ["a", "cut", undefined],
  ["a", "unknown", undefined],
])("merge base of %s and %s: %s", (left, right, expected) => {
  expect(graph().mergeBase(left, right)).toBe(expected);
  expect(graph().mergeBase(right, left)).toBe(expected);
});

test.each([
  ["root", "merge", true, 4],
  ["b", "merge", true, 3],
  ["merge", "b", false, 0],
  ["lone", "merge", false, 5],
  ["root", "cut", undefined, undefined],
])("from %s to %s: ancestor %s, %s commits", (from, to, ancestor, count) => {
  expect(graph().isAncestor(from, to)).toBe(ancestor);
  expect(graph().between(from, to)?.length).toBe(count);
});

test("a copy of a commit's history knows that and no more", () => {
  const copy = new CommitGraph();
  copy.copy(graph(), "c");
  expect(["root", "a", "b", "c"].map((id) => copy.has(id))).toEqual([true, true, false, true]);
  expect(copy.isAncestor("root", "c")).toBe(true);
});
