import { expect, test } from "@jest/globals";
import { followLinks } from "../../../../src/core/detect/inputs/snapshot.js";

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
  return followLinks(
    path,
    (one) => (TARGETS.has(one) || one === "secret" ? { kind: "symlink" } : { kind: "file" }),
    TARGETS,
  );
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

test("a link without a target that can be read is named", () => {
  expect(follow("secret/x")).toMatchObject({ path: undefined, links: ["secret"], unreadable: "secret" });
});
