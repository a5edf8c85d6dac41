import { expect, test } from "@jest/globals";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import type { CodeHostUnderTest } from "./code-host-under-test.js";

let made = 0;

/** Bringing the base branch into the head branch. */
export function updateContract(under: () => CodeHostUnderTest): void {
  /** A change request, and a newer commit of its base branch. */
  async function behind(): Promise<ChangeRequest> {
    const { forge, repository, open, read } = under();
    const file = `update-${(made += 1)}`;
    const { number } = await open({ [`${file}.txt`]: "1" });
    await forge.pushToBranch(repository, "main", { [`${file}-base.txt`]: "1" });
    return read(number);
  }
  const refused = (reason: RegExp) => ({ kind: "refused", reason: expect.stringMatching(reason) });
  const sent = async (work: () => Promise<unknown>): Promise<number> => {
    const since = under().forge.requests.length;
    await work();
    return under().sent("PUT", under().paths.update, since);
  };

  test("the head gets the commits of the base branch, by our own account", async () => {
    const change = await behind();
    expect(change.mergeBase).not.toBe(change.baseRevision);
    const rewritten = under().title === "GitLab";
    expect(await under().host.updateBranch(change)).toEqual({ kind: "moved", rewritten });
    const now = await under().read(change.number);
    expect(now.headRevision).not.toBe(change.headRevision);
    expect(now.mergeBase).toBe(change.baseRevision);
    const { pushes } = await under().host.authorship(now);
    const self = await under().host.self();
    expect(pushes.find(({ after }) => after === now.headRevision)).toMatchObject({
      by: { id: self.id },
      before: change.headRevision,
    });
    const { store, repository } = under();
    const changed = await store.changedPaths(repository, now.baseRevision, now.headRevision);
    expect(changed.map(({ path }) => path)).toEqual([`update-${made}.txt`]);
  });

  test("a head that moved since it was looked at stays as it is", async () => {
    const change = await behind();
    const { forge, repository, host } = under();
    const newer = await forge.pushSilently(repository, change.number, { "unseen-update.txt": String(made) });
    expect(await host.updateBranch(change)).toEqual(refused(/head/));
    expect((await under().read(change.number)).headRevision).toBe(newer);
  });

  test("one with another base branch by now is not updated, and the host is not asked to", async () => {
    const change = await behind();
    const { forge, repository, host } = under();
    await forge.pushToBranch(repository, `other-${made}`, {});
    await forge.retarget(repository, change.number, `other-${made}`);
    expect(await sent(async () => expect(await host.updateBranch(change)).toEqual(refused(/changed meanwhile/)))).toBe(
      0,
    );
  });

  test("what changes while the host's limit holds the update up is looked at again", async () => {
    const change = await behind();
    const { forge, repository, host, paths } = under();
    await forge.pushToBranch(repository, `other-${made}`, {});
    const act = () => forge.retarget(repository, change.number, `other-${made}`);
    const branch = new RegExp(`/branches/${change.headBranch}$`);
    forge.faults.add({ method: "GET", path: branch, times: 1, fault: { kind: "meanwhile", act } });
    const fault = { kind: "status", status: 429, headers: { "retry-after": "7" } } as const;
    forge.faults.add({ method: "PUT", path: paths.update, times: 1, fault });
    expect(await sent(async () => expect(await host.updateBranch(change)).toEqual(refused(/changed meanwhile/)))).toBe(
      1,
    );
    expect((await under().read(change.number)).headRevision).toBe(change.headRevision);
  });

  test("what the host's limit hides of an accepted update is looked at again, and nothing is asked for twice", async () => {
    const change = await behind();
    const { forge, host, paths } = under();
    const act = () => {
      const fault = { kind: "status", status: 429, headers: { "retry-after": "7" } } as const;
      forge.faults.add({ method: "GET", path: paths.changeRequest, times: 3, fault });
    };
    forge.faults.add({ method: "PUT", path: paths.update, times: 1, fault: { kind: "meanwhile", act } });
    expect(await sent(async () => expect(await host.updateBranch(change)).toMatchObject({ kind: "moved" }))).toBe(1);
  });

  test("a branch that the host protects is not pushed to, and the host is not asked to", async () => {
    const change = await behind();
    const { forge, repository, host } = under();
    forge.protectBranch(repository, change.headBranch);
    expect(
      await sent(async () => expect(await host.updateBranch(change)).toEqual(refused(/protects the branch/))),
    ).toBe(0);
  });

  test("conflicts are named, and the branch stays as it is", async () => {
    const { forge, repository, host, open, read } = under();
    await forge.pushToBranch(repository, "main", { "update-fought.txt": "a\n" });
    const { number } = await open({ "update-fought.txt": "b\n" });
    await forge.pushToBranch(repository, "main", { "update-fought.txt": "c\n" });
    const change = await read(number);
    expect(await host.updateBranch(change)).toEqual(refused(/conflict|Rebase failed/));
    expect((await read(number)).headRevision).toBe(change.headRevision);
  });

  test("a host that accepts it and does nothing is given a minute", async () => {
    const change = await behind();
    const { forge, paths, clock, host } = under();
    const heal = forge.faults.add({
      method: "PUT",
      path: paths.update,
      fault: {
        kind: "status",
        status: 202,
        body: '{"rebase_in_progress":true}',
        headers: { "content-type": "application/json" },
      },
    });
    const started = clock.now().getTime();
    expect(await host.updateBranch(change)).toEqual(refused(/within a minute/));
    heal();
    expect(clock.now().getTime() - started).toBeGreaterThanOrEqual(60_000);
    expect((await under().read(change.number)).headRevision).toBe(change.headRevision);
  });

  test("an answer that got lost is made up for by looking", async () => {
    const change = await behind();
    const { forge, paths, host } = under();
    const heal = forge.faults.add({ method: "PUT", path: paths.update, times: 1, fault: { kind: "lost-answer" } });
    expect(await host.updateBranch(change)).toMatchObject({ kind: "moved" });
    heal();
    expect((await under().read(change.number)).mergeBase).toBe(change.baseRevision);
  });
}
