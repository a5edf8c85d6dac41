import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Forge } from "../../sandbox/forge.js";
import { repositoryName } from "../../src/core/model/brand.js";
import { example } from "../hosts/github-samples.js";
import { sample } from "../hosts/gitlab-samples.js";
import { deliver, HOSTS, REPOSITORY, SENDERS, startWebhooks, type WebhooksUnderTest } from "./webhooks-under-test.js";

let under: WebhooksUnderTest;
beforeAll(async () => {
  under = await startWebhooks();
  for (const host of HOSTS) await under.forges[host].pushToBranch(REPOSITORY, "release", { "release.txt": "1" });
});
afterAll(() => under.stop());

const ignored = { status: 200, body: { status: "ignored", reason: expect.any(String) } };
let opened = 0;

describe.each(HOSTS)("what people do on %s", (host) => {
  let forge: Forge;
  let number: number;
  let answered: number;
  const open = (more: object = {}): Promise<number> =>
    forge.open({ repository: REPOSITORY, by: "ana", changes: { [`event-${(opened += 1)}.txt`]: "1" }, ...more });
  beforeEach(async () => {
    forge = under.forges[host];
    number = await open({ draft: true });
    await forget();
  });
  async function forget(): Promise<void> {
    await under.idle();
    under.events.length = 0;
    answered = forge.deliveries.length;
  }
  /** The events that ran, without what all of them have. */
  async function events(): Promise<object[]> {
    await under.idle();
    for (const { status } of forge.deliveries.slice(answered)) expect(status).toBe(200);
    expect(forge.deliveries.length).toBeGreaterThan(answered);
    return under.events.map(({ delivery, change, ...rest }) => {
      expect(delivery).toMatch(new RegExp(`^${host}-`));
      expect(change).toEqual({ host, repository: REPOSITORY, repositoryId: forge.repositoryId(REPOSITORY), number });
      return rest;
    });
  }
  const updated = (reason: string) => [{ kind: "updated", reason }];

  test("opened", async () => {
    number = await open();
    expect(await events()).toEqual(updated("opened"));
  });

  test("pushed", async () => {
    await forge.push(REPOSITORY, number, { "more.txt": "1" });
    const pushed = forge.changeRequest(REPOSITORY, number).headRevision;
    expect(await events()).toEqual([{ kind: "updated", reason: "pushed", pushed }]);
  });

  test.each<[string, (forge: Forge, number: number) => Promise<unknown>, object[]]>([
    ["another base branch", (one, n) => one.retarget(REPOSITORY, n, "release"), updated("retargeted")],
    ["ready for review", (one, n) => one.markDraft(REPOSITORY, n, false), updated("ready")],
    ["closed", (one, n) => one.close(REPOSITORY, n), [{ kind: "closed" }]],
    ["approved", (one, n) => one.review(REPOSITORY, n, "bo", "approve"), [{ kind: "reviewed" }]],
    ["another title", (one, n) => one.rename(REPOSITORY, n, `Renamed ${n}`), []],
    ["a comment on a plain issue", (one) => one.commentOnIssue(REPOSITORY, "ana", "svc sync"), []],
  ])("%s", async (_, act, expected) => {
    await act(forge, number);
    expect(await events()).toEqual(expected);
  });

  test("a label", async () => {
    await under.forges[host].label(REPOSITORY, number, "urgent");
    expect(await events()).toEqual([]);
  });

  test("back to draft", async () => {
    await forge.markDraft(REPOSITORY, number, false);
    await forget();
    await forge.markDraft(REPOSITORY, number, true);
    expect(await events()).toMatchObject([{ kind: "reviewed" }]);
  });

  test("merged by a person", async () => {
    await forge.markDraft(REPOSITORY, number, false);
    await forget();
    await forge.mergeByHand(REPOSITORY, number, "bo");
    expect(await events()).toEqual([{ kind: "closed" }]);
  });

  test("reopened", async () => {
    await forge.close(REPOSITORY, number);
    await forget();
    await forge.reopen(REPOSITORY, number);
    expect(await events()).toEqual(updated("reopened"));
  });

  test("a person's comment, its edit, and its redelivery", async () => {
    const commentId = await forge.comment(REPOSITORY, number, "bo", "svc plan");
    const comment = {
      kind: "commented",
      commentId,
      body: "svc plan",
      author: { id: expect.any(String), login: "bo", bot: false },
    };
    expect(await events()).toEqual([comment]);
    const [delivery] = forge.deliveries.slice(answered);
    expect(JSON.parse(delivery?.body ?? "")).toEqual({ status: "accepted" });
    await forge.redeliver(delivery?.id ?? "");
    await forge.editComment(REPOSITORY, number, commentId, "bo", "svc sync");
    expect(await events()).toEqual([comment]);
    const answers = forge.deliveries.slice(answered + 1).map(({ body }) => JSON.parse(body) as unknown);
    expect(answers).toEqual([ignored.body, ignored.body]);
  });

  test("our own comment carries our own account, and another program's is known for one", async () => {
    const client = under.clients[host];
    await client.postComment({ host, repository: repositoryName(REPOSITORY), number }, "svc plan", {
      urgency: "result",
    });
    const own = { kind: "commented", author: await client.self() };
    expect(await events()).toEqual([expect.objectContaining(own)]);
    await forget();
    const program = host === "hosta" ? "renovate[bot]" : "project_77_bot_0a1b2c3d4e5f60718293a4b5c6d7e8f9";
    await forge.comment(REPOSITORY, number, program, "svc plan");
    expect(await events()).toMatchObject([{ kind: "commented", author: { login: program, bot: true } }]);
  });

  test("the host had nothing to object to", () => {
    expect(under.forges[host].violations).toEqual([]);
  });
});

describe("events that are not ours are answered 200", () => {
  test.each<[string, object]>([
    ["ping", { zen: "x", hook_id: 1 }],
    ["installation", { action: "created", installation: { id: 5 } }],
    ["installation_repositories", { action: "added", installation: { id: 5 } }],
    ["check_suite", { action: "requested" }],
    ["hologram", {}],
    ["", {}],
    ["issue_comment", example("issue_comment", 3)],
  ])("GitHub's %j", async (name, payload) => {
    const answer = await deliver(under.url, SENDERS.hosta, JSON.stringify(payload), { "x-github-event": name });
    expect(answer).toEqual(ignored);
  });

  test.each<[string, object]>([
    ["internal note", sample("note.on-mr.internal")],
    ["system note", sample("note.system")],
    ["note on a line of the diff", sample("note.on-mr.diff-thread")],
    ["note on an issue", sample("note.on-issue.create")],
    ["edited note", sample("note.on-mr.update")],
    ["update without oldrev", sample("merge_request.update.no-oldrev.labels")],
    ["push", { object_kind: "push" }],
    ["hologram", { object_kind: "hologram" }],
    ["event of a custom template", { text: "hello" }],
  ])("GitLab's %s", async (_, payload) => {
    expect(await deliver(under.url, SENDERS.hostb, JSON.stringify(payload))).toEqual(ignored);
  });
});
