import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { applicationResource, changeOf, configMap } from "./resources.js";
import { cloneUrlOf, generatedApplication, git, names, runsShops, shops, shopsResource } from "./sets.js";

const OTHER = "acme/private";
const SECRETS = { "de/configmap.yaml": configMap("shop-de", { value: "confidential" }) };
const otherUrl = (url: string) => url.replace(REPOSITORY, OTHER);

interface Elsewhere {
  readonly readsThisRepository: boolean;
  /** Whether the set has a file here. */
  readonly standsHere: boolean;
}

/** Argo CD runs `shop-de` of another repository, which a set generates. */
function startElsewhere(host: Bot["host"], { readsThisRepository, standsHere }: Elsewhere): Promise<Bot> {
  const reading = (url: string) => git(url, { files: [{ path: "envs/*.json" }] });
  const set = (url: string, generator: object) =>
    shopsResource(url, generator, {
      spec: { source: { repoURL: otherUrl(url), path: "{{ .folder }}", targetRevision: "main" } },
    });
  return startBot({
    host,
    files: (url) => ({
      ...(standsHere ? { "sets/shops.yaml": JSON.stringify(set(url, reading(url))) } : {}),
      "envs/de.json": JSON.stringify({ name: "de", folder: "old" }),
    }),
    prepare: async (world, forge) => {
      await forge.createRepository(OTHER, { ...SECRETS, "old/configmap.yaml": configMap("shop-de", { value: "old" }) });
      const url = cloneUrlOf(forge);
      const live = generatedApplication("de", { repoURL: otherUrl(url), path: "old" });
      runsShops(world, set(url, readsThisRepository ? reading(url) : names("de")), [live]);
    },
  });
}

const CHANGED = { "envs/de.json": JSON.stringify({ name: "de", folder: "de" }) };
const created = ({ argocd }: Bot) =>
  argocd.requests.filter(({ method, path }) => method === "POST" && path.endsWith("/applications"));

describe.each(HOSTS)("whose generated applications a PR may show on %s", (host) => {
  test("an application of other sources is shown where the live set reads this repository", async () => {
    const bot = await startElsewhere(host, { readsThisRepository: true, standsHere: true });
    const one = await bot.open(CHANGED);
    expect(section(bot.lastComment(one), "shop-de")).toContain("+  value: confidential");
    expect(await bot.locked(one)).toEqual([]);
  });

  test.each([
    ["the live set has nothing of this repository", { readsThisRepository: false, standsHere: true }],
    ["the set reads this repository and stands in another one", { readsThisRepository: true, standsHere: false }],
  ])("where %s, it is listed with the cure and not rendered", async (_, how) => {
    const bot = await startElsewhere(host, how);
    const one = await bot.open(CHANGED);
    expect(bot.lastComment(one)).toContain("- changes `shop-de`");
    expect(bot.lastComment(one)).toContain("- `shop-de`: no source of the live Application points at acme/deploy.");
    expect(planned(bot.lastComment(one))).toEqual([]);
    expect(created(bot)).toEqual([]);
  });

  test("a set that a PR brings along shows nothing of applications that it does not own", async () => {
    const bot = await startBot({
      host,
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository(OTHER, SECRETS);
        const repoURL = otherUrl(cloneUrlOf(forge));
        argocd.addApplication(applicationResource("shop-de", { repoURL, path: "de" }));
      },
    });
    const url = cloneUrlOf(bot.forge);
    const one = await bot.open({ "sets/shops.yaml": shops(otherUrl(url), names("de"), { path: "de" }) });
    expect(bot.lastComment(one)).toContain("- adds `shop-de`");
    expect(bot.lastComment(one)).toContain(
      "shop-de runs in Argo CD already: the ApplicationSet takes it over or fails on it",
    );
    await bot.push(one, { "sets/shops.yaml": shops(otherUrl(url), names("de"), { path: "." }) });
    expect(planned(bot.lastComment(one))).toEqual([]);
    expect(created(bot)).toEqual([]);
  });

  test.each([
    ["", {}],
    [", whatever its template says", { metadata: { namespace: "team-b" } }],
  ])("a set outside of Argo CD's namespace makes applications of its own namespace%s", async (_, more) => {
    const set = { name: "{{ .name }}", namespace: "team-a", path: "{{ .folder }}", ...more };
    const generator = (url: string) => git(url, { files: [{ path: "envs/*.json" }] });
    const bot = await startBot({
      host,
      argocd: { applicationNamespaces: ["team-*"] },
      files: (url) => ({
        "sets/shops.yaml": shops(url, generator(url), set),
        "envs/de.json": JSON.stringify({ name: "de", folder: "shops/de" }),
        "shops/de/configmap.yaml": configMap("shop-de", { value: "1" }),
        "shops/new/configmap.yaml": configMap("shop-de", { value: "2" }),
      }),
      prepare: (world, forge) => {
        world.argocd.addProject("default", { sourceNamespaces: ["team-*"] });
        const url = cloneUrlOf(forge);
        const [mine, other] = ["team-a", undefined].map((namespace) =>
          generatedApplication("de", { repoURL: url, ...(namespace === undefined ? {} : { namespace }) }),
        );
        runsShops(world, shopsResource(url, generator(url), set), [mine ?? {}, other ?? {}]);
      },
    });
    const one = await bot.open({ "envs/de.json": JSON.stringify({ name: "de", folder: "shops/new" }) });
    expect(bot.lastComment(one)).toContain("### ApplicationSet: `team-a/shops`\n\n- changes `team-a/shop-de`\n");
    expect(planned(bot.lastComment(one))).toEqual(["team-a/shop-de"]);
    expect(section(bot.lastComment(one), "team-a/shop-de")).toContain('+  value: "2"');
  });

  test("git generators of this repository are pinned to each side's commit, in matrix and merge too, and nothing else is", async () => {
    const mixed = (url: string) => ({
      matrix: {
        generators: [
          git(url, { files: [{ path: "envs/*.json" }] }),
          {
            merge: {
              mergeKeys: ["color"],
              generators: [
                { list: { elements: [{ color: "red" }] } },
                git(otherUrl(url), { files: [{ path: "*.json" }] }),
              ],
            },
          },
        ],
      },
    });
    const colored = { name: "{{ .name }}-{{ .color }}" };
    const bot = await startBot({
      host,
      files: (url) => ({
        "sets/shops.yaml": shops(url, mixed(url), colored),
        "envs/de.json": JSON.stringify({ name: "de" }),
      }),
      prepare: async (world, forge) => {
        await forge.createRepository(OTHER, { "size.json": JSON.stringify({ color: "red", size: "l" }) });
        const url = cloneUrlOf(forge);
        runsShops(world, shopsResource(url, mixed(url), colored), []);
      },
    });
    const before = await bot.forge.pushToBranch(REPOSITORY, "main", { "docs/a.md": "a" });
    const one = await bot.open({ "envs/it.json": JSON.stringify({ name: "it" }) });
    expect(bot.lastComment(one)).toContain("- adds `shop-it-red`\n");
    const sent = bot.argocd.requests
      .filter(({ path }) => path.endsWith("/generate"))
      .map(({ body }) => JSON.stringify(body));
    const revisions = sent.map((body) =>
      [...body.matchAll(/"(?:revision|targetRevision)":"([^"]*)"/g)].map(([, at]) => at),
    );
    expect(revisions).toEqual([
      [bot.seen(one).headRevision, "main", "main"],
      [before, "main", "main"],
    ]);
  });

  test("what a git generator with a templated revision reads cannot be previewed, which bars the merge; the rest can, with a note", async () => {
    const branches = (url: string) => ({
      matrix: {
        generators: [
          { list: { elements: [{ branch: "main" }] } },
          { git: { repoURL: url, revision: "{{ .branch }}", files: [{ path: "envs/*.json" }] } },
        ],
      },
    });
    const bot = await startBot({
      host,
      config: { defaults: { auto_merge: true } },
      files: (url) => ({
        "sets/shops.yaml": shops(url, branches(url)),
        "envs/de.json": JSON.stringify({ name: "de" }),
      }),
    });
    const set = shops(cloneUrlOf(bot.forge), branches(cloneUrlOf(bot.forge)), { path: "shops/other" });
    const other = await bot.open({ "sets/shops.yaml": set });
    expect(bot.lastComment(other)).toContain("- changes `shop-de`\n");
    expect(bot.lastComment(other)).toContain(
      "a git generator has a template as its repository or revision, so it was read",
    );
    const one = await bot.open({ ...changeOf(["web"]), "envs/it.json": JSON.stringify({ name: "it" }) });
    expect(bot.lastComment(one)).toContain("### ApplicationSet: `shops`\n\n**Changes:** could not be previewed");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `shops`: the merge would deploy it, and it could not be evaluated");
    expect(bot.seen(one).state).toBe("open");
  });
});
