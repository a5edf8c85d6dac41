import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, asYaml, configMap } from "../scenarios/resources.js";
import { cloneUrlOf, git, runsShops, shops, shopsResource, type SetOptions } from "../scenarios/sets.js";

const PRIVATE = "acme/private";
const SECRET = "not-for-ana";
const NOT_RENDERED = "it is not rendered before somebody who may deploy it has approved this commit";

/** Argo CD reads a private repository, which the projects `open` and `default` permit. */
function startPrivate(host: HostId, more: Partial<BotOptions> = {}): Promise<Bot> {
  return startBot({
    host,
    ...more,
    prepare: async (world, forge) => {
      await forge.createRepository(PRIVATE, { "apps/web/configmap.yaml": configMap("web", { value: SECRET }) });
      world.argocd.addProject("open", {});
      await more.prepare?.(world, forge);
    },
  });
}

const privateUrl = (bot: Bot) => bot.forge.cloneUrl(PRIVATE);
const definition = (bot: Bot, more: Parameters<Bot["resourceOf"]>[1]): FileChanges => ({
  "argocd/web.yaml": asYaml(bot.resourceOf("web", more)),
});
/** A definition whose Kustomize options name these. */
const kustomized = (bot: Bot, kustomize: Readonly<Record<string, unknown>>, name = "web"): FileChanges => {
  const source = { repoURL: cloneUrlOf(bot.forge), path: "apps/web", targetRevision: "main", kustomize };
  return { [`argocd/${name}.yaml`]: asYaml(bot.resourceOf(name, { spec: { source } })) };
};
const ADDRESSES = [
  "github.com/acme/private//apps/web?ref=main",
  "GitHub.com/acme/private",
  "git@github.com:acme/private.git",
  "org-1@github.com/acme/private",
  "git::https://git.example.com/acme/private",
  "ssh://git@git.example.com/acme/private//apps/web",
  "git.example.com/acme/private",
  "not-in-the-tree",
];
const temporary = ({ argocd }: Bot) =>
  argocd.requests.filter(({ method, path }) => method === "POST" && path.endsWith("/applications"));

function expectNothingRead(bot: Bot, one: number): void {
  expect(bot.answers(one).join("\n")).not.toContain(SECRET);
  expect(temporary(bot)).toEqual([]);
  expect(bot.changes()).toEqual([]);
}

describe.each(HOSTS)("a definition that reads what its live application does not, on %s", (host) => {
  test.each<[string, (bot: Bot) => FileChanges]>([
    ["another project", (bot) => definition(bot, { project: "open" })],
    ["another repository", (bot) => definition(bot, { repoURL: privateUrl(bot) })],
    ["another repository of another project", (bot) => definition(bot, { project: "open", repoURL: privateUrl(bot) })],
    ["its repository in other letters", (bot) => definition(bot, { repoURL: cloneUrlOf(bot.forge).toUpperCase() })],
    ["its repository without .git", (bot) => definition(bot, { repoURL: cloneUrlOf(bot.forge).replace(/\.git$/, "") })],
    [
      "its repository with credentials",
      (bot) => definition(bot, { repoURL: cloneUrlOf(bot.forge).replace("://", "://ana:pass-of-ana@") }),
    ],
    [
      "a second source",
      (bot) => {
        const [own, other] = [cloneUrlOf(bot.forge), privateUrl(bot)];
        const sources = [
          { repoURL: own, path: "apps/web", targetRevision: "main" },
          { repoURL: other, path: "apps/web", targetRevision: "main" },
        ];
        return definition(bot, { spec: { source: undefined, sources } });
      },
    ],
    [
      "a `ref` source",
      (bot) => {
        const sources = [
          { repoURL: cloneUrlOf(bot.forge), path: "apps/web", targetRevision: "main" },
          { repoURL: privateUrl(bot), targetRevision: "main", ref: "values" },
        ];
        return definition(bot, { spec: { source: undefined, sources } });
      },
    ],
    ["an OCI registry", (bot) => definition(bot, { repoURL: "oci://registry.example.com/private" })],
    [
      "a value file by its address",
      (bot) => {
        const helm = { valueFiles: ["https://internal.example.com/values.yaml"] };
        const source = { repoURL: cloneUrlOf(bot.forge), path: "apps/web", targetRevision: "main", helm };
        return definition(bot, { spec: { source } });
      },
    ],
    [
      "a plugin with settings of its own",
      (bot) => {
        const plugin = { env: [{ name: "REPOSITORY", value: privateUrl(bot) }] };
        const source = { repoURL: cloneUrlOf(bot.forge), path: "apps/web", targetRevision: "main", plugin };
        return definition(bot, { spec: { source } });
      },
    ],
    ...ADDRESSES.map((entry): [string, (bot: Bot) => FileChanges] => [
      `the component ${entry}`,
      (bot) => kustomized(bot, { components: [entry] }),
    ]),
    [
      "a patch by its address",
      (bot) => kustomized(bot, { patches: [{ path: "https://internal.example.com/p.yaml" }] }),
    ],
    [
      "a component whose address is also a folder here",
      (bot) => ({
        ...kustomized(bot, { components: ["github.com/acme/private"] }),
        "apps/web/github.com/acme/private/kustomization.yaml": "kind: Component\n",
      }),
    ],
  ])("is not rendered before an approval, but shown: %s", async (_what, changes) => {
    const bot = await startPrivate(host);
    const one = await bot.open(changes(bot));
    const plan = bot.lastComment(one);
    expect(plan).toContain(NOT_RENDERED);
    expect(plan).toContain("**Changes:** could not be evaluated");
    expect(plan).toContain("# update: Application");
    expect(plan).not.toContain("pass-of-ana");
    expect(await bot.locked(one)).toEqual(["web"]);
    for (const command of ["plan -a web", "plan", "sync", "sync -a web --dry-run"]) {
      await bot.comment(one, `svc ${command}`);
    }
    expect(bot.lastComment(one)).toMatch(/PR must be approved before sync|it is not rendered before/);
    expectNothingRead(bot, one);
    expect(bot.seen(one).state).toBe("open");
    const status = bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
    if (host === "hosta") expect(status?.state).toBe("pending");
  });

  test("waits for nobody if its components and patches are in the tree of this repository", async () => {
    const bot = await startPrivate(host);
    const one = await bot.open({
      ...kustomized(bot, { components: ["../../parts/a", "b"], patches: [{ path: "c.yaml" }] }),
      "parts/a/kustomization.yaml": "kind: Component\n",
      "apps/web/b/kustomization.yaml": "kind: Component\n",
      "apps/web/c.yaml": "- {op: remove, path: /data}\n",
    });
    expect(bot.lastComment(one)).not.toContain(NOT_RENDERED);
    expect(temporary(bot)).not.toEqual([]);
  });

  test("hides the secrets of the definition that it shows instead", async () => {
    const bot = await startPrivate(host);
    const helm = { parameters: [{ name: "db.password", value: "hunter22" }], values: "token: hunter33\n" };
    const source = { repoURL: privateUrl(bot), path: "apps/web", targetRevision: "main", helm };
    const one = await bot.open(definition(bot, { spec: { source } }));
    expect(bot.lastComment(one)).toContain(`+    repoURL: ${privateUrl(bot)}`);
    expect(bot.lastComment(one)).toContain("(hidden, value 1)");
    expect(bot.lastComment(one)).not.toMatch(/hunter/);
  });

  test("is planned again, and rendered, as soon as somebody approves that commit", async () => {
    const bot = await startPrivate(host);
    const one = await bot.open(definition(bot, { repoURL: privateUrl(bot) }));
    expectNothingRead(bot, one);
    await bot.approve(one);
    expect(bot.lastComment(one)).not.toContain(NOT_RENDERED);
    expect(bot.lastComment(one)).toContain(`+  value: ${SECRET}`);
  });

  test("is planned again by an approval also where svc plans on command only", async () => {
    const bot = await startPrivate(host, { config: { defaults: { autoplan: false } } });
    const one = await bot.open(definition(bot, { repoURL: privateUrl(bot) }));
    expect(bot.answers(one)).toEqual([]);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain(NOT_RENDERED);
    await bot.approve(one);
    expect(bot.lastComment(one)).toContain(SECRET);
  });

  test("is not tried in a dry run, which needs no approval, before or after one", async () => {
    const bot = await startPrivate(host);
    const one = await bot.open({
      ...definition(bot, { repoURL: privateUrl(bot) }),
      "apps/web/configmap.yaml": configMap("web", { value: "2" }),
    });
    await bot.comment(one, "svc sync --dry-run", "bo");
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    expect(bot.lastComment(one)).toContain(NOT_RENDERED);
    expectNothingRead(bot, one);
    await bot.approve(one);
    expect(bot.lastComment(one)).toContain(`+  value: ${SECRET}`);
    const renders = temporary(bot).length;
    await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
    await bot.comment(one, "svc sync --dry-run", "bo");
    expect(bot.lastComment(one)).toContain(NOT_RENDERED);
    expect(temporary(bot)).toHaveLength(renders);
    expect(bot.changes()).toEqual([]);
  });

  test("is not rendered for the author's own approval, or for one of an earlier commit", async () => {
    const bot = await startPrivate(host);
    const one = await bot.open({ "docs/a.md": "1\n" });
    await bot.approve(one);
    await bot.push(one, definition(bot, { repoURL: privateUrl(bot) }));
    await bot.approve(one, "ana").catch(() => undefined);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain(NOT_RENDERED);
    expectNothingRead(bot, one);
  });

  test("is not rendered for the approval of somebody whom allowed_users does not name", async () => {
    const file = "sync_requirements: [{name: web, allowed_users: [cleo]}]\n";
    const bot = await startPrivate(host, { files: () => ({ ".svc.yaml": file }) });
    bot.forge.setAccess(REPOSITORY, "cleo", "write");
    const one = await bot.open(definition(bot, { repoURL: privateUrl(bot) }));
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain(
      "bo approved the head commit, but allowed_users and allowed_teams do not name them",
    );
    expectNothingRead(bot, one);
    await bot.approve(one, "cleo");
    expect(bot.lastComment(one)).toContain(`+  value: ${SECRET}`);
  });
});

describe.each(HOSTS)("a new application that reads what no application of this repository does, on %s", (host) => {
  /** One new application per way to read more, each with its name. */
  function readers(bot: Bot): FileChanges {
    const own = cloneUrlOf(bot.forge);
    const ways: Readonly<Record<string, Parameters<Bot["resourceOf"]>[1]>> = {
      "other-project": { project: "open" },
      "other-repository": { repoURL: privateUrl(bot), path: "apps/web" },
      "own-credentials": { repoURL: own.replace("://", "://ana:pass-of-ana@") },
      "own-spelling": { repoURL: own.toUpperCase() },
      "by-address": {
        spec: {
          source: {
            repoURL: own,
            path: "apps/web",
            helm: { valueFiles: ["https://internal.example.com/values.yaml"] },
          },
        },
      },
      "by-plugin": {
        spec: { source: { repoURL: own, path: "apps/web", plugin: { env: [{ name: "A", value: "b" }] } } },
      },
      "by-ref": {
        spec: {
          source: undefined,
          sources: [
            { repoURL: own, path: "apps/web", targetRevision: "main" },
            { repoURL: privateUrl(bot), targetRevision: "main", ref: "values" },
          ],
        },
      },
    };
    return Object.fromEntries(
      Object.entries(ways).map(([name, more]) => [`argocd/${name}.yaml`, asYaml(bot.resourceOf(name, more))]),
    );
  }

  test("is announced and not rendered before an approval, whatever else runs in its project", async () => {
    const bot = await startPrivate(host, {
      prepare: ({ argocd }, forge) => {
        // Of another team, in the project that the applications of this repository are in as well.
        const repoURL = forge.cloneUrl(PRIVATE);
        argocd.addApplication(applicationResource("theirs", { repoURL, path: "apps/web" }));
      },
    });
    const changes = {
      ...readers(bot),
      ...kustomized(bot, { components: ["github.com/acme/private//apps/web?ref=main"] }, "by-component"),
    };
    const one = await bot.open(changes);
    const plan = bot.lastComment(one);
    expect(plan.split(NOT_RENDERED)).toHaveLength(Object.keys(changes).length + 1);
    expect(plan).not.toContain("pass-of-ana");
    for (const command of ["plan", "sync", "sync --dry-run"]) await bot.comment(one, `svc ${command}`);
    await bot.approve(one, "ana").catch(() => undefined);
    expectNothingRead(bot, one);
  });
});

describe.each(HOSTS)("an ApplicationSet whose generators read more than this repository, on %s", (host) => {
  const generated = ({ argocd }: Bot) => argocd.requests.filter(({ path }) => path.endsWith("/generate"));
  const reading = (url: string) => git(url.replace(REPOSITORY, PRIVATE), { files: [{ path: "*.json" }] });
  const start = (before?: (url: string) => object, options: SetOptions = {}) =>
    startBot({
      host,
      files: (url): FileChanges =>
        before === undefined ? {} : { "sets/shops.yaml": shops(url, before(url), options) },
      prepare: async (world, forge) => {
        await forge.createRepository(PRIVATE, { "a.json": JSON.stringify({ name: SECRET }) });
        if (before !== undefined) runsShops(world, shopsResource(cloneUrlOf(forge), before(cloneUrlOf(forge))), []);
      },
    });

  test.each<[string, (url: string) => object]>([
    ["another repository", reading],
    [
      "another repository inside of a matrix",
      (url) => ({ matrix: { generators: [{ list: { elements: [{}] } }, reading(url)] } }),
    ],
    ["a plugin", () => ({ plugin: { configMapRef: { name: "p" } } })],
    ["all repositories of an organization", () => ({ scmProvider: { github: { organization: "acme" } } })],
    ["the clusters", () => ({ clusters: {} })],
  ])("is not previewed before an approval: %s", async (_what, generator) => {
    const bot = await start();
    const one = await bot.open({ "sets/shops.yaml": shops(cloneUrlOf(bot.forge), generator(cloneUrlOf(bot.forge))) });
    expect(bot.lastComment(one)).toContain("it is not previewed before somebody who may deploy its applications");
    await bot.comment(one, "svc plan");
    expect(bot.answers(one).join("\n")).not.toContain(SECRET);
    expect(generated(bot)).toEqual([]);
  });

  test("is not asked for before an approval where a parent applies it either", async () => {
    const bot = await startBot({
      host,
      applications: [],
      files: (url) => ({
        ".svc.yaml": "sync_requirements: [{ name: 'shop-*', require_approval: true }]\n",
        "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
        "children/configmap.yaml": configMap("root", { value: "1" }),
      }),
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository(PRIVATE, { "a.json": JSON.stringify({ name: SECRET }) });
        argocd.addApplication(applicationResource("root", { repoURL: cloneUrlOf(forge), path: "children" }));
      },
    });
    const url = cloneUrlOf(bot.forge);
    const set = shops(url, reading(url), { namespace: "argocd" });
    const one = await bot.open({ "children/set.yaml": set });
    await bot.comment(one, "svc sync -a root");
    expect(bot.answers(one).join("\n")).not.toContain(SECRET);
    expect(bot.lastComment(one)).not.toContain(SECRET);
    expect(generated(bot)).toEqual([]);
    expect(bot.changes()).toEqual([]);
    await bot.approve(one);
    expect(bot.lastComment(one)).toContain(`shop-${SECRET}`);
  });

  test.each<[string, SetOptions]>([
    ["", {}],
    [", also where its file names Argo CD's namespace", { namespace: "argocd" }],
  ])("is previewed while it stays as Argo CD runs it, and not once its template changes%s", async (_what, options) => {
    const mixed = (url: string) => ({
      matrix: { generators: [git(url, { files: [{ path: "envs/*.json" }] }), reading(url)] },
    });
    const bot = await start(mixed, options);
    const one = await bot.open({ "envs/it.json": JSON.stringify({ env: "it" }) });
    expect(bot.lastComment(one)).not.toContain("it is not previewed");
    expect(generated(bot).length).toBeGreaterThan(0);
    const before = generated(bot).length;
    const two = await bot.open({
      "sets/shops.yaml": shops(cloneUrlOf(bot.forge), mixed(cloneUrlOf(bot.forge)), {
        ...options,
        path: "shops/{{ .env }}",
      }),
    });
    expect(bot.lastComment(two)).toContain("it is not previewed before");
    expect(generated(bot).length).toBe(before);
    await bot.approve(two);
    expect(bot.lastComment(two)).not.toContain("it is not previewed before");
  });
});
