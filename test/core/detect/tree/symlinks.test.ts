import { expect, test } from "@jest/globals";
import { linkFollower } from "../../../../src/core/detect/tree/repository-path.js";

const TARGETS = new Map([
  ["link", "real"],
  ["deep/up", "../real/sub"],
  ["chain", "link"],
  ["through", "deep/up/x"],
  ["self", "self"],
  ["ping", "pong"],
  ["pong", "./ping"],
  ["out", "../../etc"],
  ["deep/out", "../../x"],
  ["absolute", "/etc/passwd"],
  ["root", "."],
  ["empty", ""],
  ["real/back", "../real"],
  ["slashes", "real//sub/"],
  ["aside", "left/../right"],
]);

function follow(path: string) {
  const followed = linkFollower(
    (one) => (TARGETS.has(one) || one === "secret" ? { kind: "symlink" } : { kind: "file" }),
    TARGETS,
  );
  return followed(path);
}

test.each<[string, string | undefined, readonly string[]]>([
  ["", "", []],
  ["real/sub", "real/sub", []],
  ["link", "real", ["link"]],
  ["link/a/b", "real/a/b", ["link"]],
  ["deep/up/x", "real/sub/x", ["deep/up"]],
  ["chain/x", "real/x", ["chain", "link"]],
  ["through", "real/sub/x", ["through", "deep/up"]],
  ["real/back/back/x", "real/x", ["real/back", "real/back"]],
  ["root/real", "real", ["root"]],
  ["slashes/x", "real/sub/x", ["slashes"]],
  ["out", undefined, ["out"]],
  ["deep/out", undefined, ["deep/out"]],
  ["absolute", undefined, ["absolute"]],
])("%s leads to %s", (path, real, links) => {
  expect(follow(path)).toMatchObject({ path: real, links, unreadable: undefined });
});

test.each<[string, readonly string[]]>([
  ["", []],
  ["real/sub", ["real", "real/sub"]],
  ["deep/up/x", ["deep", "deep/up", "real", "real/sub", "real/sub/x"]],
  ["chain/x", ["chain", "link", "real", "real/x"]],
  ["real/back/x", ["real", "real/back", "real", "real/x"]],
  ["aside", ["aside", "left", "right"]],
  ["out", ["out"]],
])("where %s leads is decided by what it, its links and their targets pass through", (path, asked) => {
  expect(follow(path).asked).toEqual(asked);
});

test.each(["self", "ping/x"])("%s goes in a circle and leads nowhere", (path) => {
  expect(follow(path)).toMatchObject({ path: undefined, unreadable: undefined });
});

test("a link out of the repository is followed once, however many paths lead through it", () => {
  const targets = new Map([
    ["out", `/${"a/".repeat(1000)}`],
    ["link", "real"],
  ]);
  const followed = linkFollower((one) => ({ kind: targets.has(one) ? "symlink" : "file" }), targets);
  for (let at = 0; at < 2000; at += 1) expect(followed(`out/${at}`).unreadable).toBeUndefined();
  expect(followed("link/x").path).toBe("real/x");
});

test("a link without a target that can be read is named", () => {
  expect(follow("secret/x")).toMatchObject({ path: undefined, links: ["secret"], unreadable: "secret" });
});

test("a chain of forty links is followed, and a longer one leads nowhere, whichever link is asked for first", () => {
  const targets = new Map(Array.from({ length: 60 }, (_, at) => [`l${at}`, `l${at + 1}`]));
  for (const order of [
    ["l0", "l20"],
    ["l20", "l0"],
  ]) {
    const followed = linkFollower((one) => ({ kind: targets.has(one) ? "symlink" : "file" }), targets);
    const found = new Map(order.map((path) => [path, followed(path).path]));
    expect([found.get("l0"), found.get("l20")]).toEqual([undefined, "l60"]);
  }
});

test.each([
  ["a long detour", new Map([["far", `${"b/".repeat(200)}${"../".repeat(200)}x`]]), "far"],
  [
    "long targets of other links",
    new Map(Array.from({ length: 600 }, (_, at) => [`l${at}`, "./".repeat(2000)])),
    "l599",
  ],
])("behind %s, a link counts as one that cannot be read", (_, targets, link) => {
  const followed = linkFollower((one) => ({ kind: targets.has(one) ? "symlink" : "file" }), targets);
  for (const one of targets.keys()) followed(one);
  expect(followed(`${link}/x`)).toMatchObject({ path: undefined, unreadable: link });
});
