import { describe, expect, test } from "@jest/globals";
import { HOSTS, SHORT, startBot } from "./bot.js";
import { planned, section, UNCHANGED_TEXT } from "./plan-comment.js";
import { applicationResource, asYaml, changeOf, configMap } from "./resources.js";

describe.each(HOSTS)("detection by paths on %s", (host) => {
  test("an application is affected if its source.path overlaps the PR's changed files", async () => {
    const bot = await startBot({
      host,
      applications: ["web", "api"],
      config: { comments: { nothing_affected: "comment" } },
      files: () => ({ "apps/web-old/configmap.yaml": configMap("old", { value: "1" }) }),
    });
    const one = await bot.open({
      "apps/web/nested/more.yaml": configMap("more", { value: "1" }),
      "README.md": "hello",
    });
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    const two = await bot.open({ "apps/web-old/configmap.yaml": configMap("old", { value: "2" }) });
    expect(bot.lastComment(two)).toContain("No applications are affected");
    const three = await bot.open({
      "apps/web/gone.yaml": configMap("gone", { a: "1" }),
      "apps/api/configmap.yaml": null,
    });
    expect(planned(bot.lastComment(three))).toEqual(["api", "web"]);
  });

  test("a link out of the repository, wherever it is, keeps Argo CD from rendering any application of it", async () => {
    const bot = await startBot({ host, applications: ["web", "api"] });
    const one = await bot.open({ "docs/link": { symlink: "../../etc/passwd" } });
    expect(planned(bot.lastComment(one))).toEqual(["api", "web"]);
    for (const name of ["api", "web"]) {
      expect(section(bot.lastComment(one), name)).toContain(
        "repository contains out-of-bounds symlinks. file: docs/link",
      );
    }
  });

  test("the scan is narrowed by cr_paths, to which the PR can add and from which it can take nothing away", async () => {
    const bot = await startBot({
      host,
      config: { comments: { nothing_affected: "comment" } },
      files: () => ({ ".svc.yaml": "cr_paths: ['argocd/**']\n" }),
    });
    const elsewhere = { "other/shop.yaml": asYaml(bot.resourceOf("shop")) };
    const one = await bot.open(elsewhere);
    expect(bot.lastComment(one)).toContain("No applications are affected");
    const two = await bot.open({ ...elsewhere, ".svc.yaml": "cr_paths: ['other/**']\n", "argocd/web.yaml": null });
    expect(bot.lastComment(two)).toContain("### Application: `shop` (new)");
    expect(bot.lastComment(two)).toContain("### Application: `web` (deleted)");
  });

  test("an application is affected if it matches explicit paths patterns in .svc.yaml", async () => {
    const bot = await startBot({
      host,
      files: () => ({
        ".svc.yaml": "applications:\n  - name: web\n    paths: ['shared/**']\n",
        "shared/settings.txt": "1",
      }),
    });
    const one = await bot.open({ "shared/settings.txt": "2" });
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(section(bot.lastComment(one), "web")).toContain(UNCHANGED_TEXT);
    const two = await bot.open({
      ".svc.yaml": "applications:\n  - name: api\n    paths: ['docs/**']\n",
      "docs/index.md": "hello",
    });
    expect(planned(bot.lastComment(two))).toEqual(["api"]);
  });

  test("explicit paths alone give no right to drive an application", async () => {
    const bot = await startBot({
      host,
      files: () => ({ ".svc.yaml": "applications:\n  - name: bank\n    paths: ['**']\n" }),
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository("acme/bank", { "apps/bank/configmap.yaml": configMap("bank", { value: "1" }) });
        argocd.addApplication(applicationResource("bank", { repoURL: forge.cloneUrl("acme/bank") }));
      },
    });
    const one = await bot.open({ "docs/index.md": "hello" });
    expect(planned(bot.lastComment(one))).toEqual([]);
    expect(bot.lastComment(one)).toContain(
      `Not deployed by this ${SHORT[host]}:\n- \`bank\`: none of its sources is in acme/deploy`,
    );
    const two = await bot.open({
      "apps/bank/configmap.yaml": configMap("bank", { value: "stolen" }),
      "argocd/bank.yaml": asYaml(bot.resourceOf("bank")),
    });
    expect(bot.lastComment(two)).toContain("- `bank`: no source of the live Application points at acme/deploy");
    expect(bot.lastComment(two)).toContain("svc.dev/repository: acme/deploy");
    expect(await bot.locked(two)).toEqual([]);
    await bot.comment(two, "svc sync -a bank");
    expect(bot.lastComment(two)).toContain("No applications are locked by this PR. Run the plan command first.");
  });

  test("as a fallback the deployer's application source paths are checked", async () => {
    const bot = await startBot({ host, files: () => ({ "argocd/web.yaml": null }) });
    const one = await bot.open(changeOf(["web"]));
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(section(bot.lastComment(one), "web")).toContain('+  value: "2"');
  });

  test("an application that follows another branch is listed with the reason and not locked", async () => {
    const bot = await startBot({
      host,
      prepare: ({ argocd }, forge) => {
        const repoURL = forge.cloneUrl("acme/deploy");
        argocd.addApplication(applicationResource("pinned", { repoURL, path: "apps/web", targetRevision: "release" }));
      },
    });
    const one = await bot.open(changeOf(["web"]));
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(bot.lastComment(one)).toContain("- `pinned`: it follows release, not main");
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
