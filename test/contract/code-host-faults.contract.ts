import { afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { listenOnLoopback } from "../../sandbox/loopback.js";
import { GITLAB_TOKEN } from "../../sandbox/world.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import type { CodeHost } from "../../src/core/ports/code-host.js";
import { FAULT_CASES, REQUEST_TIMEOUT_MS, type FaultCase } from "./code-host-fault-cases.js";
import type { CodeHostUnderTest, HostTraits } from "./code-host-under-test.js";

let opened = 0;

/** What a broken host does to each call: the right `HostFailure`, reads at most three times, writes never twice. */
export function faultsContract(under: () => CodeHostUnderTest): void {
  let host: CodeHost;
  /** For the host that does not answer at all; on a busy machine others may need longer than it waits. */
  let impatient: CodeHost;
  let change: ChangeRequest;

  beforeAll(async () => {
    const { clock } = under();
    host = under().client({ clock, requestTimeoutMs: 60_000 });
    impatient = under().client({ clock, requestTimeoutMs: REQUEST_TIMEOUT_MS });
    change = await open();
  });
  afterEach(() => under().forge.faults.clear());

  async function open(): Promise<ChangeRequest> {
    return under().open({ [`fault-${(opened += 1)}.txt`]: "1" });
  }
  /**
   * Octokit asks again when a token of GitHub that is younger than five seconds is answered 401, since it may not have
   * arrived everywhere; nothing was done then.
   */
  const isYoungToken = (name: string): boolean => name === "401" && under().title === "GitHub";

  /** Runs a call against the fault; returns what it threw and how often the request was sent. */
  async function broken(name: string, method: string, path: RegExp, call: () => Promise<unknown>) {
    const { fault } = caseOf(name);
    const arrived: unknown[] = [];
    const elsewhere = await listenOnLoopback((request, response) => {
      arrived.push(request.headers);
      response.end("{}");
    });
    const since = under().forge.requests.length;
    under().forge.faults.add({ method, path, fault: fault(`${elsewhere.url}/anywhere`) });
    let outcome: unknown;
    try {
      outcome = await call().catch((error: unknown) => error);
    } finally {
      under().forge.faults.clear();
      await elsewhere.stop();
    }
    expect(arrived).toEqual([]);
    return { outcome, sent: under().sent(method, path, since) };
  }

  function caseOf(name: string): FaultCase {
    const found = FAULT_CASES[name];
    if (found === undefined) throw new Error(`no case ${name}`);
    return found;
  }

  function expectFailure(name: string, error: unknown): void {
    const { reason, message } = caseOf(name);
    expect(error).toMatchObject({ name: "HostFailure", reason, message: expect.stringMatching(message(under())) });
    const text = String(error);
    expect(text).toMatch(new RegExp(`^HostFailure: ${under().title}`));
    expect(text).not.toContain(GITLAB_TOKEN);
    expect(text).not.toMatch(/ghs_|Bearer|PRIVATE KEY/);
    expect(text.length).toBeLessThan(500);
  }

  /** A caller learns whether it has to look before it tries again. */
  function expectOutcomeToldFor(name: string, error: unknown): void {
    expect(error).toMatchObject({ maybeDone: caseOf(name).unknown ?? false });
  }

  describe.each(Object.keys(FAULT_CASES))("%s", (name) => {
    const client = (): CodeHost => (name === "nothing" ? impatient : host);
    // What the host asked for before is over.
    beforeEach(() => under().clock.advance(3 * 60 * 60_000));

    test("in answer to a read", async () => {
      const { changeRequest } = under().paths;
      const { outcome, sent } = await broken(name, "GET", changeRequest, () => client().getChangeRequest(change));
      expectFailure(name, outcome);
      if (!isYoungToken(name)) expect(sent).toBe(caseOf(name).reads);
    });

    test("in answer to a new comment: sent again only when refused by the limit, and nothing is posted", async () => {
      if (isYoungToken(name)) return;
      const { comments } = under().paths;
      const { outcome, sent } = await broken(name, "POST", comments, () =>
        client().postComment(change, "text", { urgency: "help" }),
      );
      expectFailure(name, outcome);
      expectOutcomeToldFor(name, outcome);
      expect(sent).toBe(caseOf(name).writes ?? 1);
      expect(under().forge.changeRequest(under().repository, change.number).comments).toEqual([]);
    });

    test("in answer to an edit", async () => {
      if (isYoungToken(name)) return;
      const { editMethod, paths } = under();
      const edit = (): Promise<void> => client().editComment(change, "7", "text");
      const { outcome, sent } = await broken(name, editMethod, paths.comment, edit);
      expectFailure(name, outcome);
      expectOutcomeToldFor(name, outcome);
      expect(sent).toBe(caseOf(name).writes ?? 1);
    });

    test("in answer to a merge: refused or failed, and not merged", async () => {
      if (isYoungToken(name)) return;
      const { paths, title, repository, forge } = under();
      const intent = { method: "squash", deleteSourceBranch: true, protectedBranches: ["main"] } as const;
      const { outcome, sent } = await broken(name, "PUT", paths.merge, () =>
        client().merge(change, () => Promise.resolve(intent)),
      );
      // GitLab says 401 to who may not merge, and the token is good for reading.
      const refusals = title === "GitLab" ? ["401", "403", "409"] : ["403", "409"];
      if (refusals.includes(name)) {
        expect(outcome).toEqual({
          kind: "refused",
          reason: expect.stringMatching(/may not merge|head commit changed|does not allow this merge now/),
        });
      } else {
        expectFailure(name, outcome);
        expectOutcomeToldFor(name, outcome);
      }
      // A lock of GitLab's own answers 409 as well, so it is asked once more.
      const tries = title === "GitLab" && name === "409" ? 2 : 1;
      expect(sent).toBe(caseOf(name).writes ?? tries);
      expect(forge.changeRequest(repository, change.number).state).toBe("open");
      expect(await forge.branches(repository)).toContain(change.headBranch);
    });
  });

  test.each<[string, string, (paths: HostTraits["paths"]) => RegExp, (host: CodeHost) => Promise<unknown>]>([
    ["mergeability", "GET", (paths) => paths.changeRequest, (one) => one.mergeability(change)],
    ["state", "GET", (paths) => paths.changeRequest, (one) => one.state(change)],
    ["mayCommand", "GET", (paths) => paths.permission, (one) => one.mayCommand(change, user())],
    ["mayRead", "GET", (paths) => paths.permission, (one) => one.mayRead(change, { ...user(), external: false })],
    ["listOwnComments", "GET", (paths) => paths.comments, (one) => one.listOwnComments(change)],
    ["getChangeRequest, its branch", "GET", (paths) => paths.branch, (one) => one.getChangeRequest(change)],
  ])("%s is asked three times of a host that fails", async (_, method, path, call) => {
    const { outcome, sent } = await broken("500", method, path(under().paths), () => call(host));
    expectFailure("500", outcome);
    expect(sent).toBe(3);
  });

  test("approval is asked three times of a host that fails", async () => {
    const method = under().title === "GitHub" ? "POST" : "GET";
    const { outcome, sent } = await broken("500", method, under().paths.approvals, () => host.reviews(change));
    expectFailure("500", outcome);
    expect(sent).toBe(3);
  });

  test.each(["500", "429 with Retry-After", "a dropped connection"])("a read outlives two of: %s", async (name) => {
    const { forge, paths, clock } = under();
    const since = forge.requests.length;
    const started = clock.now().getTime();
    forge.faults.add({ method: "GET", path: paths.changeRequest, times: 2, fault: caseOf(name).fault("") });
    expect(await host.getChangeRequest(change)).toMatchObject({ headRevision: change.headRevision });
    expect(under().sent("GET", paths.changeRequest, since)).toBe(3);
    const waited = clock.now().getTime() - started;
    expect(waited).toBeGreaterThanOrEqual(name.startsWith("429") ? 14_000 : 1_500);
  });

  test("a comment whose answer is lost is not posted again", async () => {
    const { forge, paths, repository } = under();
    const other = await open();
    const since = forge.requests.length;
    forge.faults.add({ method: "POST", path: paths.comments, fault: { kind: "lost-answer" } });
    await expect(host.postComment(other, "once", { urgency: "result" })).rejects.toMatchObject({
      reason: "unreachable",
      maybeDone: true,
    });
    expect(under().sent("POST", paths.comments, since)).toBe(1);
    expect(forge.changeRequest(repository, other.number).comments).toHaveLength(1);
  });

  test("a comment that the rate limit refused is posted once the pause is over", async () => {
    const { forge, paths, repository, clock } = under();
    const other = await open();
    const started = clock.now().getTime();
    forge.faults.add({
      method: "POST",
      path: paths.comments,
      times: 1,
      fault: caseOf("429 with Retry-After").fault(""),
    });
    await host.postComment(other, "after the pause", { urgency: "result" });
    expect(clock.now().getTime() - started).toBeGreaterThanOrEqual(7_000);
    expect(forge.changeRequest(repository, other.number).comments).toHaveLength(1);
  });

  test("a result that the rate limit refused for an hour is posted after it, and help is not", async () => {
    const { forge, paths, repository, clock } = under();
    const other = await open();
    const started = clock.now().getTime();
    const fault = caseOf("429 for an hour").fault("");
    forge.faults.add({ method: "POST", path: paths.comments, times: 1, fault });
    await host.postComment(other, "the result", { urgency: "result" });
    expect(clock.now().getTime() - started).toBeGreaterThanOrEqual(3_600_000);
    forge.faults.add({ method: "POST", path: paths.comments, times: 1, fault });
    await expect(host.postComment(other, "help", { urgency: "help" })).rejects.toMatchObject({
      reason: "rate-limited",
    });
    await expect(host.postComment(other, "help", { urgency: "help" })).rejects.toMatchObject({
      reason: "rate-limited",
    });
    expect(forge.changeRequest(repository, other.number).comments.map(({ body }) => body)).toEqual(["the result"]);
    clock.advance(3_600_000);
  });

  test("a merge whose answer is lost is seen to have happened, and the branch goes", async () => {
    const { forge, paths, repository } = under();
    const other = await open();
    const since = forge.requests.length;
    forge.faults.add({ method: "PUT", path: paths.merge, fault: { kind: "lost-answer" } });
    const intent = { method: "merge", deleteSourceBranch: true, protectedBranches: ["main"] } as const;
    expect(await host.merge(other, () => Promise.resolve(intent))).toEqual({ kind: "merged", note: undefined });
    expect(under().sent("PUT", paths.merge, since)).toBe(1);
    expect(await forge.branches(repository)).not.toContain(other.headBranch);
  });

  test("a token of GitHub that is not known everywhere yet is used again, and the comment stands there once", async () => {
    if (under().title !== "GitHub") return;
    const { forge, paths, repository } = under();
    const other = await open();
    const fresh = under().client({ clock: under().clock });
    forge.faults.add({ method: "POST", path: paths.comments, times: 1, fault: caseOf("401").fault("") });
    await fresh.postComment(other, "once", { urgency: "result" });
    expect(forge.changeRequest(repository, other.number).comments).toHaveLength(1);
  });

  test("wrong credentials name the key of the configuration", async () => {
    const stranger = under().client({ clock: under().clock, wrongCredentials: true });
    for (const call of [() => stranger.self(), () => stranger.getChangeRequest(change)]) {
      const error: unknown = await call().catch((thrown: unknown) => thrown);
      expectFailure("401", error);
    }
  });

  function user() {
    return change.author ?? { id: "1", login: "ana", bot: false };
  }
}
