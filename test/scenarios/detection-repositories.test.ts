import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { applicationResource, configMap } from "./resources.js";

const TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {size: {{ .Values.size | quote }}}\n";

describe.each(HOSTS)("detection across repositories on %s", (host) => {
  test.each([
    ["SSH, short form", (root: URL) => `git@${root.hostname}:${REPOSITORY}.git`],
    ["SSH, as a URL with a port", (root: URL) => `ssh://git@${root.hostname}:2222/${REPOSITORY}`],
    ["HTTPS, with other letters", (root: URL) => `http://${root.host}/ACME/Deploy/`],
  ])("an application whose resource lives elsewhere and whose repoURL is in the %s is found", async (_, urlOf) => {
    const bot = await startBot({
      host,
      applications: [],
      files: () => ({ "shop/configmap.yaml": configMap("shop", { value: "1" }) }),
      prepare: ({ argocd }, forge) => {
        argocd.addApplication(applicationResource("shop", { repoURL: urlOf(new URL(forge.url)), path: "shop" }));
      },
    });
    const one = await bot.open({ "shop/configmap.yaml": configMap("shop", { value: "2" }) });
    expect(section(bot.lastComment(one), "shop")).toContain('+  value: "2"');
    expect(await bot.locked(one)).toEqual(["shop"]);
  });

  test("a repository of another owner, name or server is another one", async () => {
    const bot = await startBot({
      host,
      config: { comments: { nothing_affected: "comment" } },
      applications: [],
      files: () => ({ "shop/configmap.yaml": configMap("shop", { value: "1" }) }),
      prepare: ({ argocd }) => {
        const urls = [
          "git@127.0.0.1:other/deploy.git",
          "git@127.0.0.1:acme/deploy2.git",
          "git@example.com:acme/deploy.git",
        ];
        for (const [index, repoURL] of urls.entries()) {
          argocd.addApplication(applicationResource(`other-${index}`, { repoURL, path: "shop" }));
        }
      },
    });
    const one = await bot.open({ "shop/configmap.yaml": configMap("shop", { value: "2" }) });
    expect(bot.lastComment(one)).toContain("No applications are affected");
    expect(bot.lastComment(one)).not.toContain("other-");
  });

  test("a multi-source application is affected by the files that it reads through ref, and by no others", async () => {
    const bot = await startBot({
      host,
      config: { comments: { nothing_affected: "comment" } },
      applications: ["web"],
      files: () => ({ "values/shop.yaml": "size: 1\n", "values/bank.yaml": "size: 1\n" }),
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository("acme/charts", {
          "shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
          "shop/templates/configmap.yaml": TEMPLATE,
        });
        const repoURL = forge.cloneUrl(REPOSITORY);
        const helm = { valueFiles: ["$values/values/shop.yaml"] };
        argocd.addApplication(
          applicationResource("shop", {
            repoURL,
            spec: {
              source: undefined,
              sources: [
                { repoURL: forge.cloneUrl("acme/charts"), path: "shop", targetRevision: "main", helm },
                { repoURL, targetRevision: "main", ref: "values" },
              ],
            },
          }),
        );
      },
    });
    const one = await bot.open({ "values/shop.yaml": "size: 2\n" });
    expect(planned(bot.lastComment(one))).toEqual(["shop"]);
    expect(section(bot.lastComment(one), "shop")).toContain('+  size: "2"');
    const two = await bot.open({ "values/bank.yaml": "size: 2\n" });
    expect(bot.lastComment(two)).toContain("No applications are affected");
    bot.expectChanges("sync shop");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.liveValue("shop", "size")).toBe("2");
  });
});
