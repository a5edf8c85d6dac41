import { expect, test } from "@jest/globals";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import type { CodeHostUnderTest } from "./code-host-under-test.js";

let opened = 0;

/** Who approved the head commit. `required` is how many approvals the host's own rules ask for. */
export function approvalContract(under: () => CodeHostUnderTest, required: number): void {
  const open = (): Promise<ChangeRequest> => under().open({ [`approval-${(opened += 1)}.txt`]: "1" });
  const review = (number: number, by: string, verdict: "approve" | "request-changes" | "comment"): Promise<void> =>
    under().forge.review(under().repository, number, by, verdict);
  const refused = (missing: RegExp) => ({ approved: false, missing: expect.stringMatching(missing) });
  /** As many approvals as the rules want, the last one by `bo`. */
  async function approveAll(number: number): Promise<void> {
    for (const login of ["cy", "dora", "eli"].slice(0, Math.max(0, required - 1))) {
      under().forge.setAccess(under().repository, login, "write");
      await review(number, login, "approve");
    }
    await review(number, "bo", "approve");
  }

  test("nobody: not approved, whatever the host's own word for an empty set of rules", async () => {
    const verdict = await under().host.reviews(await open());
    expect(verdict).toEqual({ approved: false, approvers: [], people: [], missing: expect.any(String), looks: [] });
  });

  test("a person with write access", async () => {
    const change = await open();
    await approveAll(change.number);
    const verdict = await under().host.reviews(change);
    expect(verdict).toMatchObject({ approved: true, missing: undefined });
    expect(verdict.approvers).toContain("bo");
    expect(verdict.approvers).toHaveLength(Math.max(1, required));
  });

  test("the author alone does not count", async () => {
    const change = await open();
    const given = review(change.number, "ana", "approve");
    if (under().authorMayApprove) await given;
    else await expect(given).rejects.toThrow(/approve your own/);
    expect(await under().host.reviews(change)).toEqual({
      approved: false,
      approvers: [],
      people: [],
      missing: expect.any(String),
      looks: expect.any(Array),
    });
  });

  test("somebody without write access does not count", async () => {
    const change = await open();
    under().forge.setAccess(under().repository, "rita", "read");
    for (const login of ["stranger", "rita"]) {
      const given = review(change.number, login, "approve");
      const { refusesApproval } = under();
      if (refusesApproval === undefined) await given;
      else await expect(given).rejects.toThrow(refusesApproval);
    }
    expect(await under().host.reviews(change)).toEqual({
      approved: false,
      approvers: [],
      people: [],
      missing: expect.any(String),
      looks: expect.any(Array),
    });
  });

  test("a program does not count", async () => {
    const change = await open();
    const program = under().title === "GitHub" ? "renovate[bot]" : "project_77_bot_0a1b2c3d4e5f60718293a4b5c6d7e8f9";
    under().forge.setAccess(under().repository, program, "write");
    await review(change.number, program, "approve");
    expect(await under().host.reviews(change)).toMatchObject({ approved: false, approvers: [] });
  });

  test("somebody who lost write access since does not count any more", async () => {
    const { forge, repository, host } = under();
    const change = await open();
    await approveAll(change.number);
    forge.setAccess(repository, "bo", "read");
    const verdict = await host.reviews(change);
    forge.setAccess(repository, "bo", "write");
    expect(verdict.approvers).not.toContain("bo");
    expect(verdict).toMatchObject({ approved: false, missing: expect.any(String) });
    expect(await host.reviews(change)).toMatchObject({ approved: true });
  });

  test("who was asked for a review is named while nobody approved", async () => {
    const { forge, repository, host } = under();
    const change = await open();
    forge.requestReviews(repository, change.number, ["cy"]);
    expect(await host.reviews(change)).toMatchObject(refused(/\bcy\b/));
  });

  test("the code owners' approval is waited for, and they are named", async () => {
    const { forge, repository, host, hasCodeOwners } = under();
    if (!hasCodeOwners) return;
    forge.setAccess(repository, "olivia", "write");
    forge.setCodeOwners(repository, ["olivia"]);
    try {
      const change = await open();
      forge.requestReviews(repository, change.number, ["olivia"]);
      await approveAll(change.number);
      expect(await host.reviews(change)).toMatchObject(refused(/code owner.*olivia|olivia \(code owner\)/));
      await review(change.number, "olivia", "approve");
      expect(await host.reviews(change)).toMatchObject({ approved: true });
    } finally {
      forge.setCodeOwners(repository, []);
    }
  });

  test("a comment in a review is no approval", async () => {
    const change = await open();
    await review(change.number, "bo", "comment");
    expect(await under().host.reviews(change)).toMatchObject({ approved: false, approvers: [] });
  });

  test("an older commit's approval does not count for the present head, a new one does", async () => {
    const { forge, repository, host } = under();
    const change = await open();
    await approveAll(change.number);
    await forge.push(repository, change.number, { "after-approval.txt": String(change.number) });
    const moved = await under().read(change.number);
    expect(await host.reviews(moved)).toMatchObject({ approved: false, approvers: [], missing: expect.any(String) });
    await approveAll(change.number);
    expect(await host.reviews(moved)).toMatchObject({ approved: true });
  });

  test("an approval from before the base changed does not count for the present one, nor as a look", async () => {
    const { forge, repository, host } = under();
    await forge.pushToBranch(repository, "staging", {});
    const { number } = await under().open({ [`retargeted-${(opened += 1)}.txt`]: "1" });
    await approveAll(number);
    await forge.retarget(repository, number, "staging");
    const moved = await under().read(number);
    expect(await host.reviews(moved)).toMatchObject({
      ...refused(/approved before the base changed (?:from main )?to staging: approve again/),
      approvers: [],
      people: [],
      looks: [],
    });
    await approveAll(number);
    expect(await host.reviews(moved)).toMatchObject({ approved: true });
  });

  test("a head that moved since the facts were read is not approved", async () => {
    const { forge, repository, host } = under();
    const change = await open();
    await approveAll(change.number);
    await forge.pushSilently(repository, change.number, { "moved.txt": String(change.number) });
    expect(await host.reviews(change)).toMatchObject(refused(/head commit changed/));
  });

  test("another reviewer's request for changes stands in the way until it is withdrawn", async () => {
    const change = await open();
    await approveAll(change.number);
    under().forge.setAccess(under().repository, "cara", "write");
    await review(change.number, "cara", "request-changes");
    expect(await under().host.reviews(change)).toMatchObject(refused(/cara requested changes/));
    await review(change.number, "cara", "approve");
    expect(await under().host.reviews(change)).toMatchObject({ approved: true });
  });

  test("one's own later request for changes takes one's approval back", async () => {
    const change = await open();
    await approveAll(change.number);
    await review(change.number, "bo", "request-changes");
    const verdict = await under().host.reviews(change);
    expect(verdict).toMatchObject(refused(/bo requested changes/));
    expect(verdict.approvers).not.toContain("bo");
    await review(change.number, "bo", "approve");
    expect(await under().host.reviews(change)).toMatchObject({ approved: true });
  });

  test("fewer people than the host's rules ask for", async () => {
    if (required < 2) return;
    const change = await open();
    await review(change.number, "bo", "approve");
    const missing = under().title === "GitHub" ? /requires more reviews/ : /rules are not all met/;
    expect(await under().host.reviews(change)).toMatchObject(refused(missing));
  });

  test("who wrote and pushed each commit is told, by account, and an address without one is unknown", async () => {
    const { forge, repository, host } = under();
    const change = await open();
    const path = `pushed-${change.number}.txt`;
    const second = await forge.push(repository, change.number, { [path]: "2" }, { by: "bo", author: "cy" });
    const author = { name: "Nobody", email: "nobody@nowhere.example" };
    const third = await forge.push(repository, change.number, { [path]: "3" }, { by: "cy", author, committer: "cy" });
    const fourth = await forge.updateBranch(repository, change.number, "bo");
    const { accounts, pushes, opened } = await host.authorship(await under().read(change.number));
    const told = (commit: string) => accounts.get(commit)?.people.map(({ login }) => login);
    expect([...new Set(told(change.headRevision))]).toEqual(["ana"]);
    expect([...new Set(told(second))]).toEqual(["cy"]);
    expect(accounts.get(second)?.unknown).toBe(false);
    expect(accounts.get(third)).toMatchObject({ unknown: true });
    expect(told(third)).toContain("cy");
    expect(told(fourth)).not.toContain("web-flow");
    expect(pushes.map(({ by, before, after }) => [by?.login, before, after])).toEqual(
      expect.arrayContaining([
        ["ana", undefined, change.headRevision],
        ["bo", change.headRevision, second],
        ["cy", second, third],
        ["bo", third, fourth],
      ]),
    );
    expect(opened).toBe(under().title === "GitLab" ? change.headRevision : undefined);
  });

  test("an approver is told with the commit that they saw", async () => {
    const { forge, repository, host } = under();
    const change = await open();
    await review(change.number, "bo", "approve");
    const looks = async () =>
      (await host.reviews(await under().read(change.number))).looks.map(({ by, saw }) => [by.login, saw]);
    expect(await looks()).toEqual([["bo", change.headRevision]]);
    await forge.push(repository, change.number, { [`seen-${change.number}.txt`]: "1" });
    const resets = under().title === "GitLab" && under().hasCodeOwners;
    expect(await looks()).toEqual(resets ? [] : [["bo", change.headRevision]]);
  });

  test("the host was asked as its description has it", () => {
    expect(under().forge.violations).toEqual([]);
    expect(under().quickActions()).toEqual([]);
  });
}
