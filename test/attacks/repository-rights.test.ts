import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { repositoryName } from "../../src/core/model/brand.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";

const EVIL = "acme/evil";

/** Names its own repository in every place where a repository may be named, and takes `web` for its own. */
function claims(bot: Bot, value: string): Readonly<Record<string, string>> {
  const annotations = { "svc.dev/repository": EVIL };
  const mine = (name: string, more: object = {}) =>
    asYaml(applicationResource(name, { repoURL: bot.forge.cloneUrl(EVIL), path: "apps/web", annotations, ...more }));
  return {
    "apps/web/configmap.yaml": configMap("web", { value }),
    "argocd/web.yaml": mine("web", { labels: { value } }),
    "argocd/set.yaml": asYaml({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name: "takers", annotations: { value } },
      spec: {
        generators: [{ list: { elements: [{ name: "web" }] } }],
        template: {
          metadata: { name: "{{name}}", annotations },
          spec: {
            project: "default",
            source: { repoURL: bot.forge.cloneUrl(EVIL), path: "apps/web", targetRevision: "main" },
            destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
          },
        },
      },
    }),
    ".svc.yaml": "applications: [{name: web, paths: ['**']}, {name: api, paths: ['**']}]\n",
  };
}

function startEvil(host: HostId): Promise<Bot> {
  return startBot({
    host,
    git: true,
    prepare: async (_world, forge) => {
      await forge.createRepository(EVIL, { "README.md": "1\n" });
      forge.setAccess(EVIL, "bo", "admin");
    },
  });
}

/** The application as its own repository defines it, copied. */
function definition(bot: Bot, value: string, file = "argocd/web.yaml"): FileChanges {
  return { [file]: asYaml(bot.resourceOf("web", { labels: { value } })) };
}

function lockedByEvil(bot: Bot, number: number): Promise<readonly string[]> {
  return lockedBy(bot, number, EVIL);
}

async function lockedBy(bot: Bot, number: number, repository: string): Promise<readonly string[]> {
  const change = { host: bot.host, repository: repositoryName(repository), number };
  return (await bot.stores.locks.list(change)).map(({ application }) => application);
}

describe.each(HOSTS)("another repository of the same host, on %s", (host) => {
  test("cannot show, lock, unlock, deploy or roll back an application by any claim of its own", async () => {
    const bot = await startEvil(host);
    await bot.forge.pushToBranch(EVIL, "main", claims(bot, "1"));
    const theft = await bot.forge.open({ repository: EVIL, by: "bo", changes: claims(bot, "stolen") });
    await bot.idle();
    expect(await lockedByEvil(bot, theft)).toEqual([]);
    const one = await bot.open(changeOf(["web"]));
    expect(one).toBe(theft);
    for (const command of ["plan -a web", "sync -a web", "unlock -a web", "rollback -a web"]) {
      await bot.forge.comment(EVIL, theft, "bo", `svc ${command}`);
      await bot.idle();
      expect([command, await lockedByEvil(bot, theft)]).toEqual([command, []]);
    }
    const said = bot.forge
      .changeRequest(EVIL, theft)
      .comments.map(({ body }) => body)
      .join("\n");
    expect(said).toContain("no source of the live Application points at acme/evil");
    expect(said).not.toContain("```diff");
    await bot.forge.close(EVIL, theft);
    await bot.idle();
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(bot.changes()).toEqual([]);
  });

  test("in a group with a numeric name does not pass for the one that its SSH address looks like", async () => {
    // `git@host:2222/acme/deploy.git` is no port and `acme/deploy`.
    const numeric = `2222/${REPOSITORY}`;
    const bot = await startBot({
      host,
      git: true,
      prepare: async ({ argocd }, forge) => {
        const { hostname } = new URL(forge.url);
        argocd.addApplication(applicationResource("bank", { repoURL: `git@${hostname}:${numeric}.git` }));
        if (host === "hosta") return;
        await forge.createRepository(numeric, { "README.md": "1\n" });
        forge.setAccess(numeric, "bo", "admin");
      },
    });
    const one = await bot.open(changeOf(["bank"]), { by: "bo" });
    expect(await bot.locked(one)).toEqual([]);
    for (const command of ["plan -a bank", "sync -a bank", "rollback -a bank"]) {
      await bot.comment(one, `svc ${command}`, "bo");
      expect([command, await bot.locked(one)]).toEqual([command, []]);
    }
    expect(bot.answers(one).join("\n")).toMatch(
      /application not found: `bank`\. This [PM]R affects no application of that name/,
    );
    if (host === "hostb") {
      const theft = await bot.forge.open({ repository: numeric, by: "bo", changes: changeOf(["web"]) });
      await bot.forge.comment(numeric, theft, "bo", "svc plan -a web");
      await bot.idle();
      const said = bot.forge.changeRequest(numeric, theft).comments.map(({ body }) => body);
      expect(said.at(-1)).toContain("application not found: `web`. This MR affects no application of that name");
      expect(await lockedBy(bot, theft, numeric)).toEqual([]);
    }
    expect(bot.changes()).toEqual([]);
  });

  test.each<[string, (bot: Bot) => FileChanges, (bot: Bot) => FileChanges]>([
    ["deletes", (bot) => definition(bot, "1"), () => ({ "argocd/web.yaml": null })],
    ["doubles", (bot) => definition(bot, "1"), (bot) => definition(bot, "2", "argocd/copy.yaml")],
  ])("takes no lock of an application whose definition it %s", async (_how, before, after) => {
    const bot = await startEvil(host);
    await bot.forge.pushToBranch(EVIL, "main", before(bot));
    const theft = await bot.forge.open({ repository: EVIL, by: "bo", changes: after(bot) });
    await bot.idle();
    expect(await lockedByEvil(bot, theft)).toEqual([]);
    const one = await bot.open(changeOf(["web"]));
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("is not read through a PR of this one where the application's project does not permit it", async () => {
    const bot = await startBot({
      host,
      git: true,
      resources: () => ({ web: { project: "shop" } }),
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository("acme/private", {
          "apps/web/configmap.yaml": configMap("web", { value: "not-for-ana" }),
        });
        argocd.addProject("shop", { sourceRepos: [`${forge.url}/${REPOSITORY}*`] });
      },
    });
    const one = await bot.open({
      "argocd/web.yaml": asYaml(
        bot.resourceOf("web", { project: "shop", repoURL: bot.forge.cloneUrl("acme/private"), path: "apps/web" }),
      ),
    });
    await bot.comment(one, "svc sync");
    expect(bot.answers(one).join("\n")).toContain("web");
    expect(bot.answers(one).join("\n")).not.toContain("not-for-ana");
    expect(bot.changes()).toEqual([]);
  });
});
