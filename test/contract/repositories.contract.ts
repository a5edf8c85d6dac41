import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { revision, type Revision } from "../../src/core/model/brand.js";
import { HeadMoved, RepositoryFailure } from "../../src/core/model/errors.js";
import type { Repositories, RepositorySnapshot } from "../../src/core/ports/repositories.js";
import { GitHost } from "../git/git-host.js";

export interface RepositoriesUnderTest {
  readonly repositories: Repositories;
  stop(): Promise<void>;
}

const FILES: FileChanges = {
  "apps/web/values.yaml": "replicas: 1\n",
  "apps/api/values.yaml": "replicas: 2\n",
  "README.md": "hello\n",
};

/** What every `Repositories` must do. */
export function repositoriesContract(name: string, start: (host: GitHost) => Promise<RepositoriesUnderTest>): void {
  describe(`repositories: ${name}`, () => {
    let host: GitHost;
    let under: RepositoriesUnderTest;
    beforeEach(async () => {
      host = await GitHost.start(FILES);
      under = await start(host);
    });
    afterEach(async () => {
      await under.stop();
      await host.stop();
    });

    async function opened(
      changes: FileChanges,
    ): Promise<{ readonly head: Revision; readonly snapshot: RepositorySnapshot }> {
      const change = await host.change(1, changes);
      return { head: change.headRevision, snapshot: await under.repositories.open(change, host.source(1)) };
    }

    /** Commits in this order, each on the one before. */
    async function commits(...all: readonly FileChanges[]): Promise<readonly Revision[]> {
      const ids: Revision[] = [];
      for (const changes of all) ids.push(revision(await host.commit("main", changes)));
      return ids;
    }

    test("lists every entry of a commit, sorted, with its kind", async () => {
      const submodule = "1".repeat(40);
      const { head, snapshot } = await opened({
        "apps/web/link.yaml": { symlink: "/etc/passwd" },
        "apps.yaml": "a: 1\n",
        "bin/run": { executable: "#!/bin/sh\n" },
        "README.md": null,
        "vendor/lib": { submodule },
      });
      const entries = await snapshot.list(head);
      expect(entries.map(({ path, kind, executable }) => `${executable ? "executable " : ""}${kind} ${path}`)).toEqual([
        "file apps.yaml",
        "file apps/api/values.yaml",
        "symlink apps/web/link.yaml",
        "file apps/web/values.yaml",
        "executable file bin/run",
        "submodule vendor/lib",
      ]);
      expect(entries.at(-1)?.blob).toBe(submodule);
      // As `git hash-object` says of the content.
      expect(entries[1]?.blob).toBe("eb5c26739ea8767a00de3d6e1932c340ce323472");
    });

    test("a head that was fetched in advance is opened like any other, and one that cannot be fetched breaks nothing", async () => {
      const first = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
      const { signal } = new AbortController();
      await under.repositories.fetchHead(first, host.source(1), { signal });
      await under.repositories.open(first, host.source(1));
      const next = await host.change(1, { "apps/web/values.yaml": "replicas: 6\n" });
      await under.repositories.fetchHead(next, host.source(1), { signal });
      await under.repositories.fetchHead(next, host.source(1, { headRef: "refs/pull/9/head" }), { signal });
      await under.repositories.fetchHead(next, host.source(1), { pushed: revision("9".repeat(40)), signal });
      const snapshot = await under.repositories.open(next, host.source(1));
      const texts = await snapshot.read(next.headRevision, ["apps/web/values.yaml"]);
      expect([...texts.values()]).toEqual(["replicas: 6\n"]);
    });

    test.each([
      ["an open change request, which GitHub may offer some seconds late", "open"],
      ["a closed one, which GitLab deletes after 14 days", "closed"],
      ["a merged one", "merged"],
    ] as const)("the head is read without the host's ref of it: %s", async (_, state) => {
      const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
      await host.setRef("refs/pull/1/head", undefined);
      const snapshot = await under.repositories.open({ ...change, state }, host.source(1));
      const texts = await snapshot.read(change.headRevision, ["apps/web/values.yaml"]);
      expect([...texts.values()]).toEqual(["replicas: 5\n"]);
    });

    test("reads texts at head, base and merge base", async () => {
      const first = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
      const base = await host.commit("main", { "apps/api/values.yaml": "replicas: 9\n" });
      const change = { ...first, baseRevision: revision(base) };
      const snapshot = await under.repositories.open(change, host.source(1));
      const texts = async (at: Revision) =>
        [...(await snapshot.read(at, ["apps/web/values.yaml", "apps/api/values.yaml"])).values()].sort();
      expect(await texts(change.headRevision)).toEqual(["replicas: 2\n", "replicas: 5\n"]);
      expect(await texts(change.baseRevision)).toEqual(["replicas: 1\n", "replicas: 9\n"]);
      expect(await texts(change.mergeBase)).toEqual(["replicas: 1\n", "replicas: 2\n"]);
    });

    test("leaves out what is missing, a symlink, a folder, binary or too large", async () => {
      const { head, snapshot } = await opened({
        "link.yaml": { symlink: "apps/web/values.yaml" },
        "binary.yaml": "a\0b",
        "large.yaml": "x".repeat(1024 * 1024 + 1),
        "limit.yaml": "x".repeat(1024 * 1024),
        "empty.yaml": "",
        "bom.yaml": "\ufeffa: ü\n",
      });
      const named = ["link.yaml", "binary.yaml", "large.yaml", "limit.yaml", "empty.yaml", "bom.yaml"];
      const texts = await snapshot.read(head, [...named, "apps", "none.yaml", "", "../README.md", "/README.md"]);
      expect([...texts.keys()].sort()).toEqual(["bom.yaml", "empty.yaml", "limit.yaml"]);
      expect(texts.get("bom.yaml")).toBe("a: ü\n");
      expect(texts.get("empty.yaml")).toBe("");
    });

    test("a large file is read on its own", async () => {
      const large = "x".repeat(1024 * 1024 + 1);
      const { head, snapshot } = await opened({ "large.yaml": large, "binary.yaml": `${large}\0` });
      expect(await snapshot.readLarge(head, "large.yaml")).toBe(large);
      expect(await snapshot.readLarge(head, "binary.yaml")).toBeUndefined();
      expect(await snapshot.readLarge(head, "none.yaml")).toBeUndefined();
    });

    test("changed paths hold both names of a rename, deletions, modes and kinds, and nothing else", async () => {
      const { head, snapshot } = await opened({
        "apps/web/values.yaml": null,
        "apps/moved/values.yaml": "replicas: 1\n",
        "apps/api/values.yaml": { executable: "replicas: 2\n" },
        "README.md": { symlink: "hello\n" },
        "vendor/lib": { submodule: "1".repeat(40) },
      });
      const base = revision(await host.tip("main"));
      const changed = [
        "README.md",
        "apps/api/values.yaml",
        "apps/moved/values.yaml",
        "apps/web/values.yaml",
        "vendor/lib",
      ];
      expect(await snapshot.changedPaths(base, head)).toEqual(changed);
      expect(await snapshot.changedPaths(head, base)).toEqual(changed);
      expect(await snapshot.changedPaths(head, head)).toEqual([]);
    });

    const lines = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => `  key-${from + at}: some value\n`).join("");

    test.each<[string, FileChanges, FileChanges, readonly string[]]>([
      ["a file that moved", { "a/x.yaml": "x: 1\n" }, { "a/x.yaml": null, "b/y.yaml": "x: 1\n" }, ["b/y.yaml"]],
      ["one that moved and kept most", { "a/x": lines(0, 20) }, { "a/x": null, "b/x": lines(5, 25) }, ["b/x"]],
      [
        "one of two that moved",
        { "a/x": "x\n", "a/y": "x\n" },
        { "a/x": null, "a/y": null, "b/x": "x\n" },
        ["a/y", "b/x"],
      ],
      ["another file", { "a/x": "x: 1\n" }, { "a/x": null, "b/x": "y: 2\n" }, ["a/x", "b/x"]],
      ["a copy", { "a/x": "x" }, { "b/x": "x" }, ["b/x"]],
      ["special names", {}, { ü: "1", 'a"b': "1", "a b": "1" }, ['"\\303\\274"', '"a\\"b"', "a b"]],
      ["nothing", {}, {}, []],
    ])("printed paths: %s", async (_case, before, after, printed) => {
      const base = revision(await host.commit("main", before));
      const { head, snapshot } = await opened(after);
      expect([...(await snapshot.printedPaths(base, head))].sort()).toEqual(printed);
    });

    test("link targets are read verbatim, except those that are too long", async () => {
      const { head, snapshot } = await opened({
        "a/link": { symlink: "../../etc/passwd" },
        "b/link": { symlink: "x".repeat(4096) },
        "c/link": { symlink: "x".repeat(4097) },
      });
      expect(await snapshot.linkTargets(head)).toEqual(
        new Map([
          ["a/link", "../../etc/passwd"],
          ["b/link", "x".repeat(4096)],
        ]),
      );
    });

    test("other commits of the repository are read too", async () => {
      const [older] = await commits({ "other.yaml": "a: 1\n" }, { "other.yaml": "a: 2\n" });
      const { head, snapshot } = await opened({});
      if (older === undefined) throw new Error("no commit");
      expect(await snapshot.read(older, ["other.yaml"])).toEqual(new Map([["other.yaml", "a: 1\n"]]));
      expect(await snapshot.changedPaths(older, head)).toEqual(["other.yaml"]);
      const unknown = revision("f".repeat(40));
      const failure = snapshot.list(unknown);
      await expect(failure).rejects.toBeInstanceOf(RepositoryFailure);
      await expect(failure).rejects.toThrow(
        /^the repository acme\/deploy could not be read: the host does not have one/,
      );
    });

    test("refs are the branches and tags of now, by full name", async () => {
      const { head, snapshot } = await opened({ "a.yaml": "a: 1\n" });
      await host.setRef("refs/tags/v1.0.0", head);
      expect(await snapshot.refs()).toEqual(
        new Map([
          ["refs/heads/change-1", head],
          ["refs/heads/main", await host.tip("main")],
          ["refs/tags/v1.0.0", head],
        ]),
      );
    });

    test("commits between two others come newest first, merges with what they change of their first parent", async () => {
      const start = revision(await host.tip("main"));
      const side = await host.store.commit("acme/deploy", "side", { "side.yaml": "1" }, { from: start });
      const [one] = await commits({ "one.yaml": "1", "README.md": null });
      const merge = await host.store.commit(
        "acme/deploy",
        "main",
        {},
        { merging: side, message: "Merge\tside\n\nMore" },
      );
      const snapshot = await under.repositories.open(await host.change(1, {}), host.source(1));
      const { commits: found, complete } = await snapshot.commitsBetween(start, revision(merge));
      expect(complete).toBe(true);
      expect(found).toEqual([
        expect.objectContaining({ id: merge, parents: [one, side], subject: "Mergeside", paths: ["side.yaml"] }),
        expect.objectContaining({ id: one, parents: [start], paths: ["README.md", "one.yaml"] }),
        expect.objectContaining({ id: side, parents: [start], paths: ["side.yaml"] }),
      ]);
      expect((await snapshot.commitsBetween(revision(side), revision(merge))).commits.map(({ id }) => id)).toEqual([
        merge,
        one,
      ]);
      expect(await snapshot.commitsBetween(revision(merge), start)).toEqual({ commits: [], complete: true });
    });

    test("a clean merge is what git makes of its two parents, and nothing more", async () => {
      const start = revision(await host.tip("main"));
      const { store } = host;
      const side = await store.commit("acme/deploy", "side", { "side.yaml": "1" }, { from: start });
      const [one] = await commits({ "one.yaml": "1" });
      const clean = await store.commit("acme/deploy", "main", {}, { merging: side });
      const evil = await store.commit(
        "acme/deploy",
        "evil",
        { "evil.yaml": "1" },
        { from: one ?? start, merging: side },
      );
      const snapshot = await under.repositories.open(await host.change(1, {}), host.source(1));
      expect(await snapshot.isCleanMerge(revision(clean))).toBe(true);
      expect(await snapshot.isCleanMerge(revision(evil))).toBe(false);
      expect(await snapshot.isCleanMerge(revision(side))).toBe(false);
      const parents = [one ?? start, revision(side)] as const;
      const rebased = await store.commit("acme/deploy", "rebased", { "one.yaml": "1" }, { from: side });
      await snapshot.commitsBetween(start, revision(rebased));
      expect(await snapshot.isCleanMerge(revision(rebased), parents)).toBe(true);
      expect(await snapshot.isCleanMerge(revision(clean), parents)).toBe(true);
      expect(await snapshot.isCleanMerge(revision(evil), parents)).toBe(false);
    });

    test("a revert conflicts in the files that have changed since, as git sees it", async () => {
      const { store } = host;
      const start = await host.tip("main");
      const side = await store.commit("acme/deploy", "side", { "a.yaml": "2", "d/b.yaml": "2" }, { from: start });
      await commits({ "other.yaml": "1" });
      const merge = revision(await store.commit("acme/deploy", "main", {}, { merging: side }));
      const [one, two] = await commits({ "c.yaml": "1" }, { "a.yaml": "3" }, { "d/b.yaml": "3", "free.yaml": "1" });
      const tip = revision(await host.tip("main"));
      const snapshot = await under.repositories.open(await host.change(1, {}), host.source(1));
      const reverted = (newest: string, oldest = newest) => ({ newest: revision(newest), oldest: revision(oldest) });
      expect(await snapshot.revertConflicts(reverted(merge), tip)).toEqual(["a.yaml", "d/b.yaml"]);
      expect(await snapshot.revertConflicts(reverted(merge), revision(one ?? ""))).toEqual([]);
      expect(await snapshot.revertConflicts(reverted(two ?? "", one), tip)).toEqual([]);
      expect(await snapshot.revertConflicts(reverted(two ?? "", merge), tip)).toEqual(["d/b.yaml"]);
      expect(await snapshot.revertConflicts(reverted(start), tip)).toBe(undefined);
    });

    test("past texts of a path come newest first, each once, along first parents", async () => {
      const ids = await commits(
        { "a.yaml": "1" },
        { "a.yaml": "2" },
        { "b.yaml": "other" },
        { "a.yaml": "1" },
        { "a.yaml": null },
        { "a.yaml": "\0" },
      );
      const side = await host.store.commit("acme/deploy", "side", { "a.yaml": "side" }, { from: ids[0] ?? "" });
      const tip = await host.store.commit("acme/deploy", "main", { "a.yaml": "3" }, { merging: side });
      const snapshot = await under.repositories.open(await host.change(1, {}), host.source(1));
      const texts: (string | undefined)[] = [];
      for await (const text of snapshot.pastTexts(revision(tip), "a.yaml")) texts.push(text);
      expect(texts).toEqual(["3", undefined, "1", "2"]);
    });

    test("a head that moved is reported unless it is confirmed, and one that was opened before stays readable", async () => {
      const first = await host.change(1, { "a.yaml": "1" });
      await under.repositories.open(first, host.source(1));
      const second = await host.change(1, { "a.yaml": "2" });
      await host.setRef("refs/pull/2/head", second.headRevision);
      const stale = await host.store.commit("acme/deploy", "stale", { "a.yaml": "3" }, { from: first.baseRevision });
      const moved = { ...first, number: 2, headRevision: revision(stale) };
      await expect(under.repositories.open(moved, host.source(2))).rejects.toThrow(HeadMoved);
      const confirmed = await under.repositories.open(moved, host.source(2), { confirmed: true });
      expect(await confirmed.read(moved.headRevision, ["a.yaml"])).toEqual(new Map([["a.yaml", "3"]]));
      const snapshot = await under.repositories.open(first, host.source(1));
      expect(await snapshot.read(first.headRevision, ["a.yaml"])).toEqual(new Map([["a.yaml", "1"]]));
    });

    test("an aborted signal stops opening and reading with its reason", async () => {
      const change = await host.change(1, {});
      const aborted = new AbortController();
      const snapshot = await under.repositories.open(change, host.source(1), aborted);
      aborted.abort(new Error("superseded"));
      await expect(snapshot.list(change.headRevision)).rejects.toThrow("superseded");
      await expect(under.repositories.open(change, host.source(1), aborted)).rejects.toThrow("superseded");
    });
  });
}
