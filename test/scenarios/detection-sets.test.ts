import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { planned } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";
import { cloneUrlOf, generatedApplication, git, names, runsShops, shops, shopsResource } from "./sets.js";

describe.each(HOSTS)("ApplicationSet expansion on %s", (host) => {
  test("a changed ApplicationSet shows which applications would be added or removed", async () => {
    const bot = await startBot({ host, files: (url) => ({ "sets/shops.yaml": shops(url, names("de", "fr")) }) });
    const url = bot.forge.cloneUrl("acme/deploy");
    const one = await bot.open({ "sets/shops.yaml": shops(url, names("de", "it")) });
    const comment = bot.lastComment(one);
    expect(comment).toContain("### ApplicationSet: `shops`\n\n- adds `shop-it`\n- removes `shop-fr`\n");
    expect(comment).toContain("**Source file:** `sets/shops.yaml`");
    expect(planned(comment)).toEqual([]);
    const two = await bot.open({ "apps/web/configmap.yaml": configMap("web", { value: "2" }) });
    expect(bot.lastComment(two)).not.toContain("ApplicationSet");
    const three = await bot.open({ "sets/shops.yaml": null });
    expect(bot.lastComment(three)).toContain("- removes `shop-de`, `shop-fr`");
  });

  test("an unchanged ApplicationSet is expanded when its git generator reads what the PR changes", async () => {
    const bot = await startBot({
      host,
      files: (url) => ({
        "sets/shops.yaml": shops(url, git(url, { directories: [{ path: "shops/*" }] }), {
          name: "{{ .path.basename }}",
        }),
        "shops/de/configmap.yaml": configMap("de", { value: "1" }),
      }),
    });
    const one = await bot.open({ "shops/it/configmap.yaml": configMap("it", { value: "1" }) });
    expect(bot.lastComment(one)).toContain("### ApplicationSet: `shops`\n\n- adds `shop-it`\n");
    expect(bot.argocd.applications().map(({ metadata }) => metadata.name)).toEqual(["web", "api"]);
  });

  test("an ApplicationSet of another repository is expanded when its git generator reads what the PR changes", async () => {
    const config = (folder: string) => JSON.stringify({ name: "de", folder: `shops/${folder}` });
    const bot = await startBot({ host, files: () => ({ "shops/de.json": config("one") }) });
    const url = cloneUrlOf(bot.forge);
    const set = shopsResource(url, git(url, { files: [{ path: "shops/*.json" }] }), { path: "{{ .folder }}" });
    runsShops(bot, set, [generatedApplication("de", { repoURL: url, path: "shops/one" })]);
    const one = await bot.open({ "shops/de.json": config("two"), "shops/two/configmap.yaml": configMap("de", {}) });
    const comment = bot.lastComment(one);
    expect(comment).toContain("### ApplicationSet: `shops`\n\n- changes `shop-de`\n");
    expect(comment).toContain("**Source file:** none in this repository; the ApplicationSet reads files of it");
    expect(comment).toContain("its ApplicationSet shops changes its definition: it takes effect at the merge");
    const two = await bot.open({ "shops/it.json": JSON.stringify({ name: "it", folder: "shops/one" }) });
    expect(bot.lastComment(two)).toContain("### ApplicationSet: `shops`\n\n- adds `shop-it`\n");
    const three = await bot.open({ "README.md": "more" });
    expect(bot.lastComment(three)).not.toContain("ApplicationSet");
  });

  test("an ApplicationSet of repositories by a path that comes or goes cannot be previewed, which bars the merge", async () => {
    const bot = await startBot({
      host,
      config: { defaults: { auto_merge: true } },
      files: () => ({ "deploy/enabled": "yes" }),
    });
    const url = cloneUrlOf(bot.forge);
    const listing = (owner: string, gitlab = {}) => ({
      scmProvider: {
        ...(host === "hosta" ? { github: { organization: owner } } : { gitlab: { group: owner, ...gitlab } }),
        filters: [{ repositoryMatch: ".*" }, { pathsExist: ["deploy/enabled"] }],
      },
    });
    const mixed = (...of: Parameters<typeof listing>) => ({ matrix: { generators: [names("de"), listing(...of)] } });
    runsShops(bot, shopsResource(url, mixed("acme")), [generatedApplication("de", { repoURL: url })]);
    const others = { "of-others": { includeSharedProjects: false }, "of-guests": {} };
    for (const [name, options] of Object.entries(others)) {
      bot.argocd.addApplicationSet({ ...shopsResource(url, mixed("other", options)), metadata: { name } });
    }
    const { scmProvider } = listing("acme");
    const filters = [{ pathsExist: ["deploy/{{ .name }}.d"] }];
    const templated = { matrix: { generators: [names("de"), { scmProvider: { ...scmProvider, filters } }] } };
    bot.argocd.addApplicationSet({ ...shopsResource(url, templated), metadata: { name: "by-name" } });
    const one = await bot.open({ ...changeOf(["web"]), "deploy/enabled": null });
    expect(bot.lastComment(one)).toContain("### ApplicationSet: `shops`\n\n**Changes:** could not be previewed");
    expect(bot.lastComment(one)).toContain("chooses repositories by a path that comes or goes here");
    expect(bot.lastComment(one)).not.toContain("of-others");
    // GitLab also lists the projects that are shared with a group.
    expect(bot.lastComment(one).includes("### ApplicationSet: `of-guests`")).toBe(host === "hostb");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("open");
    const two = await bot.open({ "deploy/enabled": "still", "deploy/more": "1" });
    expect(bot.lastComment(two)).not.toContain("ApplicationSet");
    const three = await bot.open({ "deploy/de.d/enabled": "yes" });
    expect(bot.lastComment(three)).toContain("### ApplicationSet: `by-name`\n\n**Changes:** could not be previewed");
    const four = await bot.open({ "deploy/enabled": "again", "deploy/other": "2" });
    expect(bot.lastComment(four)).not.toContain("ApplicationSet");
  });

  test("sets that cannot be listed hide no application, and it is told", async () => {
    const bot = await startBot({ host });
    bot.argocd.faults.add({ path: /\/applicationsets$/, fault: { kind: "status", status: 500 } });
    const one = await bot.open({ "apps/web/configmap.yaml": configMap("web", { value: "2" }) });
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(bot.lastComment(one)).toContain(
      "Could not check whether ApplicationSets of other repositories read what changes here",
    );
  });

  test("an ApplicationSet that cannot be expanded says why and hides no application", async () => {
    const bot = await startBot({
      host,
      files: (url) => ({ "sets/shops.yaml": shops(url, names("de")) }),
      config: ({ argocd }) => ({ deployer: { token: argocd.addAccount("small", { permissions: "get+sync" }) } }),
    });
    const url = bot.forge.cloneUrl("acme/deploy");
    const one = await bot.open({
      "sets/shops.yaml": shops(url, names("it")),
      "apps/web/configmap.yaml": configMap("web", { value: "2" }),
    });
    expect(bot.lastComment(one)).toContain("### ApplicationSet: `shops`\n\n**Changes:** could not be previewed");
    expect(bot.lastComment(one)).toContain("permission denied: applicationsets, create");
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
