import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { GitLabForge } from "../../sandbox/gitlab/gitlab-forge.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { asYaml, changeOf } from "../scenarios/resources.js";

const REQUIRED = { defaults: { require_approval: true } };
const UNAPPROVED = "PR must be approved before sync";
/** Everything that a policy can loosen. */
const WEAK = [
  "require_approval: false",
  "auto_merge: true",
  "sync_requirements: [{name: '*', require_approval: false}]",
  "",
].join("\n");

async function expectRefused(bot: Bot, one: number, by = "ana"): Promise<void> {
  await bot.comment(one, "svc sync", by);
  expect(bot.lastComment(one)).toContain(UNAPPROVED);
  expect(bot.changes()).toEqual([]);
  expect(bot.seen(one).state).toBe("open");
}

/** The request by which the host is asked for approvals. */
function approvalRequest({ host }: Bot) {
  return host === "hosta" ? { path: /\/graphql$/ } : { path: /\/approvals$/ };
}

test("a service account of GitLab neither approves nor commands, whatever its name, unless allowed_bots names it", async () => {
  const bot = await startBot({
    host: "hostb",
    config: { defaults: { require_approval: true, allowed_bots: ["kim"] } },
  });
  if (!(bot.forge instanceof GitLabForge)) throw new Error("not a GitLab");
  const one = await bot.open(changeOf(["web"]));
  for (const name of ["robin", "kim"]) {
    bot.forge.setAccess(REPOSITORY, name, "write");
    bot.forge.makeServiceAccount(name);
    await bot.approve(one, name);
  }
  const before = bot.seen(one).comments.length;
  await bot.comment(one, "svc plan", "robin");
  expect(bot.seen(one).comments).toHaveLength(before + 1);
  await expectRefused(bot, one, "kim");
});

test("an account of which GitLab does not say whether it is a program's commands nothing where anyone may", async () => {
  const bot = await startBot({ host: "hostb", config: { defaults: { command_access: "anyone" } } });
  if (!(bot.forge instanceof GitLabForge)) throw new Error("not a GitLab");
  const one = await bot.open(changeOf(["web"]));
  bot.forge.setAccess(REPOSITORY, "robin", "read");
  bot.forge.makeServiceAccount("robin");
  bot.forge.faults.add({ path: /\/users\/\d+$/, fault: { kind: "status", status: 403, body: "{}" } });
  await bot.comment(one, "svc sync", "robin");
  expect(bot.lastComment(one)).toContain("whether robin is a person or a program: GitLab did not answer");
  expect(bot.changes()).toEqual([]);
  await bot.comment(one, "svc help", "robin");
  expect(bot.lastComment(one)).toContain("svc plan");
  bot.forge.faults.clear();
  const before = bot.seen(one).comments.length;
  await bot.comment(one, "svc sync", "robin");
  expect(bot.seen(one).comments).toHaveLength(before + 1);
});

describe.each(HOSTS)("approval on %s", (host) => {
  test("is not given by a comment that says so, by the author, by a reader, or by a program", async () => {
    const bot = await startBot({ host, config: REQUIRED });
    const robot = host === "hosta" ? "helper[bot]" : "project_9_bot_1a2b";
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    bot.forge.setAccess(REPOSITORY, robot, "write");
    const one = await bot.open(changeOf(["web"]));
    for (const [by, body] of [
      ["bo", "approved"],
      ["bo", "/approve"],
      ["bo", "LGTM :+1:"],
    ] as const) {
      if (host === "hosta" || body !== "/approve") await bot.comment(one, body, by);
    }
    // Some hosts refuse these by themselves.
    for (const by of ["ana", "olga", robot]) await bot.approve(one, by).catch(() => undefined);
    await expectRefused(bot, one);
  });

  test("of a commit does not cover the one that is pushed after it, nor one that is pushed back to the same content", async () => {
    const bot = await startBot({ host, config: REQUIRED });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    await bot.push(one, changeOf(["web"], "evil"));
    await expectRefused(bot, one);
    await bot.push(one, changeOf(["web"]));
    await expectRefused(bot, one);
  });

  test.each([1, 2])(
    "a push right before the host answers the question for approval, time %i, is not deployed",
    async (nth) => {
      const bot = await startBot({ host, config: REQUIRED });
      const one = await bot.open(changeOf(["web"]));
      await bot.approve(one);
      bot.meanwhile("forge", { ...approvalRequest(bot), nth }, async () => {
        await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "evil"));
      });
      await bot.comment(one, "svc sync");
      expect(bot.changes()).toEqual([]);
      expect(bot.liveValue("web")).toBeUndefined();
    },
  );

  test("a push after the sync was started is neither deployed nor merged", async () => {
    const bot = await startBot({ host, config: REQUIRED, files: () => ({ ".svc.yaml": "auto_merge: true\n" }) });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    bot.expectChanges("sync web");
    bot.meanwhile("argocd", { method: "POST", path: /\/api\/v1\/applications\/web\/sync$/ }, async () => {
      await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "evil"));
    });
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
    expect(bot.seen(one).state).toBe("open");
  });

  test("is asked for as before when the PR weakens, deletes, links or doubles the policy file", async () => {
    const strict = "require_approval: true\n";
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": strict, "weak.yaml": WEAK }) });
    const one = await bot.open(changeOf(["web"]));
    const attempts: readonly FileChanges[] = [
      { ".svc.yaml": WEAK },
      { ".svc.yaml": null, "sub/.svc.yaml": WEAK, ".svc.yml": WEAK, ".SVC.yaml": WEAK },
      { ".svc.yaml": `${strict}---\n${WEAK}` },
      { ".svc.yaml": { symlink: "weak.yaml" } },
    ];
    for (const attempt of attempts) {
      await bot.push(one, attempt);
      await bot.comment(one, "svc sync");
      expect([attempt, bot.lastComment(one)]).toEqual([
        attempt,
        expect.stringMatching(/must be approved|cannot be used|No applications are locked/),
      ]);
      expect([attempt, bot.changes()]).toEqual([attempt, []]);
      expect(bot.seen(one).state).toBe("open");
    }
  });

  test("is asked for as before under a base branch of one's own with a weaker policy", async () => {
    const strict = { ".svc.yaml": "require_approval: true\n" };
    const bot = await startBot({ host, config: REQUIRED, files: () => strict, checkChanges: false });
    await bot.forge.pushToBranch(REPOSITORY, "weak", { ".svc.yaml": WEAK });
    const follows = asYaml(bot.resourceOf("web", { targetRevision: "weak" }));
    const one = await bot.open({ ...changeOf(["web"], "evil"), "argocd/web.yaml": follows }, { base: "weak" });
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual([]);
    expect(bot.liveValue("web")).toBeUndefined();
    expect(bot.seen(one).state).toBe("open");
  });

  test("is not asked of the base branch that the PR had when it is led to another one meanwhile", async () => {
    const strict = { ".svc.yaml": "require_approval: true\n" };
    const bot = await startBot({ host, files: () => strict });
    await bot.forge.pushToBranch(REPOSITORY, "weak", { ".svc.yaml": WEAK });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.retarget(REPOSITORY, one, "weak");
    await bot.idle();
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual([]);
    bot.meanwhile("argocd", { method: "GET", path: /\/api\/v1\/applications/ }, async () => {
      await bot.forge.retarget(REPOSITORY, one, "main");
    });
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });

  test("and people are asked for as before by a rollback of what a later commit of the PR deletes", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.push(one, { "argocd/web.yaml": null });
    for (const [rule, refusal] of [
      ["allowed_users: [bo]", "`ana` may not run `svc rollback` for:\n- `web`: only bo may"],
      ["require_approval: true", UNAPPROVED],
    ] as const) {
      const rules = { ".svc.yaml": `sync_requirements: [{name: web, ${rule}}]\n`, ...changeOf(["web"], rule) };
      await bot.forge.pushToBranch(REPOSITORY, "main", rules);
      await bot.comment(one, "svc rollback");
      expect(bot.lastComment(one)).toContain(refusal);
    }
    bot.argocd.addApplication(bot.resourceOf("web", { spec: { syncPolicy: { automated: {} } } }));
    await bot.approve(one);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("Application web has auto-sync enabled.");
    expect(bot.changes()).toEqual(["sync web"]);
  });
});
