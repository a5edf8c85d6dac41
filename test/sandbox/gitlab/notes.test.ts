import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { findQuickActions } from "../../../sandbox/gitlab/acts/quick-actions.js";
import { projectPath, refusal, repository, startWorld, type World } from "./world.js";

describe("quick actions", () => {
  test.each<[string, string, string[]]>([
    ["at the start of a line", "hello\n/merge", ["merge"]],
    ["with an argument", "/label ~deploy\n/close", ["label", "close"]],
    ["in capitals", "/MERGE", ["merge"]],
    ["after a carriage return", "a\r\n/approve\r\nb", ["approve"]],
    ["behind a space", " /merge", []],
    ["in the middle of a line", "do /merge it", []],
    ["that are paths", "/apps/web\n/etc\n/merge/now", []],
    ["inside a fence", "```\n/merge\n```", []],
    ["inside a fence with a language", "```diff\n/merge\n```\nafter", []],
    ["after a fence", "```\ntext\n```\n/merge", ["merge"]],
    ["after three backticks inside a longer fence", "````\n```\n/merge\n````", ["merge"]],
    ["inside a fence that the older extractor does not know", "~~~\n/merge\n~~~", ["merge"]],
    ["inside a fence that never ends", "```\n/merge", ["merge"]],
    ["inside a collapsible", "<details>\n\n/merge\n\n</details>", ["merge"]],
  ])("%s", (_, body, expected) => {
    expect(findQuickActions(body)).toEqual(expected);
  });
});

describe("notes", () => {
  let world: World;
  let number: number;
  beforeEach(async () => {
    world = await startWorld();
    number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
  });
  afterEach(async () => {
    await world.stop();
  });

  test("are listed newest first unless asked otherwise, with GitLab's own among them", async () => {
    await world.forge.comment(repository, number, "ana", "one");
    await world.forge.push(repository, number, { "apps/web.yaml": "replicas: 3\n" });
    await world.forge.comment(repository, number, "bo", "two");
    const list = async (query: string): Promise<unknown[]> => {
      const answer = await world.call("GET", `${projectPath}/merge_requests/1/notes${query}`);
      return (answer.body as { body: string }[]).map(({ body }) => body);
    };
    expect(await list("")).toEqual(["two", "added 1 commit", "one"]);
    expect(await list("?sort=asc&order_by=created_at")).toEqual(["one", "added 1 commit", "two"]);
    expect(await list("?activity_filter=only_comments")).toEqual(["two", "one"]);
    const [first] = world.forge.changeRequest(repository, number).comments;
    await world.forge.editComment(repository, number, first?.id ?? "", "ana", "one, later");
    expect(await list("?order_by=updated_at")).toEqual(["one, later", "two", "added 1 commit"]);
    const [, second] = world.forge.changeRequest(repository, number).comments;
    world.forge.react(repository, number, second?.id ?? "", "ana");
    expect(await list("?order_by=updated_at")).toEqual(["two", "one, later", "added 1 commit"]);
    expect(world.forge.violations).toEqual([]);
  });

  test("may be a million characters long, and no longer", async () => {
    const note = await world.client.MergeRequestNotes.create(repository, number, "x".repeat(1_000_000));
    expect(note.body).toHaveLength(1_000_000);
    expect(await refusal(world.client.MergeRequestNotes.create(repository, number, "x".repeat(1_000_001)))).toEqual({
      status: 400,
      text: '400 Bad request - Note {:note=>["is too long (maximum is 1000000 characters)"]}',
    });
    expect(await refusal(world.client.MergeRequestNotes.create(repository, number, " "))).toMatchObject({
      status: 400,
    });
    expect(world.forge.changeRequest(repository, number).comments).toHaveLength(1);
  });

  test("of others are for Maintainers to edit, unknown ones 404", async () => {
    const theirs = Number(await world.forge.comment(repository, number, "ana", "mine"));
    expect(await refusal(world.client.MergeRequestNotes.edit(repository, number, 1, { body: "x" }))).toEqual({
      status: 404,
      text: "404 Note Not Found",
    });
    world.forge.setAccess(repository, world.forge.bot.username, "write");
    expect(await refusal(world.client.MergeRequestNotes.edit(repository, number, theirs, { body: "x" }))).toMatchObject(
      {
        status: 403,
      },
    );
  });

  test("that would carry out quick actions are reported, by whoever wrote or edited them", async () => {
    await world.client.MergeRequestNotes.create(repository, number, "`/merge` is fine\n```\n/merge\n```");
    expect(world.forge.quickActions).toEqual([]);
    const { id } = await world.client.MergeRequestNotes.create(repository, number, "text\n/merge");
    await world.client.MergeRequestNotes.edit(repository, number, id, { body: "/close" });
    await world.forge.comment(repository, number, "olga", "/approve");
    const bot = world.forge.bot.username;
    expect(world.forge.quickActions).toEqual([
      { by: bot, repository, number, action: "merge" },
      { by: bot, repository, number, action: "close" },
      { by: "olga", repository, number, action: "approve" },
    ]);
  });

  test("that are internal send no hook", async () => {
    const before = world.received.length;
    const note = await world.client.MergeRequestNotes.create(repository, number, "psst", { internal: true });
    await world.forge.idle();
    expect(note).toMatchObject({ internal: true, confidential: true });
    expect(world.received).toHaveLength(before);
  });
});
