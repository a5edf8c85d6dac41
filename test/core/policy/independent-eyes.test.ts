import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { countingApprovers } from "../../../src/core/facts/approval.js";
import { revision } from "../../../src/core/model/brand.js";
import type { Authorship, Push, User } from "../../../src/core/model/change-request.js";
import { unseenCommits, type EyesFacts } from "../../../src/core/policy/independent-eyes.js";

const id = (name: string) => revision(Buffer.from(name).toString("hex").padEnd(40, "0"));
const user = (login: string): User => ({ id: login, login, bot: false });

/** `a`, `b` and `c` are commits on top of each other, on the base commit `o`. */
const CHAIN: readonly (readonly [string, ...string[]])[] = [
  ["c", "b"],
  ["b", "a"],
  ["a", "o"],
];

interface Told {
  readonly commits?: readonly (readonly [string, ...string[]])[];
  /** Accounts by commit, `?` for an address without one. Default: `ana` for each. */
  readonly by?: Readonly<Record<string, string>>;
  /** Who pushed, from which head to which; `-` is no commit, and no heads at all a push to several branches. */
  readonly pushes?: readonly string[];
  /** Who approved which commit, and where that left the base branch of that time if it is another one now. */
  readonly looks: readonly string[];
  readonly empty?: readonly string[];
  readonly opened?: string;
  /** Pushes by `svc` that added nothing. */
  readonly updates?: readonly string[];
}

function facts(told: Told): EyesFacts {
  const { commits = CHAIN, by = {}, pushes = ["ana - c"], looks, empty = [], opened, updates = [] } = told;
  const [[head] = [""]] = commits;
  const accounts = commits.map(([commit]) => {
    const names = (by[commit] ?? "ana").split(" ");
    const people = names.filter((name) => name !== "?").map(user);
    return [id(commit), { people, unknown: names.includes("?") }] as const;
  });
  const authorship: Authorship = {
    accounts: new Map(accounts),
    pushes: pushes.map((text): Push => {
      const [login = "", before, after] = text.split(" ");
      const place = (name: string | undefined) => (name === undefined || name === "-" ? undefined : id(name));
      return { by: user(login), before: place(before), after: place(after) };
    }),
    opened: opened === undefined ? undefined : id(opened),
  };
  return {
    head: id(head),
    commits: commits.map(([commit, ...parents]) => ({ id: id(commit), parents: parents.map(id) })),
    empty: new Set(empty.map(id)),
    looks: looks.map((text) => {
      const [login = "", saw = "", from] = text.split(" ");
      return { by: user(login), saw: id(saw), from: from === undefined ? undefined : id(from) };
    }),
    authorship,
    self: "svc",
    updates: new Set(authorship.pushes.filter((_, index) => updates.includes(pushes[index] ?? ""))),
  };
}

/** What is unseen, as `commit: approver how`. */
function unseen(told: Told): readonly string[] {
  return unseenCommits(facts(told)).flatMap(({ id: commit, because }) =>
    because.map(({ by, how }) => `${Buffer.from(commit.replace(/0+$/, ""), "hex").toString()}: ${by.login} ${how}`),
  );
}

const MERGED: Told["commits"] = [
  ["m", "a", "main"],
  ["a", "o"],
];

/** svc rewrote `y`, which ana had pushed, into `c`. */
const UPDATED: Told = { pushes: ["svc y c", "ana - y"], looks: ["bo c"], updates: ["svc y c"] };
const UNKNOWN = ["c", "b", "a"].map((commit) => `${commit}: bo unknown-pusher`);

describe("unseen commits", () => {
  test.each<[string, Told, readonly string[]]>([
    ["none, if the approver had no hand in any", { looks: ["bo c"] }, []],
    ["what the approver wrote", { by: { b: "bo" }, looks: ["bo c"] }, ["b: bo wrote"]],
    ["what the approver wrote with others", { by: { b: "ana bo" }, looks: ["bo c"] }, ["b: bo wrote"]],
    ["what the approver pushed", { pushes: ["bo b c", "ana - b"], looks: ["bo c"] }, ["c: bo pushed"]],
    ["none, if another saw it before", { by: { b: "bo" }, looks: ["bo c", "olga b"] }, []],
    ["what came after another's look", { by: { c: "bo" }, looks: ["bo c", "olga b"] }, ["c: bo wrote"]],
    ["what another's look left out", { by: { a: "bo" }, looks: ["bo c", "olga b a"] }, ["a: bo wrote"]],
    ["none, if another saw it from an older base", { by: { b: "bo" }, looks: ["bo c", "olga b x"] }, []],
    ["none, if two approved the head, whoever wrote it", { by: { a: "bo", b: "olga" }, looks: ["bo c", "olga c"] }, []],
    ["none, if two saw what both wrote", { by: { a: "bo olga" }, looks: ["bo c", "olga a"] }, []],
    [
      "nothing is seen by who approved a commit that is gone",
      { by: { a: "bo" }, looks: ["bo c", "olga x"] },
      ["a: bo wrote"],
    ],
    [
      "an unknown author is anybody who pushed anything",
      { by: { a: "?" }, pushes: ["bo b c", "ana - b"], looks: ["bo c"] },
      ["c: bo pushed", "a: bo unknown-author"],
    ],
    ["an unknown author is not who pushed nothing", { by: { a: "?" }, looks: ["bo c"] }, []],
    [
      "an untold pusher may be the approver",
      { pushes: [], looks: ["bo c"] },
      ["c", "b", "a"].map((c) => `${c}: bo unknown-pusher`),
    ],
    ["an untold pusher is one of two approvers at most", { pushes: [], looks: ["bo c", "olga c"] }, []],
    [
      "what it was opened with is the author's, if nobody is told",
      { pushes: [], opened: "b", looks: ["bo c"] },
      ["c: bo unknown-pusher"],
    ],
    [
      "a gap leaves what is before it untold",
      { pushes: ["ana b c"], looks: ["bo c"] },
      ["b: bo unknown-pusher", "a: bo unknown-pusher"],
    ],
    [
      "a push to several branches may be behind a gap",
      { pushes: ["ana b c", "bo"], opened: "b", looks: ["bo c"] },
      ["c", "b", "a"].map((c) => `${c}: bo pushed`),
    ],
    ["a push to several branches is nothing without a gap", { pushes: ["ana - c", "bo"], looks: ["bo c"] }, []],
    [
      "what was pushed away may live on",
      { pushes: ["ana x c", "bo o x"], looks: ["bo c"] },
      ["c", "b", "a"].map((c) => `${c}: bo pushed`),
    ],
    ["pushes before the branch left the base are others'", { pushes: ["ana o c", "bo - o"], looks: ["bo c"] }, []],
    [
      "a push of the same head by two people is of both",
      { pushes: ["ana - c", "bo - c"], looks: ["bo c"] },
      ["c", "b", "a"].map((c) => `${c}: bo pushed`),
    ],
    [
      "what svc pushed may be anybody's",
      { pushes: ["svc a c", "ana - a"], looks: ["bo c"] },
      ["c: bo unknown-pusher", "b: bo unknown-pusher"],
    ],
    ["what an update by svc adds nothing to is whose it was", UPDATED, []],
    [
      "who pushed what svc updated, or may have, pushed it",
      { ...UPDATED, pushes: ["svc y c", "bo x y", "ana - x"] },
      ["c", "b", "a"].map((c) => `${c}: bo pushed`),
    ],
    ["what svc updated has a gap before it", { ...UPDATED, pushes: ["svc y c", "ana x y"] }, UNKNOWN],
    ["all pushes before what svc updated are missing", { ...UPDATED, pushes: ["svc y c"] }, UNKNOWN],
    ["pushes in a circle start nowhere", { ...UPDATED, pushes: ["svc y c", "ana x y", "ana y x"] }, UNKNOWN],
    ["a gap before it was opened is its author's", { ...UPDATED, pushes: ["svc y c"], opened: "y" }, []],
    [
      "one update upon another",
      { ...UPDATED, pushes: ["svc y c", "svc x y", "ana - x"], updates: ["svc y c", "svc x y"] },
      [],
    ],
    ["an update upon what else svc pushed", { ...UPDATED, pushes: ["svc y c", "svc x y", "ana - x"] }, UNKNOWN],
    [
      "a merge that adds something is who pushed it",
      { commits: MERGED, by: { m: "bo" }, pushes: ["bo a m", "ana - a"], looks: ["bo m"] },
      ["m: bo wrote"],
    ],
    [
      "a merge that adds nothing is nobody's, and neither is its push",
      { commits: MERGED, by: { m: "bo", a: "?" }, pushes: ["bo a m", "ana - a"], empty: ["m"], looks: ["bo m"] },
      [],
    ],
  ])("%s", (_, told, expected) => {
    expect(unseen(told)).toEqual(expected);
  });
});

test("people who count are those who had no hand in any commit, or else all who approved the head", () => {
  const people = (told: Told) => countingApprovers(facts(told)).map(({ login }) => login);
  expect(people({ by: { b: "bo" }, looks: ["bo c", "olga c", "kim a"] })).toEqual(["olga"]);
  expect(people({ by: { b: "bo" }, looks: ["bo c", "kim b"] })).toEqual(["bo"]);
});

const PEOPLE = ["ana", "bo", "olga"] as const;
const somebody = fc.constantFrom(...PEOPLE);
const place = fc.constantFrom("a", "b", "c", "o", "x", "-");

test("one person alone never approves what they wrote or pushed last, whatever else is told", () => {
  fc.assert(
    fc.property(
      fc.record({
        by: fc.record({ a: somebody, b: somebody }),
        pushes: fc.array(fc.tuple(somebody, place, place).map(([who, from, to]) => `${who} ${from} ${to}`)),
        empty: fc.constant([]),
      }),
      fc.constantFrom("author", "pusher"),
      ({ by, pushes }, as) => {
        const told: Told =
          as === "author"
            ? { by: { ...by, c: "bo" }, pushes, looks: ["bo c"] }
            : { by: { ...by, c: "ana" }, pushes: [...pushes, "bo b c"], looks: ["bo c"] };
        expect(unseenCommits(facts(told)).map((one) => one.id)).toContain(id("c"));
      },
    ),
  );
});

test("more approvals, and fewer hands, never make a seen commit unseen", () => {
  fc.assert(
    fc.property(
      fc.record({ a: somebody, b: somebody, c: somebody }),
      fc.array(fc.tuple(somebody, place, place).map(([who, from, to]) => `${who} ${from} ${to}`)),
      fc.array(fc.tuple(somebody, place).map(([who, saw]) => `${who} ${saw}`)),
      fc.tuple(somebody, place).map(([who, saw]) => `${who} ${saw}`),
      (by, pushes, looks, more) => {
        const before = new Set(unseenCommits(facts({ by, pushes, looks })).map((one) => one.id));
        const after = unseenCommits(facts({ by, pushes, looks: [...looks, more] })).map((one) => one.id);
        expect(after.filter((commit) => !before.has(commit))).toEqual([]);
      },
    ),
  );
});
