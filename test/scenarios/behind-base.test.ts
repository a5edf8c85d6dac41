import { describe, expect, test } from "@jest/globals";
import { revision } from "../../src/core/model/brand.js";
import { type Bot, HOSTS, REPOSITORY, startBot } from "./bot.js";
import { section } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";

const more = (value: number) => ({ "apps/web/more.yaml": configMap("more", { a: String(value) }) });

describe.each(HOSTS)("a branch behind its base on %s", (host) => {
  test("the commits are named that a sync would take back, newest first, and no others", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const tips: string[] = [];
    for (let value = 1; value <= 7; value += 1) {
      tips.unshift(await bot.forge.pushToBranch(REPOSITORY, "main", more(value)));
    }
    await bot.forge.pushToBranch(REPOSITORY, "main", { "docs/guide.md": "hello" });
    await bot.comment(one, "svc plan");
    const named = tips.slice(0, 5).map((tip) => `${tip.slice(0, 8)} "Change apps/web/more.yaml"`);
    expect(section(bot.lastComment(one), "web")).toContain(
      "⚠️ The base branch main changed apps/web/more.yaml since this branch left it: a sync would revert these commits: " +
        `${named.join(", ")} and 2 more. Update the branch first.`,
    );
    expect(bot.lastComment(one)).not.toContain("guide");
  });

  test("a branch that has the same content takes nothing back", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", more(1));
    await bot.push(one, more(1));
    expect(section(bot.lastComment(one), "web")).toContain("**Changes:**");
    expect(bot.lastComment(one)).not.toContain("would revert");
    await bot.push(one, more(2));
    expect(section(bot.lastComment(one), "web")).toContain("a sync would revert this commit");
  });

  test("an application that came to read what changes on the base branch alone belongs into the plan", async () => {
    const bot = await startBot({ host, applications: ["web", "api"] });
    const shared = (value: string) => ({ "lib/shared.yaml": configMap("shared", { value }) });
    await bot.forge.pushToBranch(REPOSITORY, "main", shared("1"));
    const one = await bot.open({ ...changeOf(["api"]), ...shared("2") });
    await bot.forge.pushToBranch(REPOSITORY, "main", {
      "apps/web/kustomization.yaml": "resources: [configmap.yaml, ../../lib/shared.yaml]\n",
    });
    await bot.idle();
    const behind = "the base branch main changed apps/web/kustomization.yaml since this branch left it";
    expect(bot.lastComment(one)).toContain(`⚠️ In web, ${behind}`);
    expect(bot.lastComment(one)).toContain("Next, comment:\n```\nsvc plan\n```");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `web`: it reads what changes here and is not in the plan");
    await bot.comment(one, "svc plan");
    expect(section(bot.lastComment(one), "web")).toContain(`⚠️ T${behind.slice(1)}`);
  });

  test("a push to the base marks the plans that it outdates, once, and no others", async () => {
    const bot = await startBot({ host });
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    const other = bot.lastComment(two);
    const tip = await bot.forge.pushToBranch(REPOSITORY, "main", more(1));
    await bot.idle();
    const notice =
      "⚠️ **The base branch moved.**\n⚠️ In web, the base branch main changed apps/web/more.yaml since this branch left it: a sync would revert this commit: " +
      `${tip.slice(0, 8)} "Change apps/web/more.yaml". Update the branch first.`;
    expect(bot.lastComment(one)).toContain(notice);
    expect(bot.lastComment(two)).toBe(other);
    const comments = bot.answers(one).length;
    const newer = await bot.forge.pushToBranch(REPOSITORY, "main", more(2));
    await bot.idle();
    expect(bot.lastComment(one).split("The base branch moved")).toHaveLength(2);
    expect(bot.lastComment(one)).toContain(newer.slice(0, 8));
    expect(bot.answers(one)).toHaveLength(comments);
    await bot.push(one, more(2));
    expect(bot.lastComment(one)).not.toContain("The base branch moved");
  });

  test("what a plan warned of is not said twice, and goes when the base branch takes it back", async () => {
    const bot = await startBot({ host });
    await bot.forge.pushToBranch(REPOSITORY, "main", more(1));
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", more(2));
    await bot.comment(one, "svc plan");
    const warned = bot.lastComment(one);
    expect(section(warned, "web")).toContain("a sync would revert this commit");
    await bot.forge.pushToBranch(REPOSITORY, "main", { "docs/guide.md": "hello" });
    await bot.idle();
    expect(bot.lastComment(one)).toBe(warned);
    await bot.forge.pushToBranch(REPOSITORY, "main", more(1));
    await bot.idle();
    expect(bot.lastComment(one)).not.toContain("would revert");
    expect(bot.lastComment(one)).toContain("\nsvc sync\n");
  });

  test("a merge into the base marks the plans that it outdates", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(more(1), { by: "bo" });
    await bot.forge.mergeByHand(REPOSITORY, two, "bo");
    await bot.idle();
    expect(bot.lastComment(one)).toContain(
      "⚠️ In web, the base branch main changed apps/web/more.yaml since this branch left it",
    );
  });

  test("while Argo CD is away, a plan shows what else has changed; the push is noted later", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"], "2"));
    bot.clock.advance(60_000);
    bot.argocd.faults.add({ path: /\/applications$/, times: 100, fault: { kind: "status", status: 503, body: "{}" } });
    await bot.forge.pushToBranch(REPOSITORY, "main", more(1));
    await bot.approve(one);
    expect(bot.lastComment(one)).toContain("pproved by `bo`");
    expect(bot.lastComment(one)).not.toContain("The base branch moved");
    bot.argocd.faults.clear();
    await lookAgain(bot);
    expect(bot.lastComment(one)).toContain("⚠️ **The base branch moved.**");
  });

  test("while Argo CD does not show one application, the others are noted, and what was said of it stands", async () => {
    const bot = await startBot({ host, applications: ["web", "api"] });
    await bot.forge.pushToBranch(REPOSITORY, "main", more(1));
    const one = await bot.open(changeOf(["web", "api"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", more(2));
    await bot.comment(one, "svc plan");
    const planned = section(bot.lastComment(one), "web");
    expect(planned).toContain("a sync would revert this commit");
    bot.argocd.faults.add({ path: /\/applications\/web$/, fault: { kind: "status", status: 500, body: "{}" } });
    await bot.forge.pushToBranch(REPOSITORY, "main", {
      ...more(1),
      "apps/api/more.yaml": configMap("more", { a: "1" }),
    });
    await bot.idle();
    expect(section(bot.lastComment(one), "web")).toBe(planned);
    expect(bot.lastComment(one)).toContain("⚠️ In api, the base branch main changed apps/api/more.yaml");
    bot.argocd.faults.clear();
    await lookAgain(bot);
    expect(section(bot.lastComment(one), "web")).not.toContain("would revert");
  });

  test("a push is noted after the host was unavailable, and conflicts once the host has computed them", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: true } } });
    const one = await bot.open(changeOf(["web"], "2"));
    bot.forge.faults.add({ path: /./, times: 30, fault: { kind: "status", status: 500, body: "{}" } });
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "3"));
    await bot.idle();
    bot.forge.faults.clear();
    expect(bot.lastComment(one)).not.toContain("The base branch moved");
    // So long that no wait for the host's computation is enough, twice.
    bot.forge.delayMergeability(REPOSITORY, one, 10);
    await lookAgain(bot);
    expect(bot.lastComment(one)).toContain("⚠️ **The base branch moved.**");
    expect(bot.lastComment(one)).not.toContain("merge conflicts");
    await lookAgain(bot);
    await lookAgain(bot);
    expect(bot.lastComment(one)).toContain("Resolve the merge conflicts and push.");
    const headRevision = revision(bot.seen(one).headRevision);
    const [status] = await bot.stores.statuses.ofHead({ ...bot.ref(one), headRevision });
    expect(status?.description).toContain("merge conflicts");
  });
});

async function lookAgain(bot: Bot): Promise<void> {
  bot.clock.advance(5 * 60_000);
  await bot.service.reconcile();
  await bot.idle();
}
