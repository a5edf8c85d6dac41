import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { revision, type Revision } from "../../src/core/model/brand.js";
import { RepositoryFailure } from "../../src/core/model/errors.js";
import type { CommitRange, RepositorySnapshot } from "../../src/core/ports/repositories.js";
import { createGitMirror, type GitMirrorOptions } from "../../src/git/mirror.js";
import { recordingLog } from "../recording-log.js";
import { GitHost } from "./git-host.js";
import { startGitElsewhere } from "./git-launcher.js";
import { chain, writeHistory, type PlannedCommit } from "./history.js";

let host: GitHost;
let dataDir: string;
let mirror: ReturnType<typeof createGitMirror>;

beforeEach(async () => {
  host = await GitHost.start({ "README.md": "hello\n" });
  dataDir = await mkdtemp(join(tmpdir(), "svc-history-"));
  startMirror();
});

afterEach(async () => {
  await mirror.close();
  await host.stop();
  await rm(dataDir, { recursive: true, force: true });
});

function startMirror(options: Partial<GitMirrorOptions> = {}): void {
  mirror = createGitMirror({ dataDir, log: recordingLog(), ...options, startGit: startGitElsewhere });
}

type IdOf = (name: string) => Revision;

/** Opens change request 1, whose head, base tip and merge base are these commits. */
async function open(head: Revision, base: Revision, mergeBase: Revision): Promise<RepositorySnapshot> {
  await host.setRef("refs/pull/1/head", head);
  return mirror.open(host.facts(1, head, base, mergeBase), host.source(1));
}

async function between(
  history: Readonly<Record<string, PlannedCommit>>,
  from: string,
  to: string,
): Promise<CommitRange & { readonly idOf: IdOf }> {
  const idOf = await writeHistory(host.directory, history);
  const snapshot = await open(idOf(to), idOf(from), idOf(from));
  return { ...(await snapshot.commitsBetween(idOf(from), idOf(to))), idOf };
}

const subjects = ({ commits }: CommitRange) => commits.map(({ subject }) => subject);

describe("which commits", () => {
  test.each<{
    name: string;
    history: Readonly<Record<string, PlannedCommit>>;
    from: string;
    to: string;
    expected: readonly string[];
  }>([
    { name: "the same commit", history: chain("m", 2), from: "m2", to: "m2", expected: [] },
    { name: "a line", history: chain("m", 5), from: "m2", to: "m5", expected: ["m5", "m4", "m3"] },
    { name: "backwards", history: chain("m", 5), from: "m5", to: "m2", expected: [] },
    {
      name: "two branches of one base",
      history: { ...chain("m", 3), ...chain("a", 2, "m3"), ...chain("b", 2, "m3") },
      from: "a2",
      to: "b2",
      expected: ["b2", "b1"],
    },
    {
      name: "a merged branch",
      history: { ...chain("m", 2), side: { parents: ["m1"] }, merge: { parents: ["m2", "side"], files: [] } },
      from: "m2",
      to: "merge",
      expected: ["merge", "side"],
    },
    {
      name: "a criss-cross merge",
      history: {
        root: {},
        a: { parents: ["root"] },
        b: { parents: ["root"] },
        ab: { parents: ["a", "b"], files: [] },
        ba: { parents: ["b", "a"], files: [] },
        a2: { parents: ["ab"] },
        b2: { parents: ["ba"] },
      },
      from: "a2",
      to: "b2",
      expected: ["b2", "ba"],
    },
    {
      name: "unrelated histories",
      history: { ...chain("m", 2), ...chain("x", 2) },
      from: "m2",
      to: "x2",
      expected: ["x2", "x1"],
    },
    {
      name: "more than the first step of history",
      history: chain("m", 150),
      from: "m30",
      to: "m150",
      expected: Array.from({ length: 120 }, (_, index) => `m${150 - index}`),
    },
    {
      name: "an old branch merged late, beside a long history",
      history: {
        ...chain("m", 60),
        old: { parents: ["m2"] },
        merge: { parents: ["m60", "old"], files: [] },
      },
      from: "m60",
      to: "merge",
      expected: ["merge", "old"],
    },
    {
      name: "a root of its own merged late, older than what is known of the other side",
      history: {
        ...chain("m", 60),
        ...Object.fromEntries(Object.entries(chain("x", 3)).map(([key, one]) => [key, { ...one, time: 3 }])),
        merge: { parents: ["m60", "x3"], files: [] },
      },
      from: "m60",
      to: "merge",
      expected: ["merge", "x3", "x2", "x1"],
    },
  ])("$name", async ({ history, from, to, expected }) => {
    const range = await between(history, from, to);
    expect(subjects(range)).toEqual(expected);
    expect(range.commits.map(({ id }) => id)).toEqual(expected.map(range.idOf));
    expect(range.complete).toBe(true);
  });

  test("an answer has at most the 200 newest commits and says if there are more", async () => {
    const range = await between(chain("m", 230), "m1", "m230");
    expect(subjects(range)).toEqual(Array.from({ length: 200 }, (_, index) => `m${230 - index}`));
    expect(range.complete).toBe(false);
  });

  test("exactly 200 commits are a complete answer", async () => {
    const range = await between(chain("m", 230), "m30", "m230");
    expect(range.commits).toHaveLength(200);
    expect(range.complete).toBe(true);
  });

  test("a common commit is not listed merely because it is beyond the fetched history", async () => {
    // `to` reaches `c` at once, `from` only by a way of 1,100 commits, though a short way leads to the parent of `c`.
    const history = {
      root: {},
      c: { parents: ["root"] },
      ...chain("m", 1100, "c"),
      from: { parents: ["m1100", "root"], files: [] },
      to: { parents: ["root", "c"], files: [] },
    };
    const range = await between(history, "from", "to");
    expect(subjects(range)).toEqual(["to"]);
    expect(range.complete).toBe(false);
  });
});

describe("what is told of each", () => {
  test("paths against the first parent: renames by both names, merges, the first commit", async () => {
    const history = {
      root: { files: ["a/one.yaml", "two.yaml"] },
      side: { parents: ["root"], files: ["side.yaml"] },
      main: { parents: ["root"], files: ["two.yaml"] },
      merge: { parents: ["main", "side"], files: ["side.yaml"] },
      other: { files: ["other.yaml"] },
    };
    const range = await between(history, "other", "merge");
    expect(range.commits.map(({ subject, paths }) => [subject, paths])).toEqual([
      ["merge", ["side.yaml"]],
      ["main", ["two.yaml"]],
      ["side", ["side.yaml"]],
      ["root", ["a/one.yaml", "two.yaml"]],
    ]);
  });

  test.each([
    ["two\nlines", "two"],
    ["\n\n  late\n", "late"],
    ["", ""],
    [`${"ü".repeat(99)}😀😀`, `${"ü".repeat(99)}😀`],
    ["colour \u001b[31m red\u0007\u202edeliver", "colour [31m reddeliver"],
    ["tab\there", "tabhere"],
  ])("the subject of %j is %j", async (message, subject) => {
    const range = await between({ a: {}, b: { parents: ["a"], message } }, "a", "b");
    expect(subjects(range)).toEqual([subject]);
  });

  test("a commit without changes, and one with a strange path", async () => {
    const history = {
      a: {},
      empty: { parents: ["a"], files: [], message: "" },
      odd: { parents: ["empty"], files: [String.raw`"\nline\tend"`, "z"] },
    };
    const range = await between(history, "a", "odd");
    expect(range.commits.map(({ paths }) => paths)).toEqual([["\nline\tend", "z"], []]);
  });
});

describe("history in the mirror", () => {
  test("nothing is fetched for known commits", async () => {
    const idOf = await writeHistory(host.directory, chain("m", 60));
    const snapshot = await open(idOf("m60"), idOf("m50"), idOf("m50"));
    expect(subjects(await snapshot.commitsBetween(idOf("m50"), idOf("m60")))).toHaveLength(10);
    const before = host.requests.length;
    expect(subjects(await snapshot.commitsBetween(idOf("m55"), idOf("m60")))).toHaveLength(5);
    expect(subjects(await snapshot.commitsBetween(idOf("m50"), idOf("m60")))).toHaveLength(10);
    expect(host.requests).toHaveLength(before);
  });

  test("nothing is fetched for the only commit of a branch, whatever the base has got since", async () => {
    const message = "two\n\nlines";
    const idOf = await writeHistory(host.directory, {
      ...chain("m", 60),
      one: { parents: ["m50"], files: ["z", "a/b"], message },
    });
    const snapshot = await open(idOf("one"), idOf("m60"), idOf("m50"));
    const before = host.requests.length;
    expect(await snapshot.commitsBetween(idOf("m50"), idOf("one"))).toEqual({
      commits: [{ id: idOf("one"), parents: [idOf("m50")], subject: "two", paths: ["a/b", "z"] }],
      complete: true,
    });
    expect(host.requests).toHaveLength(before);
    const rest = await snapshot.commitsBetween(idOf("m49"), idOf("one"));
    expect(subjects(rest)).toEqual(["two", "m50"]);
  });

  test("what remains unknown after the last step is not fetched again by the next snapshots", async () => {
    const idOf = await writeHistory(host.directory, {
      ...chain("m", 1100),
      old: { parents: ["m2"], time: 2 },
      merge: { parents: ["m1100", "old"], files: [] },
    });
    const ask = async () => {
      const snapshot = await open(idOf("merge"), idOf("m1100"), idOf("m1100"));
      return snapshot.commitsBetween(idOf("m1100"), idOf("merge"));
    };
    const range = await ask();
    expect(range.complete).toBe(false);
    const before = host.requests.length;
    expect(await ask()).toEqual(range);
    expect(host.requests).toHaveLength(before);
  });

  test("later heads work as before, again and again, also after a restart", async () => {
    let idOf = await writeHistory(host.directory, chain("m", 50));
    for (let round = 1; round <= 4; round += 1) {
      const tip = 50 + 10 * round;
      idOf = await writeHistory(host.directory, chain("m", tip));
      const snapshot = await open(idOf(`m${tip}`), idOf(`m${tip - 5}`), idOf(`m${tip - 10}`));
      const changed = await snapshot.changedPaths(idOf(`m${tip - 10}`), idOf(`m${tip}`));
      expect(changed).toHaveLength(10);
      const range = await snapshot.commitsBetween(idOf("m45"), idOf(`m${tip}`));
      expect(subjects(range)).toEqual(Array.from({ length: tip - 45 }, (_, index) => `m${tip - index}`));
      expect(range.complete).toBe(true);
      expect((await snapshot.read(idOf(`m${tip}`), [`m${tip}`, "m3"])).size).toBe(2);
      if (round % 2 === 0) {
        await mirror.close();
        startMirror();
      }
    }
  });

  test("commits that no ref of the mirror names are fetched from the host", async () => {
    const idOf = await writeHistory(host.directory, chain("m", 40));
    const snapshot = await open(idOf("m40"), idOf("m38"), idOf("m38"));
    const range = await snapshot.commitsBetween(idOf("m20"), idOf("m24"));
    expect(subjects(range)).toEqual(["m24", "m23", "m22", "m21"]);
    expect(range.complete).toBe(true);
  });

  test("a commit that the host lacks is a failure, and the mirror stays intact", async () => {
    const idOf = await writeHistory(host.directory, chain("m", 4));
    const snapshot = await open(idOf("m4"), idOf("m3"), idOf("m3"));
    const lost = snapshot.commitsBetween(revision("1".repeat(40)), idOf("m4"));
    await expect(lost).rejects.toThrow(RepositoryFailure);
    await expect(lost).rejects.toThrow(/does not have one of the commits/);
    const before = host.requests.length;
    expect(await snapshot.changedPaths(idOf("m3"), idOf("m4"))).toEqual(["m4"]);
    expect(host.requests).toHaveLength(before);
  });

  test("a host that gives no history is a failure, and is asked again by the next snapshot", async () => {
    const idOf = await writeHistory(host.directory, chain("m", 40));
    const snapshot = await open(idOf("m40"), idOf("m38"), idOf("m38"));
    host.behaviour = { status: 503 };
    const asked = snapshot.commitsBetween(idOf("m38"), idOf("m40"));
    await expect(asked).rejects.toThrow(RepositoryFailure);
    await expect(asked).rejects.toThrow(/the host failed/);
    host.behaviour = "pass";
    const again = await open(idOf("m40"), idOf("m38"), idOf("m38"));
    expect(subjects(await again.commitsBetween(idOf("m38"), idOf("m40")))).toEqual(["m40", "m39"]);
  });

  test("a host that gives no history in time is a failure as well", async () => {
    const idOf = await writeHistory(host.directory, chain("m", 40));
    await open(idOf("m40"), idOf("m38"), idOf("m38"));
    await mirror.close();
    startMirror({ timeoutMs: 1500 });
    const snapshot = await open(idOf("m40"), idOf("m38"), idOf("m38"));
    host.behaviour = "hang";
    await expect(snapshot.commitsBetween(idOf("m38"), idOf("m40"))).rejects.toThrow(/did not finish in time/);
  });

  test.each(["one commit changes", "one of two commits changes"])(
    "where %s more paths than are read, the answer is marked incomplete",
    async (which) => {
      const folder = Array.from({ length: 15 }, () => "x".repeat(250)).join("/");
      const files = Array.from({ length: 9_000 }, (_, index) => `${folder}/${index}`);
      const history = { ...chain("m", 2), large: { parents: ["m2"], files }, next: { parents: ["large"] } };
      const to = which === "one commit changes" ? "large" : "next";
      expect(await between(history, "m2", to)).toMatchObject({ commits: [], complete: false });
    },
  );

  test("with history over the size limit the answer is marked incomplete, and the mirror keeps working", async () => {
    const names = (commit: number) => Array.from({ length: 60 }, () => `${commit}-${Math.random().toString(36)}`);
    const history = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `m${index}`,
        { parents: index === 0 ? [] : [`m${index - 1}`], files: names(index), alone: true },
      ]),
    );
    const idOf = await writeHistory(host.directory, history);
    await mirror.close();
    startMirror({ maxBytes: 20_000 });
    const snapshot = await open(idOf("m29"), idOf("m0"), idOf("m0"));
    expect(await snapshot.commitsBetween(idOf("m0"), idOf("m29"))).toEqual({ commits: [], complete: false });
    expect(await snapshot.changedPaths(idOf("m0"), idOf("m29"))).toHaveLength(120);
  });
});
