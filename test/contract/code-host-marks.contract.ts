import { beforeAll, describe, expect, test } from "@jest/globals";
import type { ChangeRequest, User } from "../../src/core/model/change-request.js";
import type { CommitStatus } from "../../src/core/ports/code-host.js";
import type { CodeHostUnderTest } from "./code-host-under-test.js";

let opened = 0;

/** What we put on people's comments, on our own and on commits, and whose teams we look up. */
export function marksContract(under: () => CodeHostUnderTest): void {
  const open = (more = {}): Promise<ChangeRequest> => under().open({ [`marks-${(opened += 1)}.txt`]: "1" }, more);
  const commentOf = (number: number, id: string) =>
    under()
      .forge.changeRequest(under().repository, number)
      .comments.find((comment) => comment.id === id);

  describe("a reaction", () => {
    test.each([
      ["seen", "eyes"],
      ["done", "rocket"],
      ["failed", "confused"],
    ] as const)("%s is %s, and setting it twice is no error", async (reaction, name) => {
      const { forge, repository, host } = under();
      const { number } = await open();
      const id = await forge.comment(repository, number, "ana", "svc plan");
      await host.react(under().ref(number), id, reaction);
      await host.react(under().ref(number), id, reaction);
      const self = await host.self();
      expect(commentOf(number, id)?.reactions).toEqual([{ by: self.login, name }]);
    });

    test("another one stands beside the first", async () => {
      const { forge, repository, host } = under();
      const { number } = await open();
      const id = await forge.comment(repository, number, "ana", "svc sync");
      await host.react(under().ref(number), id, "seen");
      await host.react(under().ref(number), id, "done");
      expect(commentOf(number, id)?.reactions.map(({ name }) => name)).toEqual(["eyes", "rocket"]);
    });

    test("to a comment that is gone is a failure", async () => {
      const { number } = await open();
      await expect(under().host.react(under().ref(number), "7", "seen")).rejects.toMatchObject({
        name: "HostFailure",
        reason: "not-found",
      });
    });
  });

  test("an outdated comment is hidden where the host can, once and again", async () => {
    const { host, title } = under();
    const { number } = await open();
    const id = await host.postComment(under().ref(number), "old", { urgency: "result" });
    await host.minimise(under().ref(number), id);
    await host.minimise(under().ref(number), id);
    expect(commentOf(number, id)).toMatchObject({ minimised: title === "GitHub", body: "old", edited: false });
  });

  describe("the commit status", () => {
    const status = (state: CommitStatus["state"], more: Partial<CommitStatus> = {}): CommitStatus => ({
      state,
      description: `it is ${state}`,
      url: "https://svc.example.com/plans/1",
      ...more,
    });
    const statuses = (revision: string) => under().forge.statuses(under().repository, revision);

    async function openWithPipeline(): Promise<ChangeRequest> {
      const change = await open();
      under().forge.runPipeline(under().repository, change.number);
      return change;
    }

    test.each(["pending", "success", "failure"] as const)("%s, with its words and its link", async (state) => {
      const change = await openWithPipeline();
      expect(await under().host.setStatus(change, status(state))).toBe(true);
      expect(statuses(change.headRevision)).toEqual([
        { name: "svc/sync", state, description: `it is ${state}`, url: "https://svc.example.com/plans/1" },
      ]);
    });

    test("without a link, set anew and changed", async () => {
      const change = await openWithPipeline();
      const { host } = under();
      for (const state of ["pending", "pending", "success", "success", "pending", "failure"] as const) {
        await host.setStatus(change, status(state, { url: undefined }));
        expect(statuses(change.headRevision).at(-1)).toMatchObject({ name: "svc/sync", state, url: undefined });
      }
    });

    test("whose words are too long is cut, never inside a character", async () => {
      const change = await openWithPipeline();
      const { host, longestStatus } = under();
      await host.setStatus(change, status("success", { description: `${"x".repeat(longestStatus - 2)}🚀🚀 and more` }));
      expect(statuses(change.headRevision)).toMatchObject([{ description: `${"x".repeat(longestStatus - 2)}…` }]);
    });

    test("with an emoji, which not every host takes, is set", async () => {
      const change = await openWithPipeline();
      await under().host.setStatus(change, status("pending", { description: "held (🚧 ⏳) by olga" }));
      const description = expect.stringMatching(/^held \((?:🚧|\?) ⏳\) by olga$/u);
      expect(statuses(change.headRevision)).toMatchObject([{ state: "pending", description }]);
    });

    test("whose link is longer than the host takes is set without it", async () => {
      const change = await openWithPipeline();
      const url = `https://svc.example.com/${"deep/".repeat(60)}7`;
      await under().host.setStatus(change, status("failure", { url }));
      expect(statuses(change.headRevision)).toMatchObject([{ name: "svc/sync", state: "failure" }]);
    });

    test("of an older head is not put on the new one", async () => {
      const { forge, repository, host } = under();
      const change = await openWithPipeline();
      const head = await forge.push(repository, change.number, { "pushed.txt": String(change.number) });
      forge.runPipeline(repository, change.number);
      await host.setStatus(change, status("success"));
      expect(statuses(head)).toEqual([]);
    });

    test("waits for a pipeline where a status without one would make one", async () => {
      const change = await open();
      const { host, statusNeedsPipeline } = under();
      expect(await host.setStatus(change, status("success"))).toBe(!statusNeedsPipeline);
      expect(statuses(change.headRevision)).toHaveLength(statusNeedsPipeline ? 0 : 1);
    });

    test("of a fork's head is set on the target repository where the host can", async () => {
      const { forge, repository, host, statusNeedsPipeline } = under();
      const change = await open({ fork: true, by: "olga" });
      forge.runPipeline(repository, change.number);
      expect(await host.setStatus(change, status("pending"))).toBe(!statusNeedsPipeline);
      expect(statuses(change.headRevision)).toHaveLength(statusNeedsPipeline ? 0 : 1);
    });
  });

  describe("the members of a team", () => {
    let change: ChangeRequest;
    let ana: User;
    beforeAll(async () => {
      change = await open();
      ana = change.author ?? { id: "", login: "", bot: false };
      under().forge.setTeam(under().team, ["ana", "bo"]);
      under().forge.setTeam(`${under().team}-others`, ["cy"]);
    });
    const belongs = (teams: readonly string[], user = ana) => under().host.belongsToAny(change, user, teams);

    test("are in it, whatever the case of its name", async () => {
      const { team } = under();
      expect(await belongs([team])).toBe(true);
      expect(await belongs([team.toUpperCase()])).toBe(true);
    });

    test("are in one of several", async () => {
      const { team } = under();
      expect(await belongs([`${team}-others`, `${team}-nowhere`, team])).toBe(true);
    });

    test.each<[string, (team: string) => readonly string[]]>([
      ["no team", () => []],
      ["another team", (team) => [`${team}-others`]],
      ["a team that is not there", (team) => [`${team}-nowhere`]],
      ["another organization's team", () => ["umbrella/platform"]],
    ])("are not in: %s", async (_, teams) => {
      expect(await belongs(teams(under().team))).toBe(false);
    });

    test("are asked for anew each time", async () => {
      const { forge, team } = under();
      forge.setTeam(`${team}-moving`, ["ana"]);
      expect(await belongs([`${team}-moving`])).toBe(true);
      forge.setTeam(`${team}-moving`, []);
      expect(await belongs([`${team}-moving`])).toBe(false);
    });

    test("cannot be known when the host fails: that is a failure, not a no", async () => {
      const { forge, team } = under();
      const path = /\/memberships\/|\/groups\//;
      forge.faults.add({ method: "GET", path, times: 3, fault: { kind: "status", status: 502 } });
      await expect(belongs([team])).rejects.toMatchObject({ name: "HostFailure", reason: "failed" });
    });

    test("cannot be known without the permission, which is named", async () => {
      const { forge, team, title } = under();
      const body = JSON.stringify({ message: "Resource not accessible by integration" });
      const headers = { "content-type": "application/json" };
      const fault = { kind: "status", status: 403, body, headers } as const;
      forge.faults.add({ method: "GET", path: /\/memberships\/|\/groups\//, times: 1, fault });
      await expect(belongs([team])).rejects.toMatchObject({
        reason: "forbidden",
        message: expect.stringMatching(title === "GitHub" ? /Organization members: read/ : /scope api/),
      });
    });
  });

  test("more new comments than GitHub takes in a minute wait for the next one; reactions, edits and statuses do not", async () => {
    if (under().title !== "GitHub") return;
    const { client, clock, forge, repository } = under();
    const { number } = await open();
    const host = client({ clock });
    const change = await host.getChangeRequest(under().ref(number));
    const id = await forge.comment(repository, number, "ana", "svc plan");
    const started = clock.now().getTime();
    const posted: string[] = [];
    for (let at = 0; at < 80; at += 1) posted.push(await host.postComment(change, `${at}`, { urgency: "result" }));
    for (const comment of posted) await host.editComment(change, comment, "edited");
    await host.react(change, id, "seen");
    await host.setStatus(change, { state: "pending", description: "planning", url: undefined });
    expect(clock.now().getTime()).toBe(started);
    await host.postComment(change, "one more", { urgency: "result" });
    expect(clock.now().getTime() - started).toBeGreaterThanOrEqual(60_000);
  });
}
