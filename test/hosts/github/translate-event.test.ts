import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { translateGitHubEvent } from "../../../src/hosts/github/webhook.js";
import {
  CLOSED,
  commentOnPullRequest,
  CONVERTED_TO_DRAFT,
  derive,
  example,
  OPENED,
  READY_FOR_REVIEW,
  REOPENED,
  SYNCHRONIZE,
} from "../github-samples.js";

const change = { host: "hosta", repository: "Codertocat/Hello-World", number: 2 };
const origin = { delivery: "hosta-1", change };
const HEAD = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";
const ignored = { ignored: expect.any(String) };

const pull = (position: number, changes = {}) => derive(example("pull_request", position), changes);
const review = (position: number, changes = {}) => derive(example("pull_request_review", position), changes);

describe("GitHub's events", () => {
  test.each<[string, string, unknown, object]>([
    ["opened", "pull_request", pull(OPENED), { ...origin, kind: "updated", reason: "opened" }],
    ["reopened", "pull_request", pull(REOPENED), { ...origin, kind: "updated", reason: "reopened" }],
    ["new commits", "pull_request", pull(SYNCHRONIZE), { ...origin, kind: "updated", reason: "pushed", pushed: HEAD }],
    [
      "new commits of an unreadable head",
      "pull_request",
      pull(SYNCHRONIZE, { pull_request: { head: { sha: "--upload-pack=x" } } }),
      { ...origin, kind: "updated", reason: "pushed", pushed: undefined },
    ],
    ["ready for review", "pull_request", pull(READY_FOR_REVIEW), { ...origin, kind: "updated", reason: "ready" }],
    [
      "base branch changed",
      "pull_request",
      pull(OPENED, { action: "edited", changes: { base: { ref: { from: "old" } } } }),
      { ...origin, kind: "updated", reason: "retargeted" },
    ],
    ["title changed", "pull_request", pull(OPENED, { action: "edited", changes: { title: { from: "x" } } }), ignored],
    ["edited without changes", "pull_request", pull(OPENED, { action: "edited" }), ignored],
    ["closed", "pull_request", pull(CLOSED), { ...origin, kind: "closed" }],
    ["merged", "pull_request", pull(CLOSED, { pull_request: { merged: true } }), { ...origin, kind: "closed" }],
    ["made a draft", "pull_request", pull(CONVERTED_TO_DRAFT), { kind: "reviewed" }],
    ["queued", "pull_request", pull(OPENED, { action: "enqueued" }), { kind: "reviewed" }],
    ["put into a stack", "pull_request", pull(OPENED, { action: "stacked" }), { kind: "reviewed" }],
    ["taken out of a queue", "pull_request", pull(OPENED, { action: "dequeued" }), { kind: "reviewed" }],
    ["labeled", "pull_request", pull(OPENED, { action: "labeled" }), ignored],
    ["opened from a deleted fork", "pull_request", pull(OPENED, { pull_request: { head: { repo: null } } }), origin],
    ["review submitted", "pull_request_review", review(2), { kind: "reviewed" }],
    ["review dismissed", "pull_request_review", review(1), { kind: "reviewed" }],
    ["review edited", "pull_request_review", review(2, { action: "edited" }), { kind: "reviewed" }],
    ["some other review action", "pull_request_review", review(2, { action: "pinned" }), ignored],
    ["comment on a plain issue", "issue_comment", example("issue_comment", 3), ignored],
    ["comment edited", "issue_comment", commentOnPullRequest({ action: "edited" }), ignored],
    ["comment deleted", "issue_comment", commentOnPullRequest({ action: "deleted" }), ignored],
    ["comment of a deleted account", "issue_comment", commentOnPullRequest({ comment: { user: null } }), ignored],
    [
      "a merge group",
      "merge_group",
      example("merge_group", 0),
      {
        kind: "merge-group",
        change: { number: 104 },
        baseBranch: "main",
        headRevision: "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d",
      },
    ],
    ["a merge group that is gone", "merge_group", derive(example("merge_group", 0), { action: "destroyed" }), ignored],
    [
      "a merge group on a branch of another name",
      "merge_group",
      derive(example("merge_group", 0), { merge_group: { head_ref: "refs/heads/gh-readonly-queue/main/mine" } }),
      ignored,
    ],
    [
      "a push to a merge queue's branch",
      "push",
      derive(example("push", 0), { ref: "refs/heads/gh-readonly-queue/main/pr-1-abc", deleted: false }),
      { ignored: "the branch belongs to a merge queue" },
    ],
    ["ping", "ping", { zen: "x" }, ignored],
    ["installation", "installation", { action: "created" }, ignored],
    ["check_run", "check_run", { action: "created" }, ignored],
    ["an event of the future", "hologram", {}, ignored],
    ["inline review comment", "pull_request_review_comment", { action: "created" }, ignored],
    ["an empty object", "pull_request", {}, ignored],
    [
      "a name that leaves the API's path",
      "pull_request",
      pull(OPENED, { repository: { full_name: "../.." } }),
      ignored,
    ],
    ["a number that is none", "pull_request", pull(OPENED, { pull_request: { number: "2" } }), ignored],
  ])("%s", (_, name, payload, expected) => {
    expect(translateGitHubEvent(name, "hosta-1", payload)).toMatchObject(expected);
  });

  test("a comment on a pull request", () => {
    const payload = commentOnPullRequest({ comment: { body: "svc plan\r\n> svc sync" } });
    expect(translateGitHubEvent("issue_comment", "hosta-1", payload)).toEqual({
      delivery: "hosta-1",
      change: { host: "hosta", repository: "Codertocat/Hello-World", repositoryId: "186853002", number: 1 },
      kind: "commented",
      commentId: "492700400",
      body: "svc plan\r\n> svc sync",
      author: { id: "21031067", login: "Codertocat", bot: false },
    });
  });

  test.each([
    ["an App", { login: "svc[bot]", type: "Bot" }],
    ["a login only bots can have", { login: "svc[bot]", type: "User" }],
    ["a type that is no person", { login: "ghost", type: "Mannequin" }],
  ])("a comment of %s is a bot's", (_, user) => {
    const payload = commentOnPullRequest({ comment: { user } });
    expect(translateGitHubEvent("issue_comment", "hosta-1", payload)).toMatchObject({ author: { bot: true } });
  });

  test("a body is cut to what a comment can hold, and may be missing", () => {
    const long = translateGitHubEvent(
      "issue_comment",
      "d",
      commentOnPullRequest({ comment: { body: "x".repeat(1e6) } }),
    );
    expect("body" in long && long.body.length).toBe(65_536);
    const none = translateGitHubEvent("issue_comment", "d", commentOnPullRequest({ comment: { body: null } }));
    expect(none).toMatchObject({ body: "" });
  });

  test("no shape makes the translation throw", () => {
    const names = fc.constantFrom("pull_request", "issue_comment", "pull_request_review");
    const members = fc.dictionary(
      fc.constantFrom(
        "action",
        "repository",
        "pull_request",
        "issue",
        "comment",
        "changes",
        "user",
        "full_name",
        "number",
      ),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(names, fc.oneof(members, fc.jsonValue()), (name, payload) => {
        const event = translateGitHubEvent(name, "hosta-1", payload);
        expect("ignored" in event || "kind" in event).toBe(true);
      }),
    );
  });

  test("no damaged member of a real payload makes the translation throw", () => {
    const payload = commentOnPullRequest();
    fc.assert(
      fc.property(fc.constantFrom("action", "repository", "issue", "comment"), fc.jsonValue(), (key, value) => {
        const event = translateGitHubEvent("issue_comment", "hosta-1", { ...payload, [key]: value });
        expect("ignored" in event || event.kind === "commented").toBe(true);
      }),
    );
  });
});
