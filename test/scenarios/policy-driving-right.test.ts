import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { applicationResource, asYaml, configMap } from "./resources.js";

const CHARTS = "acme/charts";
const NAMED = "svc.dev/repository";
const NO_RIGHT = "no source of the live Application points at acme/deploy.";

interface Case {
  /** Annotations of the live Application. */
  readonly live?: (url: string) => Readonly<Record<string, string>>;
  /** Annotations of the PR's copy. */
  readonly copy?: (url: string) => Readonly<Record<string, string>>;
  /** Source of a live application `root` that `ext` names as its parent. */
  readonly parent?: (bot: { readonly own: string; readonly foreign: string }) => string;
  /** Patterns of `application_repositories`. */
  readonly listed?: Readonly<Record<string, string>>;
  /** The resource stands on the base branch; true when absent. */
  readonly onBase?: boolean;
}

/** Argo CD runs `ext` from another repository; a PR of this one changes its copy of the resource. */
async function planOf(host: Bot["host"], { live, copy, parent, listed = {}, onBase = true }: Case): Promise<Bot> {
  const ext = (foreign: string, targetRevision: string, annotations: Readonly<Record<string, string>> = {}) =>
    applicationResource("ext", { repoURL: foreign, path: "ext", targetRevision, annotations });
  const lists = Object.entries(listed).map(([application, repository]) => ({
    application,
    repositories: [repository],
  }));
  const bot = await startBot({
    host,
    applications: ["web"],
    config: { application_repositories: lists },
    files: (url) => ({ "argocd/ext.yaml": onBase ? asYaml(ext(url.replace(REPOSITORY, CHARTS), "main")) : null }),
    prepare: async ({ argocd }, forge) => {
      await forge.createRepository(CHARTS, { "ext/configmap.yaml": configMap("ext", { value: "1" }) });
      const [own, foreign] = [forge.cloneUrl(REPOSITORY), forge.cloneUrl(CHARTS)];
      await forge.pushToBranch(CHARTS, "v2", { "ext/configmap.yaml": configMap("ext", { value: "2" }) });
      const tracking = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/ext" };
      const annotations = { ...(parent === undefined ? {} : tracking), ...live?.(own) };
      argocd.addApplication(ext(foreign, "main", annotations));
      const source = parent?.({ own, foreign });
      if (source !== undefined) argocd.addApplication(applicationResource("root", { repoURL: source, path: "argocd" }));
    },
  });
  const foreign = bot.forge.cloneUrl(CHARTS);
  const one = await bot.open({ "argocd/ext.yaml": asYaml(ext(foreign, "v2", copy?.(bot.forge.cloneUrl(REPOSITORY)))) });
  expect(one).toBe(1);
  return bot;
}

describe.each(HOSTS)("which repository may drive an application on %s", (host) => {
  test.each<[string, Case]>([
    ["its name in the live annotation", { live: () => ({ [NAMED]: REPOSITORY }) }],
    ["its name in any case of letters", { live: () => ({ [NAMED]: " Acme/Deploy " }) }],
    ["its URL in the live annotation", { live: (url) => ({ [NAMED]: url }) }],
    ["application_repositories by pattern", { listed: { "e*": "acme/*" } }],
    ["application_repositories in other letters", { listed: { "e*": "ACME/Deploy" } }],
    ["its base branch holds the resource and the live parent reads it", { parent: ({ own }) => own }],
  ])("may: %s", async (_how, given) => {
    const bot = await planOf(host, given);
    expect(await bot.locked(1)).toContain("ext");
    expect(bot.lastComment(1)).not.toContain(NO_RIGHT);
  });

  test.each<[string, Case]>([
    ["nothing names it", {}],
    ["only the PR's own copy names it", { copy: () => ({ [NAMED]: REPOSITORY }) }],
    ["the live annotation names another", { live: () => ({ [NAMED]: "acme/deploy-2" }) }],
    ["the live annotation is a URL of another server", { live: () => ({ [NAMED]: "https://evil.test/acme/deploy" }) }],
    ["application_repositories of another application", { listed: { "web*": REPOSITORY } }],
    ["the live parent reads another repository", { parent: ({ foreign }) => foreign }],
    [
      "the parent reads it, but its base branch does not hold the resource",
      { parent: ({ own }) => own, onBase: false },
    ],
  ])("may not: %s", async (_how, given) => {
    const bot = await planOf(host, given);
    expect(await bot.locked(1)).not.toContain("ext");
    expect(bot.lastComment(1)).toContain(`- \`ext\`: ${NO_RIGHT}`);
    expect(bot.lastComment(1)).toContain(`set the annotation ${NAMED}: acme/deploy on the live Application in Argo CD`);
    await bot.comment(1, "svc sync -a ext");
    expect(bot.lastComment(1)).toMatch(/No applications are locked by this PR\.|Not locked by this (?:PR|MR): `ext`/);
  });
});
