import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { apart, applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { cloneUrlOf, generatedApplication, git, runsShops, shops, shopsResource } from "../scenarios/sets.js";

const AUTO_MERGE = { auto_merge: true };

/** Somebody mends the application on the base branch after the PR was planned. Returns the commit. */
async function hotfix(bot: Bot): Promise<string> {
  const tip = await bot.forge.pushToBranch(REPOSITORY, "main", {
    "apps/web/hotfix.yaml": configMap("hotfix", { on: "1" }),
  });
  await bot.idle();
  return tip.slice(0, 8);
}

describe.each(HOSTS)("on %s, a hotfix that reached the base branch after the plan", (host) => {
  test("is not taken out of the cluster by a sync: it is refused with the commit, unless the repository allows it", async () => {
    const bot = await startBot({ host, config: { defaults: AUTO_MERGE } });
    const one = await bot.open(changeOf(["web"]));
    const tip = await hotfix(bot);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      `- \`web\`: the base branch main changed apps/web/hotfix.yaml since this branch left it: a sync would revert this commit: ${tip}`,
    );
    expect(bot.lastComment(one)).toContain("Update the branch first");
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync web");
    await bot.push(one, { "apps/web/hotfix.yaml": configMap("hotfix", { on: "1" }) });
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("that a sync was allowed to revert is named in the result, which is not everything and merges nothing", async () => {
    const bot = await startBot({ host, config: { defaults: { ...AUTO_MERGE, require_up_to_date: false } } });
    const one = await bot.open(changeOf(["web"]));
    const tip = await hotfix(bot);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      `⚠️ The base branch main changed apps/web/hotfix.yaml since this branch left it: this sync reverted this commit: ${tip}`,
    );
    expect(bot.lastComment(one)).not.toContain("Everything is deployed");
    expect(bot.lastComment(one)).toContain(
      "- `web`: its sync reverted what main got since this branch left it: update the branch and sync again",
    );
    expect(bot.seen(one).state).toBe("open");
  });

  test("is not taken off the base branch by a rebase of commits that make the same change and take it back", async () => {
    const rebase = { ...AUTO_MERGE, merge_method: "rebase" };
    const resources = () => apart("api", "web");
    const bot = await startBot({ host, git: true, resources, config: { defaults: rebase } });
    const mended = { "apps/web/hotfix.yaml": configMap("hotfix", { on: "1" }) };
    const one = await bot.open({ ...changeOf(["api"]), ...mended });
    await bot.push(one, { "apps/web/hotfix.yaml": null });
    await hotfix(bot);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `web`: the base branch main changed apps/web/hotfix.yaml");
    expect(bot.changes()).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });

  test("is not taken off the base branch by a merge of older commits, which have several merge bases with it", async () => {
    const bot = await startBot({
      host,
      git: true,
      resources: () => apart("api", "web"),
      config: { defaults: AUTO_MERGE },
    });
    const one = await bot.open(changeOf(["api"], "2"));
    const mended = await bot.forge.pushToBranch(REPOSITORY, "main", {
      "apps/web/hotfix.yaml": configMap("hotfix", { on: "1" }),
    });
    const older = await bot.forge.push(REPOSITORY, one, { "README.md": "Older than the hotfix\n" });
    await bot.forge.mergeByHand(REPOSITORY, one, "ana");
    await bot.idle();
    const two = await bot.open(changeOf(["api"], "3"));
    const evil = { ...changeOf(["api"], "4"), "apps/web/hotfix.yaml": null };
    await bot.forge.push(REPOSITORY, two, evil, { onto: older, merging: mended });
    await bot.idle();
    expect(bot.lastComment(two)).toContain("### Application: `web`");
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain("- `web`: the base branch main changed apps/web/hotfix.yaml");
    expect(bot.changes()).toEqual([]);
  });

  test.each([
    ["a file", { files: [{ path: "envs/*.json" }] }, "{{ .name }}", { "envs/fr.json": '{"name":"fr"}' }],
    [
      "a folder",
      { directories: [{ path: "shops/*" }] },
      "{{ .path.basename }}",
      { "shops/fr/a.yaml": configMap("a", {}) },
    ],
  ])(
    "that gives an ApplicationSet %s is not taken from it by such a rebase without an approval",
    async (_, reads, name, files) => {
      const path = `shops/${name}`;
      const bot = await startBot({
        host,
        git: true,
        applications: ["web"],
        config: { defaults: { ...AUTO_MERGE, merge_method: "rebase" } },
        files: (url) => ({
          "sets/shops.yaml": shops(url, git(url, reads), { name, path }),
          "envs/de.json": '{"name":"de"}',
          "shops/de/a.yaml": configMap("a", {}),
        }),
        prepare: (world, forge) => {
          const repoURL = cloneUrlOf(forge);
          const set = shopsResource(repoURL, git(repoURL, reads), { name, path });
          runsShops(
            world,
            set,
            ["de", "fr"].map((one) => generatedApplication(one, { repoURL })),
          );
        },
      });
      const one = await bot.open({ ...changeOf(["web"]), ...files });
      await bot.push(one, Object.fromEntries(Object.keys(files).map((file) => [file, null])));
      await bot.forge.pushToBranch(REPOSITORY, "main", files);
      await bot.idle();
      await bot.comment(one, "svc plan");
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync");
      expect(bot.answers(one).join("\n")).toContain("the base branch changed files that its generators read");
      expect(bot.seen(one).state).toBe("open");
    },
  );

  test("that gives an ApplicationSet of a chart a folder is not hidden by the end of a file that defined it as well", async () => {
    const folder = "{{ .path.basename }}";
    const options = { name: folder, namespace: "argocd", path: `shops/${folder}` };
    const reads = { directories: [{ path: "shops/*" }] };
    const bot = await startBot({
      host,
      git: true,
      applications: [],
      config: { defaults: { ...AUTO_MERGE, merge_method: "rebase" } },
      files: (url) => ({
        "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "root" })),
        "root/Chart.yaml": "apiVersion: v2\nname: root\nversion: 1.0.0\n",
        "root/values.yaml": `folder: "${folder}"\npath: '"${options.path}"'\n`,
        "root/templates/set.yaml": shops(url, git(url, reads), {
          ...options,
          name: "{{ .Values.folder }}",
          path: "PATH",
        }).replace('"PATH"', "{{ .Values.path }}"),
        "argocd/set.yaml": shops(url, git(url, reads), options),
        "shops/de/a.yaml": configMap("a", {}),
      }),
      prepare: async ({ argocd }, forge) => {
        argocd.addApplication(applicationResource("root", { repoURL: cloneUrlOf(forge), path: "root" }));
        await argocd.deploy("root");
      },
    });
    const files = { "shops/fr/a.yaml": configMap("a", {}) };
    const other = { "root/templates/other.yaml": configMap("other", {}), "argocd/set.yaml": null };
    const one = await bot.open({ ...other, ...files });
    await bot.push(one, { "shops/fr/a.yaml": null });
    await bot.forge.pushToBranch(REPOSITORY, "main", files);
    await bot.idle();
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("the base branch changed files that its generators read");
  });

  test("in a definition that the PR changes as well is not reverted either", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    const mended = asYaml(bot.resourceOf("web", { annotations: { "example.com/owner": "team-a" } }));
    await bot.forge.pushToBranch(REPOSITORY, "main", { "argocd/web.yaml": mended });
    await bot.idle();
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "the base branch main changed argocd/web.yaml since this branch left it: a sync would revert",
    );
    expect(bot.changes()).toEqual([]);
  });
});
