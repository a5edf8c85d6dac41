import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { asYaml, changeOf } from "../scenarios/resources.js";

/** Ten to the power of `levels` values in a few lines. */
function aliasBomb(levels: number): string {
  const lines = Array.from({ length: levels }, (_, level) => {
    const values = Array.from({ length: 10 }, () => (level === 0 ? "x" : `*a${level - 1}`));
    return `b${level}: &a${level} [${values.join(", ")}]`;
  });
  return `${lines.join("\n")}\n`;
}

const APPLICATION = "apiVersion: argoproj.io/v1alpha1\nkind: Application\n";
const STARS = `${"**/*a*a*b/".repeat(20)}x`;
const BRACES = "{a,aa}".repeat(40);
const DETOUR = "b/".repeat(800) + "../".repeat(800);
const FAR = Array.from({ length: 10_000 }, (_, at) => `far0/x${at}`);

/** Files of a PR that a reader of YAML, globs or links may never come to the end of. */
const BOMBS: Readonly<Record<string, (bot: Bot) => FileChanges>> = {
  "aliases in an Application": () => ({ "argocd/bomb.yaml": `${aliasBomb(12)}${APPLICATION}metadata: {name: bomb}\n` }),
  "brackets in an Application": () => ({ "argocd/deep.yaml": `${APPLICATION}metadata: ${"[".repeat(50_000)}\n` }),
  "merge keys that contain themselves": () => ({
    "argocd/self.yaml": `&a\n${APPLICATION}<<: *a\nmetadata: &m {name: *m}\n`,
  }),
  "patterns of a generator": ({ forge }) => ({
    "argocd/set.yaml": asYaml({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name: "bombs" },
      spec: {
        generators: [STARS, BRACES].map((path) => ({
          git: { repoURL: forge.cloneUrl(REPOSITORY), revision: "main", files: [{ path }], directories: [{ path }] },
        })),
        template: { metadata: { name: "{{path.basename}}" }, spec: { project: "default" } },
      },
    }),
  }),
  "patterns of an annotation and of value files": (bot) => ({
    "argocd/api.yaml": asYaml(
      bot.resourceOf("api", {
        annotations: { "argocd.argoproj.io/manifest-generate-paths": [STARS, BRACES, "**/".repeat(500)].join(";") },
        spec: {
          source: {
            repoURL: bot.forge.cloneUrl(REPOSITORY),
            path: "apps/api",
            targetRevision: "main",
            helm: { valueFiles: [STARS, BRACES] },
          },
        },
      }),
    ),
  }),
  "Kustomize folders that lead in a circle": () => ({
    "apps/web/kustomization.yaml": "resources: [configmap.yaml, ../round]\n",
    "apps/round/kustomization.yaml": "resources: [../web, ../round, .]\n",
  }),
  "links that lead in a circle": () => ({
    "apps/api/a": { symlink: "b" },
    "apps/api/b": { symlink: "a" },
    "apps/api/self": { symlink: "." },
    "apps/api/up": { symlink: "../../apps" },
  }),
  "links that lead from one to the next by long detours": () => ({
    ...Object.fromEntries(
      Array.from({ length: 38 }, (_, at) => [`apps/web/far${at}`, { symlink: `${DETOUR}far${at + 1}` }]),
    ),
    "apps/web/kustomization.yaml": `resources: [configmap.yaml, ${FAR.join(", ")}]\n`,
  }),
  "paths of very many folders": () => ({
    "apps/web/kustomization.yaml": `resources: [configmap.yaml, ../${"a/".repeat(1000)}, ../${"a/".repeat(20_000)}]\n`,
  }),
};

/** Comments that a careless pattern takes minutes for. */
const LONG_COMMENTS = [
  `svc ${"-a web ".repeat(8_000)}`,
  `svc sync ${"a".repeat(60_000)}`,
  `on ${"wrote ".repeat(10_000)}`,
  "`".repeat(60_000),
  `${"> ".repeat(30_000)}svc unlock`,
  `${"```\n".repeat(15_000)}svc unlock`,
  "\n".repeat(60_000),
] as const;

describe.each(HOSTS)("bombs on %s", (host) => {
  test("in YAML, globs and links of a PR neither stop the service nor keep the next PR waiting", async () => {
    const bot = await startBot({ host, git: true });
    const bombs: number[] = [];
    for (const files of Object.values(BOMBS)) {
      bombs.push(await bot.forge.open({ repository: REPOSITORY, by: "bo", changes: files(bot) }));
    }
    const one = await bot.open(changeOf(["web"]), { by: "ana" });
    for (const [index, name] of Object.keys(BOMBS).entries()) {
      expect([name, bot.answers(bombs[index] ?? 0)]).toEqual([name, [expect.stringContaining("<!-- svc:")]]);
      await bot.forge.close(REPOSITORY, bombs[index] ?? 0);
    }
    await bot.idle();
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(bot.changes()).toEqual([]);
    expect((await fetch(`${bot.service.url}/health`)).status).toBe(200);
  });

  test("in comments neither stop the service nor do what they hide", async () => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changeOf(["web"]));
    for (const body of LONG_COMMENTS) await bot.forge.comment(REPOSITORY, one, "bo", body);
    await bot.idle();
    expect(bot.changes()).toEqual([]);
    await bot.comment(one, "svc help");
    expect(bot.lastComment(one)).toContain("## svc Help");
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
