import { describe, expect, test } from "@jest/globals";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import type { MergeIntent } from "../../src/core/model/result.js";
import type { MergeOutcome } from "../../src/core/ports/code-host.js";
import type { CodeHostUnderTest } from "./code-host-under-test.js";

const keep: MergeIntent = {
  method: "squash",
  deleteSourceBranch: false,
  protectedBranches: ["main", "master", "develop", "development", "qa"],
};
const remove: MergeIntent = { ...keep, deleteSourceBranch: true };

let opened = 0;

/** Merging, with the head commit as guard, and what becomes of the source branch. */
export function mergeContract(under: () => CodeHostUnderTest): void {
  const open = (more: { branch?: string; base?: string; fork?: boolean; draft?: boolean } = {}) =>
    under().open({ [`merge-${(opened += 1)}.txt`]: "1" }, more);
  const merge = (change: ChangeRequest, intent = keep): Promise<MergeOutcome> =>
    under().host.merge(change, () => Promise.resolve(intent));
  const refused = (reason: RegExp) => ({ kind: "refused", reason: expect.stringMatching(reason) });
  const branches = (): Promise<readonly string[]> => under().forge.branches(under().repository);
  const state = (number: number): string => under().forge.changeRequest(under().repository, number).state;
  const tip = (branch: string): Promise<string | undefined> =>
    under().store.resolve(under().repository, `refs/heads/${branch}`);
  const parents = async (commit: string): Promise<number> => {
    const [facts] = await under().store.commits(under().repository, commit, commit);
    return facts?.parents.length ?? 0;
  };
  const mergeRequests = async (work: () => Promise<unknown>): Promise<number> => {
    const since = under().forge.requests.length;
    await work();
    return under().sent("PUT", under().paths.merge, since);
  };

  test.each([
    ["squash", 1],
    ["merge", 2],
  ] as const)("by %s, as our own account, and the branch stays when nobody asked", async (method, count) => {
    const change = await open();
    const before = await tip("main");
    expect(await merge(change, { ...keep, method })).toEqual({ kind: "merged", note: undefined });
    const { login } = await under().host.self();
    expect(under().forge.changeRequest(under().repository, change.number)).toMatchObject({
      state: "merged",
      mergedBy: login,
      headRevision: change.headRevision,
    });
    const after = (await tip("main")) ?? "";
    expect(after).not.toBe(before);
    expect(await parents(after)).toBe(count);
    expect(await branches()).toContain(change.headBranch);
  });

  test("a head that moved since it was looked at is not merged", async () => {
    const change = await open();
    await under().forge.pushSilently(under().repository, change.number, { "unseen.txt": String(change.number) });
    const main = await tip("main");
    expect(await mergeRequests(async () => expect(await merge(change)).toEqual(refused(/head commit changed/)))).toBe(
      1,
    );
    expect(state(change.number)).toBe("open");
    expect(await tip("main")).toBe(main);
  });

  test("what is not confirmed, or has another base branch by now, is not merged, and the host is not asked to", async () => {
    const { forge, repository, host } = under();
    await forge.pushToBranch(repository, "strict", {});
    const change = await open();
    const sent = await mergeRequests(async () => {
      expect(await host.merge(change, () => Promise.resolve(undefined))).toEqual({ kind: "barred" });
      await forge.retarget(repository, change.number, "strict");
      expect(await merge(change)).toEqual({ kind: "barred" });
    });
    expect(sent).toBe(0);
    expect(state(change.number)).toBe("open");
  });

  test("conflicts are not merged", async () => {
    const { forge, repository } = under();
    await forge.pushToBranch(repository, "main", { "fought.txt": "a\n" });
    const change = await under().open({ "fought.txt": "b\n" });
    await forge.pushToBranch(repository, "main", { "fought.txt": "c\n" });
    expect(await mergeRequests(async () => expect(await merge(change)).toEqual(refused(/by hand|conflicts/)))).toBe(1);
    expect(state(change.number)).toBe("open");
  });

  test("a draft is not merged", async () => {
    const change = await open({ draft: true });
    expect(await mergeRequests(async () => expect(await merge(change)).toEqual(refused(/merge by hand/)))).toBe(1);
    expect(state(change.number)).toBe("open");
  });

  test("a closed one is not merged", async () => {
    const change = await open();
    await under().forge.close(under().repository, change.number);
    expect(await merge(change, remove)).toEqual(refused(/by hand/));
    expect(state(change.number)).toBe("closed");
    expect(await branches()).toContain(change.headBranch);
  });

  test("a method that the repository does not allow is refused by name, and no other is taken", async () => {
    const { allowMergeMethods } = under();
    if (allowMergeMethods === undefined) return;
    const change = await open();
    allowMergeMethods("merge");
    expect(await merge(change, { ...keep, method: "squash" })).toEqual(refused(/method "squash"/));
    allowMergeMethods("merge", "squash", "rebase");
    expect(state(change.number)).toBe("open");
  });

  test("waits while the host computes whether it can be merged", async () => {
    const change = await open();
    under().forge.delayMergeability(under().repository, change.number, 3);
    expect(await merge(change)).toEqual({ kind: "merged", note: undefined });
    expect(state(change.number)).toBe("merged");
  });

  test("gives up computing after half a minute", async () => {
    const change = await open();
    under().forge.delayMergeability(under().repository, change.number, 100);
    const started = under().clock.now().getTime();
    expect(await mergeRequests(async () => expect(await merge(change)).toEqual(refused(/still computing/)))).toBe(4);
    expect(under().clock.now().getTime() - started).toBeLessThanOrEqual(30_000);
    expect(state(change.number)).toBe("open");
  });

  describe("the source branch", () => {
    const merged = (note: RegExp) => ({ kind: "merged", note: expect.stringMatching(note) });

    test.each(["simple", "feature/a-b", "fix/über#1"])("%s is deleted", async (branch) => {
      const change = await open({ branch });
      expect(await merge(change, remove)).toEqual({ kind: "merged", note: undefined });
      expect(await branches()).not.toContain(branch);
    });

    test.each(["main", "master", "develop", "development", "qa"])("%s is never deleted", async (branch) => {
      const { forge, repository } = under();
      await forge.pushToBranch(repository, `for-${branch}`, { [`for-${branch}.txt`]: "1" });
      const change = await open({ branch, base: `for-${branch}` });
      expect(await merge(change, remove)).toEqual(merged(/never deleted/));
      expect(await branches()).toContain(branch);
    });

    test("is not deleted by the host itself either", async () => {
      const { forge, repository } = under();
      await forge.pushToBranch(repository, "for-author", { "for-author.txt": "1" });
      const change = await open({ branch: "develop", base: "for-author" });
      expect(await merge(change, keep)).toEqual({ kind: "merged", note: undefined });
      expect(await branches()).toContain("develop");
    });

    test("of a fork is not touched", async () => {
      const { forge, repository } = under();
      const change = await under().open({ "fork-merge.txt": "1" }, { fork: true, by: "olga", branch: "mine" });
      expect(await merge(change, remove)).toEqual(merged(/another repository/));
      expect(await forge.branches(`olga/${repository.split("/").at(-1) ?? ""}`)).toContain("mine");
    });

    test("that is protected stays", async () => {
      const change = await open({ branch: "guarded" });
      under().forge.protectBranch(under().repository, "guarded");
      expect(await merge(change, remove)).toEqual(merged(/protected branch/));
      expect(await branches()).toContain("guarded");
    });

    test("that got newer commits meanwhile stays, also when a person was faster with the merge", async () => {
      const { forge, repository } = under();
      const change = await open({ branch: "busy" });
      await forge.mergeByHand(repository, change.number, "bo");
      const newer = await forge.pushToBranch(repository, "busy", { "busy.txt": "more" });
      expect(await merge(change, remove)).toEqual(merged(/newer commits/));
      expect(await tip("busy")).toBe(newer);
    });

    test("that another open one is based on stays", async () => {
      const { forge, repository } = under();
      const change = await open({ branch: "below" });
      const above = await open({ branch: "above", base: "below" });
      expect(await merge(change, remove)).toEqual(
        merged(new RegExp(`${repository}[#!]${above.number}, which is open`)),
      );
      expect(state(above.number)).toBe("open");
      await forge.close(repository, above.number);
      const next = await open({ branch: "below-2" });
      expect(await merge(next, remove)).toEqual({ kind: "merged", note: undefined });
    });

    test("that another open one comes from stays", async () => {
      const { forge, repository } = under();
      await forge.pushToBranch(repository, "release-9", { "release-9.txt": "1" });
      const change = await open({ branch: "for-two" });
      const at = change.headRevision;
      const other = await under().open({}, { branch: "for-two", base: "release-9", at });
      expect(await merge(change, remove)).toEqual(
        merged(new RegExp(`${repository}[#!]${other.number}, which is open`)),
      );
      expect(state(other.number)).toBe("open");
      expect(await branches()).toContain("for-two");
    });

    test("that somebody deleted already is fine", async () => {
      const { forge, repository, store } = under();
      const change = await open({ branch: "gone-already" });
      await forge.mergeByHand(repository, change.number, "bo");
      await store.setRef(repository, "refs/heads/gone-already", undefined);
      expect(await merge(change, remove)).toEqual({ kind: "merged", note: undefined });
    });

    test.each([403, 422, 500])(
      "stays with a note when its deletion is answered %d, which is sent once",
      async (status) => {
        const { forge, paths } = under();
        const change = await open();
        const heal = forge.faults.add({
          method: "DELETE",
          fault: { kind: "status", status, body: '{"message":"no"}' },
        });
        const since = forge.requests.length;
        expect(await merge(change, remove)).toEqual(
          merged(new RegExp(`${change.headBranch} was not deleted: .*${status}`)),
        );
        heal();
        expect(under().sent("DELETE", paths.deletedBranch, since)).toBe(1);
        expect(await branches()).toContain(change.headBranch);
      },
    );
  });
}
