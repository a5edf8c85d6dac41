import { expect, test } from "@jest/globals";
import type { Fault } from "../../sandbox/faults.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import type { CodeHostUnderTest } from "./code-host-under-test.js";

const BO = { id: "4711", login: "bo", bot: false };
let made = 0;

/** Opening a revert of what was merged. */
export function revertContract(under: () => CodeHostUnderTest): void {
  /** A merged change request of one file. */
  async function merged(commits = 1): Promise<{ readonly change: ChangeRequest; readonly file: string }> {
    const { forge, repository, open, read } = under();
    const file = `revert-${(made += 1)}.txt`;
    await forge.pushToBranch(repository, "main", { [file]: "0\n" });
    const { number } = await open({ [file]: "1\n" });
    for (let count = 1; count < commits; count += 1) {
      await forge.push(repository, number, { [file]: `${count + 1}\n` });
    }
    await forge.mergeByHand(repository, number, "bo");
    return { change: await read(number), file };
  }
  /** Has the last call of a revert fail. */
  const hinder = (fault: Fault) => {
    const { forge, paths } = under();
    const { nth, ...call } = paths.revert;
    const act = () => undefined;
    if (nth > 1) forge.faults.add({ ...call, times: nth - 1, fault: { kind: "meanwhile", act } });
    return forge.faults.add({ ...call, times: 1, fault });
  };
  const branches = async () =>
    (await under().store.branches(under().repository)).filter((one) => one.includes("revert"));
  const textAt = async (revision: string, file: string) =>
    under().store.entryAt(under().repository, revision, file)?.content.toString();

  test.each([1, 2])("of %d commits is opened by our own account, and tells whom it was made for", async (commits) => {
    const { change, file } = await merged(commits);
    const { host, read } = under();
    const outcome = await host.revert(change, BO);
    if (outcome.kind !== "opened") throw new Error(outcome.reason);
    expect(outcome.known).toBe(false);
    const revert = await read(outcome.number);
    expect(revert).toMatchObject({ author: { id: (await host.self()).id }, state: "open", baseBranch: "main" });
    expect(revert.title).toBe(`Revert "${change.title}"`);
    expect(await textAt(revert.headRevision, file)).toBe("0\n");
    const { reverts, pushes } = await host.authorship(revert);
    expect(reverts).toEqual({ of: change.number, askedBy: "4711" });
    expect(pushes.find(({ after }) => after === revert.headRevision)).toMatchObject({ by: revert.author });
    expect((await host.authorship(change)).reverts).toBeUndefined();
  });

  test("is found again while it is open, whoever asks, and made anew after it was closed", async () => {
    const { change } = await merged();
    const { host, forge, repository } = under();
    const first = await host.revert(change, BO);
    expect(await host.revert(change, { ...BO, id: "4712" })).toEqual({ ...first, known: true });
    if (first.kind !== "opened") throw new Error(first.reason);
    await forge.close(repository, first.number);
    expect(await host.revert(change, BO)).toMatchObject({ kind: "opened", known: false });
  });

  test("whose answer got lost is found, and not made twice", async () => {
    const { change } = await merged();
    const { host } = under();
    const before = await branches();
    const heal = hinder({ kind: "lost-answer" });
    const outcome = await host.revert(change, BO);
    heal();
    expect(outcome).toMatchObject({ kind: "opened" });
    expect(await host.revert(change, BO)).toEqual({ ...outcome, known: true });
    expect((await branches()).length).toBe(before.length + 1);
  });

  test("that an attempt left half made is made anew, without what others put there", async () => {
    const { change, file } = await merged();
    const { host, forge, repository, read } = under();
    await forge.pushToBranch(repository, `svc-revert-${change.number}-by-${BO.id}`, { "evil.txt": "1\n" });
    const outcome = await host.revert(change, BO);
    if (outcome.kind !== "opened") throw new Error(outcome.reason);
    const { headRevision } = await read(outcome.number);
    expect([await textAt(headRevision, file), await textAt(headRevision, "evil.txt")]).toEqual(["0\n", undefined]);
  });

  test("that conflicts is refused with the host's words, and leaves no branch", async () => {
    const { change, file } = await merged();
    const { host, forge, repository } = under();
    await forge.pushToBranch(repository, "main", { [file]: "9\n" });
    const before = await branches();
    expect(await host.revert(change, BO)).toEqual({
      kind: "refused",
      reason: expect.stringMatching(/^Git(?:Hub|Lab) says ".*cannot.*"/),
      tried: { newest: change.mergedAs, oldest: change.mergedAs },
    });
    expect(await branches()).toEqual(before);
  });

  test("that the host fails to open leaves no branch, and the failure is told", async () => {
    const { change } = await merged();
    const { host } = under();
    const before = await branches();
    const heal = hinder({ kind: "status", status: 500, body: "{}" });
    await expect(host.revert(change, BO)).rejects.toThrow(/failed|could not/);
    heal();
    expect(await branches()).toEqual(before);
  });

  test("of a fast-forward takes back every commit, newest first", async () => {
    const { fastForward } = under();
    fastForward?.(true);
    const { change, file } = await merged(3);
    fastForward?.(false);
    const { host, read } = under();
    const outcome = await host.revert(change, BO);
    if (outcome.kind !== "opened") throw new Error(outcome.reason);
    expect(await textAt((await read(outcome.number)).headRevision, file)).toBe("0\n");
  });
}
