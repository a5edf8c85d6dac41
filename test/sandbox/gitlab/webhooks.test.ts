import { readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { repository, startWorld, type Received, type World } from "./world.js";

const fixtures = new URL("../../fixtures/gitlab/", import.meta.url);
const samples = readdirSync(fixtures)
  .filter((name) => /^(?:merge_request|note)\..*\.json$/.test(name))
  .map((name) => ({ name, body: JSON.parse(readFileSync(new URL(name, fixtures), "utf8")) as unknown }));

/** Every path of members, `[]` for the items of a list. */
function paths(value: unknown, at = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => paths(item, `${at}[]`));
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([name, inner]) => paths(inner, `${at}.${name}`))];
}

/** What the samples whose names begin so have between them. */
function known(...prefixes: string[]): Set<string> {
  const chosen = samples.filter(({ name }) => prefixes.some((prefix) => name.startsWith(prefix)));
  expect(chosen.length).toBeGreaterThan(0);
  return new Set(chosen.flatMap(({ body }) => paths(body)));
}

let world: World;
let number: number;
beforeEach(async () => {
  world = await startWorld({ edition: "premium", approvalsSyncingReads: 0 });
  number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
});
afterEach(async () => {
  await world.stop();
});

function last(): Received {
  const received = world.received.at(-1);
  if (received === undefined) throw new Error("No webhook came");
  return received;
}

const head = (): string => world.forge.changeRequest(repository, number).headRevision;

describe("bodies have the members of the samples, all of them and no others", () => {
  const cases: [string, () => Promise<unknown>, string, object][] = [
    ["opened", async () => undefined, "merge_request.open.json", { action: "open", state: "opened", draft: false }],
    [
      "pushed",
      () => world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" }),
      "merge_request.update.oldrev.json",
      { action: "update" },
    ],
    [
      "closed",
      () => world.forge.close(repository, number),
      "merge_request.close.json",
      { action: "close", state: "closed" },
    ],
    [
      "reopened",
      async () => {
        await world.forge.close(repository, number);
        await world.forge.reopen(repository, number);
      },
      "merge_request.reopen.json",
      { action: "reopen", state: "opened" },
    ],
    [
      "merged",
      () => world.forge.mergeByHand(repository, number, "bo"),
      "merge_request.merge.json",
      { action: "merge", state: "merged" },
    ],
    [
      "approved",
      () => world.forge.review(repository, number, "bo", "approve"),
      "merge_request.approved.json",
      { action: "approved" },
    ],
    [
      "approvals reset",
      async () => {
        await world.forge.review(repository, number, "bo", "approve");
        await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" });
      },
      "merge_request.unapproved.system-reset.json",
      { action: "unapproved", system: true, system_action: "approvals_reset_on_push" },
    ],
    [
      "made ready",
      async () => {
        await world.forge.markDraft(repository, number, true);
        await world.forge.markDraft(repository, number, false);
      },
      "merge_request.update.draft-to-ready.json",
      { action: "update", draft: false, work_in_progress: false },
    ],
    [
      "labelled",
      () => world.forge.label(repository, number, "deploy"),
      "merge_request.update.no-oldrev.labels.json",
      { action: "update" },
    ],
    [
      "retargeted",
      async () => {
        await world.forge.pushToBranch(repository, "release", { "notes.md": "r\n" });
        await world.forge.retarget(repository, number, "release");
      },
      "merge_request.update.target-branch.json",
      { action: "update", target_branch: "release" },
    ],
    [
      "a comment",
      () => world.forge.comment(repository, number, "ana", "svc plan"),
      "note.on-mr.create.json",
      { action: "create", note: "svc plan", noteable_type: "MergeRequest", system: false },
    ],
    [
      "an edited comment",
      async () => {
        const id = await world.forge.comment(repository, number, "ana", "svc plan");
        await world.forge.editComment(repository, number, id, "bo", "svc sync");
      },
      "note.on-mr.update.json",
      { action: "update", note: "svc sync" },
    ],
    [
      "a comment on an issue",
      () => world.forge.commentOnIssue(repository, "ana", "svc plan"),
      "note.on-issue.create.json",
      { action: "create", note: "svc plan", noteable_type: "Issue" },
    ],
    [
      "a comment by the bot",
      async () => {
        await world.client.MergeRequestNotes.create(repository, number, "A plan");
        await world.forge.idle();
      },
      "note.on-mr.by-bot.json",
      { action: "create", author_id: 900 },
    ],
  ];

  test.each(cases)("%s", async (_, act, sample, attributes) => {
    await act();
    const { body } = last();
    expect(body).toMatchObject({ object_attributes: attributes });
    const sent = new Set(paths(body));
    const wanted = known(sample);
    expect([...sent].filter((path) => !wanted.has(path))).toEqual([]);
    // Lists may be empty here; the rest of a sample's members has to be there, `prepared_at` of an opening aside.
    const optional =
      /\[\]|^\.changes\.|^\.(?:assignees|reviewers|labels)$|_ids$|^\.object_attributes\.labels$|\.labels$/;
    expect([...wanted].filter((path) => !sent.has(path) && !optional.test(path))).toEqual([]);
  });
});

test("only a push has the head before it, and only what changed is a change", async () => {
  const before = head();
  await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" });
  expect(last().body).toMatchObject({
    object_attributes: { action: "update", oldrev: before, last_commit: { id: head() } },
  });
  await world.forge.rename(repository, number, "Another title");
  const { body } = last();
  expect(body.object_attributes).not.toHaveProperty("oldrev");
  expect(body.changes).toMatchObject({ title: { current: "Another title" } });
  expect(body.changes).not.toHaveProperty("draft");
  await world.forge.markDraft(repository, number, true);
  expect(last().body.changes).toMatchObject({
    draft: { previous: false, current: true },
    title: { previous: "Another title", current: "Draft: Another title" },
  });
  await world.forge.rename(repository, number, "Third title");
  expect(world.forge.changeRequest(repository, number)).toMatchObject({ title: "Draft: Third title", draft: true });
});

test("a push of the base branch sends a push event, and a lost push nothing", async () => {
  const before = world.received.length;
  await world.forge.pushToBranch(repository, "main", { "apps/api.yaml": "replicas: 2\n" });
  const revision = await world.forge.pushSilently(repository, number, { "apps/web.yaml": "replicas: 3\n" });
  expect(world.received).toHaveLength(before + 1);
  expect(last().body).toMatchObject({ object_kind: "push", ref: "refs/heads/main" });
  expect(head()).toBe(revision);
  const branch = world.forge.changeRequest(repository, number).headBranch;
  await world.forge.pushToBranch(repository, branch, { "apps/web.yaml": "replicas: 4\n" });
  expect(last().body).toMatchObject({ object_attributes: { action: "update", oldrev: revision } });
});

test("a closed one takes pushed commits when it is reopened", async () => {
  await world.forge.close(repository, number);
  const before = head();
  const revision = await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" });
  expect(last().body).toMatchObject({ object_attributes: { action: "close" } });
  expect(head()).toBe(before);
  await world.forge.reopen(repository, number);
  expect(last().body).toMatchObject({ object_attributes: { action: "reopen", last_commit: { id: revision } } });
});

test("a fork names its own project as the source", async () => {
  await world.forge.open({ repository, by: "olga", fork: true, changes: { "apps/web.yaml": "replicas: 7\n" } });
  const { body } = last();
  expect(body).toMatchObject({
    user: { username: "olga" },
    project: { path_with_namespace: repository },
    object_attributes: { source: { path_with_namespace: "olga/gitops" }, target: { path_with_namespace: repository } },
  });
  const attributes = body.object_attributes as Record<string, unknown>;
  expect(attributes.source_project_id).not.toBe(attributes.target_project_id);
  const wanted = known("merge_request.open");
  expect(paths(body).filter((path) => !wanted.has(path))).toEqual([]);
});

test("somebody else's edit still names the note's author", async () => {
  const id = await world.forge.comment(repository, number, "ana", "svc plan");
  await world.forge.editComment(repository, number, id, "bo", "svc sync");
  const { body } = last();
  expect(body).toMatchObject({ user: { username: "ana" } });
  expect(body.object_attributes).not.toMatchObject({ updated_by_id: null });
});
