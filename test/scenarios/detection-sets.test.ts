import { describe, expect, jest, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { planned } from "./plan-comment.js";
import { asYaml, configMap } from "./resources.js";

jest.setTimeout(60_000);

/** An ApplicationSet that makes an application `shop-<name>` for each name that its generator gives. */
function shops(repoURL: string, generator: object, name = "{{ .name }}"): string {
  return asYaml({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "ApplicationSet",
    metadata: { name: "shops" },
    spec: {
      goTemplate: true,
      generators: [generator],
      template: {
        metadata: { name: `shop-${name}` },
        spec: {
          project: "default",
          source: { repoURL, targetRevision: "main", path: `shops/${name}` },
          destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
        },
      },
    },
  });
}

const list = (...names: readonly string[]) => ({ list: { elements: names.map((name) => ({ name })) } });

describe.each(HOSTS)("ApplicationSet expansion on %s", (host) => {
  test("a changed ApplicationSet shows which applications would be added or removed", async () => {
    const bot = await startBot({ host, files: (url) => ({ "sets/shops.yaml": shops(url, list("de", "fr")) }) });
    const url = bot.forge.cloneUrl("acme/deploy");
    const one = await bot.open({ "sets/shops.yaml": shops(url, list("de", "it")) });
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
        "sets/shops.yaml": shops(
          url,
          { git: { repoURL: url, revision: "main", directories: [{ path: "shops/*" }] } },
          "{{ .path.basename }}",
        ),
        "shops/de/configmap.yaml": configMap("de", { value: "1" }),
      }),
    });
    const one = await bot.open({ "shops/it/configmap.yaml": configMap("it", { value: "1" }) });
    expect(bot.lastComment(one)).toContain("### ApplicationSet: `shops`\n\n- adds `shop-it`\n");
    expect(bot.argocd.applications().map(({ metadata }) => metadata.name)).toEqual(["web", "api"]);
  });

  test("an ApplicationSet that cannot be expanded says why and hides no application", async () => {
    const bot = await startBot({
      host,
      files: (url) => ({ "sets/shops.yaml": shops(url, list("de")) }),
      config: ({ argocd }) => ({ deployer: { token: argocd.addAccount("small", { permissions: "get+sync" }) } }),
    });
    const url = bot.forge.cloneUrl("acme/deploy");
    const one = await bot.open({
      "sets/shops.yaml": shops(url, list("it")),
      "apps/web/configmap.yaml": configMap("web", { value: "2" }),
    });
    expect(bot.lastComment(one)).toContain("### ApplicationSet: `shops`\n\n**Changes:** could not be previewed");
    expect(bot.lastComment(one)).toContain("permission denied: applicationsets, create");
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
