import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { wrongInWebhook } from "../../../sandbox/github/description.js";
import { isObject } from "../../../sandbox/github/examples.js";
import { connected, type Received } from "./connected.js";

const name = "acme/deploy";
let world: Awaited<ReturnType<typeof connected>>;

beforeAll(async () => {
  world = await connected();
  await world.github.createRepository(name, { "a.yaml": "one\n" });
});
afterAll(() => world.stop());
beforeEach(() => {
  world.received.length = 0;
});
afterEach(() => {
  for (const { event, bytes } of world.received) {
    const body: unknown = JSON.parse(bytes.toString());
    expect([event, isObject(body) ? wrongInWebhook(event, body) : "no object"]).toEqual([event, []]);
  }
});

test("a body that lacks a member is seen as wrong", () => {
  expect(wrongInWebhook("pull_request", { action: "opened", number: 1 })).toEqual([
    "/ must have required property 'pull_request'",
  ]);
  expect(wrongInWebhook("pull_request", { action: "invented" })).toEqual([
    "webhook-pull-request-invented is not described",
  ]);
});

function last(): Received {
  const received = world.received.at(-1);
  if (received === undefined) throw new Error("Nothing was received");
  return received;
}

test("a delivery is signed over its exact bytes and carries the usual headers", async () => {
  await world.github.open({ repository: name, by: "ana", title: "Grüße 🚀", changes: { "a.yaml": "2\n" } });
  const { headers, bytes } = last();
  expect(headers["x-hub-signature-256"]).toBe(`sha256=${createHmac("sha256", "s3cret").update(bytes).digest("hex")}`);
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "user-agent": expect.stringMatching(/^GitHub-Hookshot\//),
    "x-github-event": "pull_request",
    "x-github-delivery": expect.stringMatching(/^[0-9a-f-]{36}$/),
    "x-github-hook-installation-target-id": "4242",
    "x-github-hook-installation-target-type": "integration",
  });
  expect(world.github.deliveries.at(-1)).toMatchObject({ event: "pull_request", status: 200, id: last().delivery });
});

test("a redelivery is the same word for word under the same id", async () => {
  await world.github.open({ repository: name, by: "ana", changes: { again: "1" } });
  const first = last();
  await world.github.redeliver(first.delivery);
  expect(world.received).toHaveLength(2);
  expect(last().delivery).toBe(first.delivery);
  expect(last().bytes.equals(first.bytes)).toBe(true);
});

describe("the life of a pull request", () => {
  let number: number;

  test("opened", async () => {
    number = await world.github.open({ repository: name, by: "ana", changes: { life: "1" }, draft: true });
    const { event, body } = last();
    expect([event, body.action, body.number]).toEqual(["pull_request", "opened", number]);
    expect(body.installation?.id).toEqual(expect.any(Number));
    expect(body.organization?.login).toBe("acme");
    expect(body.sender).toMatchObject({ login: "ana", type: "User" });
    expect(body.repository).toMatchObject({ full_name: name, clone_url: world.github.cloneUrl(name) });
    expect(body.pull_request).toMatchObject({ draft: true, mergeable: null, merged: false });
    expect(body.pull_request?.head.sha).toBe(world.github.changeRequest(name, number).headRevision);
    expect(JSON.stringify(body)).not.toMatch(/Codertocat|Hello-World|api\.github\.com/);
  });

  test("ready for review and back", async () => {
    await world.github.markDraft(name, number, false);
    expect([last().body.action, last().body.pull_request?.draft]).toEqual(["ready_for_review", false]);
    await world.github.markDraft(name, number, true);
    expect([last().body.action, last().body.pull_request?.draft]).toEqual(["converted_to_draft", true]);
    await world.github.markDraft(name, number, false);
  });

  test("pushed to", async () => {
    const before = world.github.changeRequest(name, number).headRevision;
    const after = await world.github.push(name, number, { life: "2" });
    expect(last().body).toMatchObject({ action: "synchronize", before, after, pull_request: { head: { sha: after } } });
    expect(await world.store.resolve(name, `refs/pull/${number}/head`)).toBe(after);
  });

  test("pushed to in silence", async () => {
    const after = await world.github.pushSilently(name, number, { life: "3" });
    expect(world.received).toEqual([]);
    expect(world.github.changeRequest(name, number).headRevision).toBe(after);
  });

  test("renamed, labelled, retargeted", async () => {
    await world.github.rename(name, number, "Better");
    expect(last().body).toMatchObject({ action: "edited", changes: { title: { from: `Change ${number}` } } });
    await world.github.label(name, number, "ops");
    expect(last().body).toMatchObject({ action: "labeled", label: { name: "ops" } });
    await world.github.pushToBranch(name, "stable", { s: "1" });
    await world.github.retarget(name, number, "stable");
    expect(last().body).toMatchObject({
      action: "edited",
      changes: { base: { ref: { from: "main" }, sha: { from: expect.stringMatching(/^[0-9a-f]{40}$/) } } },
      pull_request: { base: { ref: "stable" } },
    });
  });

  test("reviewed", async () => {
    await world.github.review(name, number, "bo", "approve");
    expect(last().event).toBe("pull_request_review");
    expect(last().body).toMatchObject({
      action: "submitted",
      review: { state: "approved", commit_id: world.github.changeRequest(name, number).headRevision },
    });
    expect(last().body.pull_request).not.toHaveProperty("mergeable");
  });

  test("closed, pushed to while closed, and reopened at the new head", async () => {
    await world.github.close(name, number);
    expect(last().body).toMatchObject({ action: "closed", pull_request: { merged: false } });
    const closedAt = world.github.changeRequest(name, number).headRevision;
    const pushed = await world.github.push(name, number, { life: "4" });
    expect(world.received.map(({ event }) => event)).toEqual(["pull_request", "push"]);
    expect(world.github.changeRequest(name, number)).toMatchObject({ state: "closed", headRevision: closedAt });
    await world.github.reopen(name, number);
    expect(last().body).toMatchObject({ action: "reopened", pull_request: { head: { sha: pushed } } });
  });

  test("merged by hand", async () => {
    await world.github.mergeByHand(name, number, "olga");
    expect(world.received.at(-2)).toMatchObject({ event: "push", body: { ref: "refs/heads/stable" } });
    expect(last().body).toMatchObject({
      action: "closed",
      sender: { login: "olga" },
      pull_request: { merged: true, merged_by: { login: "olga" } },
    });
    await expect(world.github.mergeByHand(name, number, "olga")).rejects.toThrow(/not mergeable/);
  });
});

test("a pull request from a fork has its head there, and under refs/pull in the target", async () => {
  const number = await world.github.open({ repository: name, by: "mallory", changes: { f: "1" }, fork: true });
  const { head, base } = last().body.pull_request ?? {};
  expect(head?.repo.full_name).toBe("mallory/deploy");
  expect(head?.repo.id).not.toBe(base?.repo.id);
  expect(await world.store.resolve(name, `refs/pull/${number}/head`)).toBe(head?.sha);
  const after = await world.github.push(name, number, { f: "2" });
  expect(last().body).toMatchObject({ action: "synchronize", after, repository: { full_name: name } });
  expect(await world.store.resolve(name, `refs/pull/${number}/head`)).toBe(after);
  expect(await world.github.branches(name)).not.toContain(`change-${number}`);
});

describe("comments", () => {
  test("on a pull request and on a plain issue", async () => {
    const number = await world.github.open({ repository: name, by: "ana", changes: { c: "1" } });
    await world.github.comment(name, number, "bo", "svc plan");
    expect(last()).toMatchObject({
      event: "issue_comment",
      body: {
        action: "created",
        issue: { number, pull_request: { url: `${world.github.apiUrl}/repos/${name}/pulls/${number}` } },
        comment: { body: "svc plan", user: { login: "bo" }, performed_via_github_app: null },
      },
    });
    await world.github.commentOnIssue(name, "bo", "svc plan");
    expect(last().event).toBe("issue_comment");
    expect(last().body.issue).not.toHaveProperty("pull_request");
    expect(last().body.issue?.number).toBe(number + 1);
  });

  test("an edit names the text before and who edited", async () => {
    const number = await world.github.open({ repository: name, by: "ana", changes: { e: "1" } });
    const id = await world.github.comment(name, number, "bo", "nice");
    await world.github.editComment(name, number, id, "olga", "svc sync");
    expect(last().body).toMatchObject({
      action: "edited",
      changes: { body: { from: "nice" } },
      comment: { body: "svc sync", user: { login: "bo" } },
      sender: { login: "olga" },
    });
  });

  test("the App's own comments come back as events", async () => {
    const number = await world.github.open({ repository: name, by: "ana", changes: { own: "1" } });
    const octokit = await world.client(name);
    await octokit.rest.issues.createComment({ owner: "acme", repo: "deploy", issue_number: number, body: "hello" });
    await world.github.idle();
    expect(last().body).toMatchObject({
      action: "created",
      sender: { login: "svc-app[bot]", type: "Bot" },
      comment: { body: "hello", performed_via_github_app: { id: 4242 } },
    });
  });
});

test("a receiver that is away is noted and nothing is sent again", async () => {
  const other = await connected();
  other.github.connect({ url: "http://127.0.0.1:1/", secret: "x" });
  await other.github.createRepository("acme/x", { a: "1" });
  await other.github.open({ repository: "acme/x", by: "ana", changes: { a: "2" } });
  expect(other.github.deliveries.map(({ status }) => status)).toEqual([0]);
  await other.stop();
});
