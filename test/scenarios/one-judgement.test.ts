import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, SIGIL, startBot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

const APPROVAL = { defaults: { require_approval: true } };
/** The request by which a host is asked for approvals. */
const REVIEWS = { hosta: /\/graphql$/, hostb: /\/approvals$/ };

describe.each(HOSTS)("one judgement on %s", (host) => {
  test("a branch that is behind and unapproved is updated first: the plan, the refusal and the status say so", async () => {
    const bot = await startBot({ host, config: { ...APPROVAL, [host]: { commit_status: true } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/web/more.yaml": configMap("more", { a: "1" }) });
    await bot.comment(one, "svc plan");
    const update = /[Cc]omment `svc update`, because `main` changed what `web` is deployed from/;
    expect(bot.lastComment(one)).toMatch(update);
    expect(bot.lastComment(one)).not.toContain("needs an approval of");
    const head = bot.seen(one).headRevision;
    const { description } = bot.forge.statuses(REPOSITORY, head).at(-1) ?? {};
    if (host === "hosta") {
      expect(description).toContain("comment svc update, because main changed what web is deployed from");
    }
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    expect(bot.lastComment(one)).toMatch(update);
  });

  test("a refused sync names who has to approve which commit", async () => {
    const bot = await startBot({ host, config: APPROVAL });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    const head = bot.seen(one).headRevision.slice(0, 8);
    expect(bot.lastComment(one)).toMatch(
      new RegExp(`Needs an approval of .*${head}.* by somebody other than ana, then \`svc sync\`\\.`),
    );
  });

  test("a rollback takes back what was deployed, and names what it leaves locked", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.expectChanges("sync web", "sync web");
    await bot.comment(one, "svc sync -a web");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("**1 application rolled back**");
    expect(bot.lastComment(one)).toContain(
      "Not rolled back, because it was never deployed from here; the lock is kept: `api`. To release it, comment `svc unlock`.",
    );
    expect(await bot.locked(one)).toEqual(["api"]);
    expect(bot.liveValue("web")).toBe("1");
  });

  test("an approval that the rules of a neighbour in the namespace require since the plan is asked for by the status", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: true } } });
    const one = await bot.open(changeOf(["web"]));
    const rules = "sync_requirements:\n  - name: api\n    require_approval: true\n";
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": rules });
    await bot.idle();
    expect(bot.lastComment(one)).toMatch(/Needs an approval of .* by somebody other than ana, then `svc sync`\./);
    if (host === "hosta") {
      const status = bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
      expect(status).toMatchObject({ state: "pending", description: "web needs an approval, then svc sync" });
    }
  });

  test("in an emergency, a rollback needs no approval while the target branch has what it had", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web", "sync web");
    await bot.comment(one, "svc sync");
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": "require_approval: true\n", "docs/a.md": "a" });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
    expect(bot.liveValue("web")).toBe("1");
  });

  test("once the target branch changed what would be deployed, a rollback needs the approval of a sync", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const changed = { "apps/web/more.yaml": configMap("more", { a: "1" }) };
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": "require_approval: true\n", ...changed });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    expect(bot.lastComment(one)).toMatch(/Needs an approval of .* by somebody other than ana, then `svc rollback`\./);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("after a rollback that failed, the status is not green and nothing says to merge", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: true } } });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("fix the cause, then `svc rollback -a web`");
    const head = bot.seen(one).headRevision;
    const status = bot.forge.statuses(REPOSITORY, head).at(-1);
    if (host === "hosta") expect(status).toMatchObject({ state: "failure", description: "sync failed: web" });
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).not.toContain("merge this");
  });

  test("before a sync would leave objects behind, the plan offers to keep or to delete them", async () => {
    const bot = await startBot({
      host,
      files: () => ({ "apps/web/old.yaml": configMap("old", { value: "1" }) }),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const one = await bot.open({ "apps/web/old.yaml": null });
    expect(bot.lastComment(one)).toContain(
      `comment:\n\`\`\`\nsvc sync\n\`\`\`\nwhich leaves 1 object in the cluster that this ${SHORT[host]} removes, or \`svc sync --prune\`, which deletes it`,
    );
  });

  test("another change request's commit that runs is a danger of its own, with what would be reverted", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const commit = bot.seen(one).headRevision.slice(0, 8);
    const two = await bot.open({ "apps/web/other.yaml": configMap("other", { a: "1" }) }, { by: "bo" });
    const [, , verdict = ""] = bot.lastComment(two).split("\n");
    expect(verdict).toMatch(
      new RegExp(
        `^⚠️ replaces commit ${commit} of \\[${SHORT[host]} .${one}\\]\\(<[^>]*>\\), which runs, and reverts ConfigMap guestbook/web`,
      ),
    );
    expect(bot.lastComment(two)).toContain(
      `comment:\n\`\`\`\nsvc sync\n\`\`\`\nknowing that it replaces commit ${commit} of ${SHORT[host]} ${SIGIL[host]}\u200b${one}`,
    );
  });

  test("after an unlock nothing is left to do, with the choices, where no comment shows the plan", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.stores.marks.wrote(bot.ref(one), "plan", undefined);
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(one)).toContain(
      `Nothing is left to do: the locks are released. To deploy this ${SHORT[host]} after all, comment \`svc plan\`; to drop it, close this ${SHORT[host]}.`,
    );
  });

  test("an answer leads to the comment of the plan, which says what comes next", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const [plan] = bot.seen(one).comments;
    const link = new RegExp(`\\[[Pp]lan\\]\\(<[^>]*#(?:issuecomment-|note_)${plan?.id ?? "none"}>\\)`);
    bot.expectChanges("dry-run web");
    for (const command of ["svc sync --dry-run", "svc update", "svc unlock"]) {
      await bot.comment(one, command);
      expect(bot.lastComment(one)).toMatch(link);
      expect(bot.lastComment(one)).not.toMatch(/Next, comment:|is left to do/);
    }
  });

  test("a host that does not tell who approved refuses the sync with what nobody can tell", async () => {
    const bot = await startBot({ host, config: { ...APPROVAL, deployer: { request_timeout: "1s" } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    const remove = bot.forge.faults.add({ path: REVIEWS[host], fault: { kind: "status", status: 500 } });
    await bot.comment(one, "svc sync");
    remove();
    expect(bot.lastComment(one)).toContain("Nothing was done, because svc cannot tell");
    expect(bot.lastComment(one)).toContain("- whether the head is approved: ");
    expect(bot.liveValue("web")).toBe(undefined);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });
});
