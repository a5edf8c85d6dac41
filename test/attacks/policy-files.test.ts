import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { HookReceiver } from "../scenarios/hook-receiver.js";
import { apart, changeOf } from "../scenarios/resources.js";

const FILE = ".svc.yaml";
const BROKEN = "sync_requirements: [\n";
const UNAPPROVED = "PR must be approved before sync";

function lines(...texts: readonly string[]): string {
  return [...texts, ""].join("\n");
}

async function expectNotMerged(bot: Bot, one: number, because: string): Promise<void> {
  expect(bot.answers(one).join("\n")).toContain(because);
  expect(bot.seen(one).state).toBe("open");
}

describe.each(HOSTS)("the policy file on %s", (host) => {
  test("cannot name a receiver of notifications: nothing is posted to an address that a PR wrote", async () => {
    const [known, stranger] = [await HookReceiver.start(), await HookReceiver.start()];
    const receivers = [{ name: "chat", url: `${known.url}/hook`, format: "slack" }];
    const bot = await startBot({ host, config: { notifications: receivers } });
    const theirs = `notifications: [{ name: chat, url: "${stranger.url}", format: slack }]\n`;
    const one = await bot.open({ ...changeOf(["web"]), [FILE]: theirs });
    expect(bot.lastComment(one)).toContain("unknown key");
    const two = await bot.open(changeOf(["web"], "3"));
    bot.expectChanges("sync web");
    await bot.comment(two, "svc sync");
    await known.until(1);
    expect(known.messages).toEqual([expect.objectContaining({ path: "/hook" })]);
    expect(stranger.messages).toEqual([]);
    await Promise.all([known.stop(), stranger.stop()]);
  });

  test("an empty list of people lets nobody command, and is no gap in a wider list", async () => {
    const bot = await startBot({
      host,
      files: () => ({
        [FILE]: lines(
          "sync_requirements:",
          "  - { name: web, allowed_users: [] }",
          "  - { name: api, allowed_users: [], allowed_teams: [] }",
          "  - { name: '*', allowed_users: [bo] }",
        ),
      }),
    });
    const one = await bot.open(changeOf(["web", "api"]));
    for (const by of ["ana", "bo"]) {
      await bot.comment(one, "svc sync", by);
      expect(bot.lastComment(one)).toContain("`web`: nobody may, because the list is empty");
      expect(bot.lastComment(one)).toContain("`api`: nobody may, because the list is empty");
    }
    expect(bot.changes()).toEqual([]);
  });

  test.each([
    ["of the last readable version", 1],
    ["under many broken versions", 23],
  ])("broken on the base and repaired by a PR keeps the lists %s, and requires an approval", async (_how, versions) => {
    const rules = lines("sync_requirements: [{ name: web, allowed_users: [olga] }]");
    const bot = await startBot({ host, files: () => ({ [FILE]: rules }) });
    bot.forge.setAccess(REPOSITORY, "olga", "write");
    for (let at = 0; at < versions; at += 1) {
      await bot.forge.pushToBranch(REPOSITORY, "main", { [FILE]: `${BROKEN}# ${at}\n` });
    }
    const one = await bot.open({ ...changeOf(["web", "api"]), [FILE]: "require_approval: false\n" });
    expect(bot.lastComment(one)).toContain("the rules of the last version that could be read hold");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    await bot.approve(one);
    await bot.comment(one, "svc sync", "bo");
    expect(bot.lastComment(one)).toContain("`web`: only olga may");
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync", "olga");
    expect(bot.lastComment(one)).toContain("succeeded");
  });

  test("with a pattern of names that only an earlier svc took keeps its other rules, and requires an approval", async () => {
    const lists =
      "sync_requirements: [{ name: web, allowed_users: [olga] }, { name: 'a-{b}', require_healthy: true }]\n";
    const bot = await startBot({ host, files: () => ({ [FILE]: "autoplan: true\n" }) });
    await bot.forge.pushToBranch(REPOSITORY, "main", { [FILE]: lists });
    const one = await bot.open({ ...changeOf(["web"]), [FILE]: lists.replace("a-{b}", "a-b") });
    await bot.comment(one, "svc sync", "bo");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    await bot.approve(one);
    await bot.comment(one, "svc sync", "bo");
    expect(bot.lastComment(one)).toContain("`web`: only olga may");
    expect(bot.changes()).toEqual([]);
  });

  test.each<[string, FileChanges[string]]>([
    ["a link", { symlink: "weak.yaml" }],
    ["a folder", null],
  ])("replaced on the base by %s lifts no rule", async (what, taken) => {
    const bot = await startBot({
      host,
      files: () => ({ [FILE]: "require_approval: true\n", "weak.yaml": "require_approval: false\n" }),
    });
    await bot.forge.pushToBranch(REPOSITORY, "main", {
      [FILE]: taken,
      ...(what === "a folder" ? { [`${FILE}/x`]: "1" } : {}),
    });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`.svc.yaml` cannot be used");
    expect(bot.lastComment(one)).toContain("it is a link or a folder, is not a text in UTF-8, or is larger than 1 MiB");
    expect(bot.changes()).toEqual([]);
  });

  test("that was never readable needs an approval of an administrator of the pages", async () => {
    const bot = await startBot({ host, files: () => ({ [FILE]: BROKEN }) });
    const one = await bot.open({ ...changeOf(["web"]), [FILE]: "require_approval: false\n" });
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.lastComment(one)).toContain("an administrator of svc's pages");
    expect(bot.changes()).toEqual([]);
  });

  test("with a pattern without a slash requires an approval in every namespace, and lifts none in others", async () => {
    const namespace = "team-a";
    const prod = { name: "prod", namespace };
    const bot = await startBot({
      host,
      applications: ["web"],
      files: () => ({
        [FILE]: lines("sync_requirements:", "  - { name: prod*, require_approval: true }"),
        "apps/prod/configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: prod }\ndata: { value: '1' }\n",
      }),
      prepare({ argocd }, forge) {
        argocd.addApplication({
          metadata: prod,
          spec: {
            project: "default",
            source: { repoURL: forge.cloneUrl(REPOSITORY), path: "apps/prod", targetRevision: "main" },
            destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
          },
        });
      },
    });
    const one = await bot.open({
      "apps/prod/configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: prod }\ndata: { value: '2' }\n",
    });
    expect(await bot.locked(one)).toEqual(["team-a/prod"]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    await bot.forge.pushToBranch(REPOSITORY, "main", {
      [FILE]: lines("require_approval: true", "sync_requirements: [{ name: '*', require_approval: false }]"),
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.changes()).toEqual([]);
  });

  const STRICT = lines("auto_merge: true", "sync_requirements: [{ name: prod*, require_approval: true }]");
  const WEAK = "auto_merge: true\n";

  test.each<[string, FileChanges]>([
    ["weakened", { [FILE]: WEAK }],
    ["deleted", { [FILE]: null }],
    ["renamed", { [FILE]: null, "old.svc.yaml": STRICT }],
    ["replaced by a folder", { [FILE]: null, [`${FILE}/x`]: "1" }],
    ["replaced by a link", { [FILE]: { symlink: "weak.yaml" } }],
  ])("%s beside a harmless change is not merged without an approval of the head", async (_how, changes) => {
    const bot = await startBot({ host, files: () => ({ [FILE]: STRICT, "weak.yaml": WEAK }), checkChanges: false });
    const one = await bot.open({ ...changeOf(["web"]), ...changes });
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.answers(one).join("\n")).toMatch(/changes the rules and needs an approval|`\.svc\.yaml` cannot be used/);
  });

  test("changed and changed back is a change where a rebase would undo what the base got since", async () => {
    const bot = await startBot({ host, git: true, files: () => ({ [FILE]: `${WEAK}merge_method: rebase\n` }) });
    const one = await bot.open({ ...changeOf(["web"]), [FILE]: STRICT });
    await bot.forge.pushToBranch(REPOSITORY, "main", { [FILE]: STRICT });
    await bot.forge.push(REPOSITORY, one, { [FILE]: `${WEAK}merge_method: rebase\n` });
    await bot.idle();
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await expectNotMerged(bot, one, "it changes the rules and needs an approval");
  });

  test("changed says what holds no longer, and is merged once somebody whom the base allows approved", async () => {
    const rules = lines(
      "auto_merge: true",
      "sync_requirements:",
      "  - { name: prod*, require_approval: true, allowed_users: [olga] }",
      "  - { name: api, allowed_users: [bo] }",
    );
    const bot = await startBot({ host, resources: () => apart("api", "web"), files: () => ({ [FILE]: rules }) });
    bot.forge.setAccess(REPOSITORY, "olga", "write");
    const weak = lines("auto_merge: true", "sync_requirements: [{ name: api, allowed_users: [bo] }]");
    const one = await bot.open({ ...changeOf(["web"]), [FILE]: weak });
    expect(bot.lastComment(one)).toContain("prod*: approval no longer required");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await expectNotMerged(bot, one, "it changes the rules and needs an approval by olga");
    await bot.approve(one, "bo");
    await bot.comment(one, "svc sync");
    await expectNotMerged(bot, one, "it changes the rules and needs an approval by olga");
    await bot.approve(one, "olga");
    await bot.comment(one, "svc plan");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("of the default branch that gets stricter while a sync into another branch is judged holds for it", async () => {
    const bot = await startBot({
      host,
      git: true,
      applications: ["rel"],
      resources: () => ({ rel: { targetRevision: "release", path: "apps/rel" } }),
    });
    await bot.forge.pushToBranch(REPOSITORY, "release", { "readme.txt": "x" });
    await bot.idle();
    const one = await bot.open(changeOf(["rel"], "2"), { base: "release" });
    bot.meanwhile("argocd", { path: /./ }, async () => {
      await bot.forge.pushToBranch(REPOSITORY, "main", { [FILE]: "require_approval: true\n" });
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.changes()).toEqual([]);
  });

  test("of a base branch of one's own does not weaken that of the default branch", async () => {
    const strict = lines("sync_requirements:", "  - { name: web, require_approval: true, allowed_users: [olga] }");
    const bot = await startBot({
      host,
      files: () => ({ [FILE]: strict }),
      resources: () => ({ web: { targetRevision: "weak" } }),
    });
    await bot.forge.pushToBranch(REPOSITORY, "weak", { [FILE]: "auto_merge: true\nrequire_approval: false\n" });
    const one = await bot.open(changeOf(["web"], "evil"), { base: "weak" });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`web`: only olga may");
    expect(bot.changes()).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });
});
