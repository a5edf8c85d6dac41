import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { applicationResource, asYaml, changeOf } from "./resources.js";

/** Fails for manifests with this word, and says so. */
const POLICY = `if grep -q forbidden; then echo "$SVC_APPLICATION in $SVC_NAMESPACE holds a forbidden value"; exit 1; fi`;
const CHECK = { name: "values", command: ["sh", "-c", POLICY], overridable_by: ["acme/platform"] };
const HINT = { name: "hint", command: ["sh", "-c", "exit 2"], applications: "web", required: false };
const OTHER = "acme/charts";

describe.each(HOSTS)("the checks of a plan on %s", (host) => {
  test("one that fails stands open in the plan and refuses the sync, until a push passes it or somebody who may overrides it", async () => {
    const bot = await startBot({ host, config: { checks: [CHECK, HINT] } });
    bot.forge.setAccess(REPOSITORY, "olga", "write");
    bot.forge.setTeam("acme/platform", ["bo"]);
    const one = await bot.open({ ...changeOf(["web"], "forbidden"), ...changeOf(["api"]) });
    const plan = bot.lastComment(one);
    expect(plan).toContain("checks: 1 passed, 2 failed");
    expect(plan).toContain(
      "<details open><summary>❌ Required check values failed: exit code 1</summary>\n\n```\n web in guestbook holds a forbidden value\n```",
    );
    expect(plan).toContain("<details open><summary>❌ Check hint failed: exit code 2</summary>\n\nIt printed nothing.");
    expect(plan).toContain("\nNext, comment:\n```\nsvc sync -a api\n```\n");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "- `web`: check values failed: exit code 1: fix it and push, or get an approval of this commit by a member of acme/platform. It printed: web in guestbook holds a forbidden value",
    );
    expect(bot.lastComment(one)).toContain("\n\nTo continue with the others, comment:\n```\nsvc sync -a api\n```");
    await bot.comment(one, "svc unlock -a api");
    // An approval of somebody else lifts nothing, and a dry run is refused as well.
    await bot.approve(one, "olga");
    await bot.comment(one, "svc sync --dry-run -a web");
    expect(bot.lastComment(one)).toContain("check values failed");
    expect(bot.changes()).toEqual([]);
    await bot.approve(one, "bo");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.lastComment(one)).toContain("**Checks:** ⚠️ `values` failed; the approval of `bo` lifts that");
    const [audited] = await bot.stores.audit.list({ limit: 1, filter: { action: "synced" } });
    expect(audited?.applications).toMatchObject([{ detail: "check values failed and was overridden by bo" }]);
    // The next commit is checked anew.
    await bot.push(one, changeOf(["web"], "3"));
    expect(bot.lastComment(one)).toContain("checks: 2 passed, 1 failed");
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.lastComment(one)).not.toContain("lifts that");
  });

  test("what Argo CD may render otherwise by the time of the sync is checked again", async () => {
    const bot = await startBot({
      host,
      config: { checks: [CHECK] },
      applications: [],
      files: (repoURL) => ({
        "values/shop.yaml": "size: 1\n",
        "argocd/shop.yaml": asYaml(applicationResource("shop", { repoURL, spec: specOf(repoURL) })),
      }),
      prepare: async (world, forge) => {
        await forge.createRepository(OTHER, chartOf("allowed"));
        const repoURL = forge.cloneUrl(REPOSITORY);
        world.argocd.addApplication(applicationResource("shop", { repoURL, spec: specOf(repoURL) }));
      },
    });
    const one = await bot.open({ "values/shop.yaml": "size: 2\n" });
    expect(bot.lastComment(one)).toContain("checks: 1 passed");
    await bot.forge.pushToBranch(OTHER, "main", chartOf("forbidden"));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for shop is stale. Please run the plan command again.");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `shop`: check values failed: exit code 1: fix it");
    expect(bot.changes()).toEqual([]);
    await bot.forge.pushToBranch(OTHER, "main", chartOf("allowed"));
    await bot.comment(one, "svc plan");
    bot.expectChanges("sync shop");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });

  test("one that cannot run has failed", async () => {
    const missing = { name: "gone", command: ["/nowhere/kubeconform"] };
    const bot = await startBot({ host, config: { checks: [missing] } });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain(
      "Required check gone failed: the program /nowhere/kubeconform was not found",
    );
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "- `web`: check gone failed: the program /nowhere/kubeconform was not found",
    );
    expect(bot.changes()).toEqual([]);
  });
});

function specOf(own: string): object {
  const other = own.replace(REPOSITORY, OTHER);
  const helm = { valueFiles: ["$values/values/shop.yaml"] };
  return {
    source: undefined,
    sources: [
      { repoURL: other, path: "chart", targetRevision: "main", helm },
      { repoURL: own, targetRevision: "main", ref: "values" },
    ],
  };
}

function chartOf(word: string) {
  return {
    "chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "chart/values.yaml": "size: 0\n",
    "chart/templates/configmap.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {size: {{ .Values.size | quote }}, word: ${word}}\n`,
  };
}
