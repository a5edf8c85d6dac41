import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { isBot, translateGitLabEvent } from "../../../src/hosts/gitlab/webhook.js";
import { collectGarbage } from "../../collect-garbage.js";
import { sample } from "../gitlab-samples.js";

const origin = { delivery: "hostb-1", change: { host: "hostb", repository: "acme/platform/gitops", number: 17 } };
const HEAD = "4a4b4c4d4e4f5051525354555657585960616263";
const ignored = { ignored: expect.any(String) };
const oldNote = { action: undefined, created_at: "2026-03-02 11:30:00 UTC", updated_at: "2026-03-02 11:30:00 UTC" };

const reviewer = { id: 102, username: "bo", state: "unreviewed", re_requested: false };
const requested = {
  changes: { reviewers: { previous: [reviewer], current: [{ ...reviewer, state: "requested_changes" }] } },
};

describe("GitLab's events", () => {
  test.each<[string, unknown, object]>([
    ["opened", sample("merge_request.open"), { ...origin, kind: "updated", reason: "opened" }],
    ["opened from a fork", sample("merge_request.open.fork"), { kind: "updated", reason: "opened" }],
    ["reopened", sample("merge_request.reopen"), { ...origin, kind: "updated", reason: "reopened" }],
    [
      "new commits",
      sample("merge_request.update.oldrev"),
      { ...origin, kind: "updated", reason: "pushed", pushed: HEAD },
    ],
    [
      "new commits of an unreadable head",
      sample("merge_request.update.oldrev", { object_attributes: { last_commit: { id: "--upload-pack=x" } } }),
      { ...origin, kind: "updated", reason: "pushed", pushed: undefined },
    ],
    [
      "target branch changed",
      sample("merge_request.update.target-branch"),
      { ...origin, kind: "updated", reason: "retargeted" },
    ],
    [
      "target branch changed, from GitLab before 16.10",
      sample("merge_request.update.no-oldrev.labels", {
        changes: { labels: undefined, merge_status: { previous: "can_be_merged", current: "unchecked" } },
      }),
      { ...origin, kind: "updated", reason: "retargeted" },
    ],
    [
      "draft made ready",
      sample("merge_request.update.draft-to-ready"),
      { ...origin, kind: "updated", reason: "ready" },
    ],
    [
      "made a draft",
      sample("merge_request.update.draft-to-ready", { changes: { draft: { previous: false, current: true } } }),
      { ...origin, kind: "reviewed" },
    ],
    ["changes requested", sample("merge_request.update.no-oldrev.labels", requested), { ...origin, kind: "reviewed" }],
    ["labels changed", sample("merge_request.update.no-oldrev.labels"), ignored],
    ["update without changes", sample("merge_request.update.no-oldrev.labels", { changes: {} }), ignored],
    ["closed", sample("merge_request.close"), { ...origin, kind: "closed" }],
    ["merged", sample("merge_request.merge"), { ...origin, kind: "closed" }],
    ["approval", sample("merge_request.approval"), { ...origin, kind: "reviewed" }],
    ["approved", sample("merge_request.approved"), { ...origin, kind: "reviewed" }],
    ["approvals reset by a push", sample("merge_request.unapproved.system-reset"), { ...origin, kind: "reviewed" }],
    ["unknown action", sample("merge_request.open", { object_attributes: { action: "sing" } }), ignored],
    ["no action", sample("merge_request.open", { object_attributes: { action: null } }), ignored],
    ["note edited", sample("note.on-mr.update"), ignored],
    ["note on a line of the diff", sample("note.on-mr.diff-thread"), ignored],
    ["internal note", sample("note.on-mr.internal"), ignored],
    ["confidential note", sample("note.on-mr.create", { event_type: "confidential_note" }), ignored],
    ["system note", sample("note.system"), ignored],
    ["note on an issue", sample("note.on-issue.create"), ignored],
    ["note sent by somebody else", sample("note.on-mr.create", { user: { id: 777 } }), ignored],
    ["new note of an old GitLab", sample("note.on-mr.create", { object_attributes: oldNote }), { kind: "commented" }],
    [
      "edited note of an old GitLab",
      sample("note.on-mr.create", { object_attributes: { ...oldNote, updated_at: "2026-03-02 11:31:00 UTC" } }),
      ignored,
    ],
    ["push", { object_kind: "push" }, ignored],
    ["a body that a webhook template changed", { text: "hi" }, ignored],
    ["a null", null, ignored],
  ])("%s", (_, payload, expected) => {
    expect(translateGitLabEvent("hostb-1", payload)).toMatchObject(expected);
  });

  test("a new note", () => {
    expect(translateGitLabEvent("hostb-1", sample("note.on-mr.create.sync"))).toMatchObject({
      ...origin,
      kind: "commented",
      commentId: expect.stringMatching(/^\d+$/),
      body: "svc sync\n\nshipping before merge",
      author: { login: expect.any(String), bot: false },
    });
  });

  test.each([
    ["project_42_bot_0123456789abcdef", true],
    ["group_7_bot_0123456789abcdef", true],
    ["project_42_bot", true],
    ["project_42_bot1", true],
    ["service_account_0123456789abcdef", true],
    ["ana.fictional", false],
    ["project_manager_bot", false],
    ["abbot", false],
  ])("%s is a bot: %s", (username, expected) => {
    expect(isBot(username)).toBe(expected);
  });

  test("no damaged member makes the translation throw", () => {
    const keys = fc.constantFrom("object_kind", "user", "project", "object_attributes", "merge_request", "changes");
    const bodies = fc.constantFrom(sample("note.on-mr.create"), sample("merge_request.update.oldrev"));
    fc.assert(
      fc.property(bodies, keys, fc.jsonValue(), (body, key, value) => {
        const event = translateGitLabEvent("hostb-1", { ...body, [key]: value });
        expect("ignored" in event || "kind" in event).toBe(true);
      }),
    );
  });
});

test("an event of a long comment does not keep the rest of the comment in memory", () => {
  const long = (index: number) => JSON.stringify(sample("note.on-mr.create", { object_attributes: { id: index + 1 } }));
  const rest = " x".repeat(512 * 1024);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const events = Array.from({ length: 64 }, (_, index) =>
    translateGitLabEvent(`hostb-${index}`, JSON.parse(long(index).replace("svc plan", `svc plan${rest}`))),
  );
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(32 * 1024 * 1024);
  const cut = { kind: "commented", body: expect.stringMatching(/^svc plan x/) };
  expect(events).toEqual(events.map(() => expect.objectContaining(cut)));
});
