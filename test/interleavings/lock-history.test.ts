import { expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { judge, type Acquired, type Happened, type Released, type Synced } from "./lock-history.js";

const application = applicationName("web");

function acquire(by: string, start: number, end: number, outcome: Acquired["outcome"] = "fresh"): Acquired {
  return { kind: "acquire", application, by, start, end, outcome };
}
function release(by: string, start: number, end: number, outcome: Released["outcome"] = true): Released {
  return { kind: "release", application, by, start, end, outcome };
}
function sync(by: string, start: number, end: number): Synced {
  return { kind: "sync", application, by, start, end };
}

const innocent: readonly (readonly [string, readonly Happened[]])[] = [
  ["one after the other", [acquire("x", 1, 2), release("x", 3, 4), acquire("y", 5, 6)]],
  [
    "an acquire beside the release that makes room for it",
    [acquire("x", 1, 2), release("x", 3, 6), acquire("y", 4, 5)],
  ],
  [
    "an acquire that may have come before a release beside it",
    [acquire("x", 1, 5), release("x", 2, 4), acquire("y", 6, 7)],
  ],
  [
    "an acquire that failed, and another who takes the lock",
    [acquire("x", 1, Infinity, undefined), acquire("y", 3, 4)],
  ],
  ["a release of nothing", [acquire("x", 1, 2), release("y", 3, 4, false)]],
  [
    "a sync after which somebody else takes the lock",
    [acquire("x", 1, 2), sync("x", 3, 4), release("x", 5, 6), acquire("y", 7, 8)],
  ],
  [
    "a sync that goes on after its own release",
    [acquire("x", 1, 2), sync("x", 3, 9), release("x", 4, 5), acquire("y", 6, 7)],
  ],
];

test.each(innocent)("no alarm: %s", (_, history) => {
  expect(judge(history).violations).toEqual([]);
});

const guilty: readonly (readonly [string, readonly Happened[], RegExp])[] = [
  ["two holders", [acquire("x", 1, 4), acquire("y", 2, 5)], /held by x and y at once/],
  [
    "a lock that is stolen",
    [acquire("x", 1, 2), acquire("y", 3, 4), release("y", 5, 6)],
    /y took the lock while x held it/,
  ],
  [
    "a release of another's lock",
    [acquire("y", 1, 2), acquire("x", 3, 4, "held"), release("x", 5, 6)],
    /x released the lock of y/,
  ],
  [
    "a release without a lock",
    [acquire("x", 1, 2), release("x", 3, 4), release("x", 5, 6)],
    /x released a lock that it cannot have held/,
  ],
  ["a lock that is gone", [acquire("x", 1, 2), acquire("x", 3, 4, "fresh")], /x held the lock and it was gone/],
  ["a sync without a lock", [sync("x", 1, 2)], /x synced without having locked it/],
  [
    "a sync under another's lock",
    [acquire("x", 1, 2), acquire("y", 4, 5), sync("x", 3, 6)],
    /x synced while y held the lock/,
  ],
];

test.each(guilty)("alarm: %s", (_, history, alarm) => {
  expect(judge(history).violations.join("\n")).toMatch(alarm);
});

test("derives who must have each lock at the end", () => {
  const history = [acquire("x", 1, 2), release("x", 3, 4), acquire("y", 5, 6)];
  expect(judge(history).heldAtEnd).toEqual(new Map([[application, "y"]]));
});
