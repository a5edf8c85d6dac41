import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot, type Bot, type BotOptions } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { configMap } from "./resources.js";
import {
  cloneUrlOf,
  generatedApplication,
  git,
  names,
  runsShops,
  shops,
  shopsResource,
  type SetOptions,
} from "./sets.js";

const FILES = { files: [{ path: "envs/*.json" }] };
const ENVS: SetOptions = { path: "{{ .folder }}" };
const OTHER = "acme/private";

const env = (name: string, folder = `shops/${name}`) => ({
  [`envs/${name}.json`]: JSON.stringify({ name, folder }),
});
const folder = (name: string, value = "1") => ({
  [`shops/${name}/configmap.yaml`]: configMap(`shop-${name}`, { value }),
});

/** Argo CD runs `shop-de` and `shop-fr`, each of a file of its own. */
function startShops(options: BotOptions): Promise<Bot> {
  return startBot({
    applications: ["web"],
    files: (url) => ({
      "sets/shops.yaml": shops(url, git(url, FILES), ENVS),
      ...env("de"),
      ...env("fr"),
      ...folder("de"),
      ...folder("fr"),
    }),
    prepare: (world, forge) => {
      const repoURL = cloneUrlOf(forge);
      const applications = ["de", "fr"].map((name) => generatedApplication(name, { repoURL }));
      runsShops(world, shopsResource(repoURL, git(repoURL, FILES), ENVS), applications);
    },
    ...options,
  });
}

/** What the comment says of the applications of the set that no sync of the plan deploys. */
function atMerge(comment: string): string {
  const parts = comment.split(/\n(?=### |---\n|Not deployed by this (?:PR|MR):|No longer affected|Notes:)/);
  return parts.find((part) => part.startsWith("### Applications of the ApplicationSet `shops`")) ?? "";
}

const created = ({ argocd }: Bot) =>
  argocd.requests.filter(({ method, path }) => method === "POST" && path.endsWith("/applications"));

describe.each(HOSTS)("previews of what an ApplicationSet generates on %s", (host) => {
  test("files of a generator that come, change and go show what each adds, changes and leaves behind", async () => {
    const bot = await startShops({ host });
    const one = await bot.open({
      ...env("it"),
      ...folder("it", "new"),
      ...env("at", "shops/nowhere"),
      ...env("de", "shops/moved"),
      ...folder("moved"),
      "envs/fr.json": null,
    });
    const comment = bot.lastComment(one);
    expect(comment).toContain("- adds `shop-at`, `shop-it`\n- removes `shop-fr`\n- changes `shop-de`\n");
    const text = atMerge(comment);
    expect(text).toContain("**`shop-it`** (added)\n\n**Creates:** 1 resource\n");
    expect(text).toContain("# create: ConfigMap guestbook/shop-it");
    expect(text).toContain("+  value: new");
    expect(text).toContain("**`shop-at`** (added)\n\n**Resources:** could not be previewed");
    expect(text).toContain("shops/nowhere");
    expect(text).toContain("**`shop-fr`** (removed)\n\n");
    expect(text).not.toContain("`shop-de`");
    expect(section(comment, "shop-de")).toContain("# create: ConfigMap guestbook/shop-moved");
    expect(planned(comment)).toEqual(["shop-de"]);
    expect(await bot.locked(one)).toEqual([]);
    expect(created(bot)).toHaveLength(3);
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });

  test.each([[["resources-finalizer.argocd.argoproj.io"]], [[]]])(
    "hooks that run when an application of the set goes are named, with finalizers %j",
    async (own) => {
      const bot = await startShops({ host });
      const running = generatedApplication("fr", { repoURL: cloneUrlOf(bot.forge) }) as { readonly metadata: object };
      const finalizers = [...own, "pre-delete-finalizer.argocd.argoproj.io"];
      bot.argocd.removeApplication("shop-fr");
      bot.argocd.addApplication({ ...running, metadata: { ...running.metadata, finalizers } });
      const one = await bot.open({ "envs/fr.json": null });
      const warning = "Argo CD runs hooks of it when it is deleted (PreDelete, PostDelete), which are not shown";
      expect(atMerge(bot.lastComment(one))).toContain(warning);
    },
  );

  test("a check looks at each application that is added, and fails for what could not be previewed", async () => {
    const check = { name: "values", command: ["sh", "-c", "! grep -q forbidden"] };
    const bot = await startShops({ host, config: { checks: [check] } });
    const added = {
      ...env("it"),
      ...folder("it", "forbidden"),
      ...env("se"),
      ...folder("se"),
      ...env("at", "shops/nowhere"),
    };
    const text = atMerge(bot.lastComment(await bot.open(added)));
    const of = (name: string) => text.split(/^(?=\*\*`)/m).find((part) => part.startsWith(`**\`${name}\`**`));
    expect(of("shop-it")).toContain("❌ Required check values failed: exit code 1");
    expect(of("shop-se")).toContain("**Checks:** 1 passed");
    expect(of("shop-at")).toContain(
      "❌ Required check values failed: there are no manifests to check, because it could not be rendered",
    );
  });

  test("a plan with -a shows and checks them as well, so that nothing is merged unseen", async () => {
    const check = { name: "values", command: ["sh", "-c", "! grep -q forbidden"] };
    const config = { checks: [check], defaults: { auto_merge: true, autoplan: false } };
    const bot = await startShops({ host, config });
    const web = { "apps/web/configmap.yaml": configMap("web", { value: "2" }) };
    const one = await bot.open({ ...env("it"), ...folder("it", "forbidden"), ...web });
    await bot.comment(one, "svc plan -a web");
    expect(atMerge(bot.lastComment(one))).toContain("❌ Required check values failed: exit code 1");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `shop-it`: the merge would deploy it, and the check values failed");
    expect(bot.seen(one).state).toBe("open");
  });

  test("what is beyond the limit is named and not rendered, and the merge of a changed definition then needs an approval; by name it is planned", async () => {
    const bot = await startShops({
      host,
      config: { deployer: { preview_limit: 1 }, defaults: { auto_merge: true } },
    });
    const one = await bot.open({
      ...env("de", "shops/moved"),
      ...env("fr", "shops/moved"),
      ...env("it"),
      ...folder("moved"),
      "apps/web/configmap.yaml": configMap("web", { value: "2" }),
    });
    const text = atMerge(bot.lastComment(one));
    expect(planned(bot.lastComment(one))).toEqual(["shop-de", "web"]);
    expect(text).toContain("**`shop-fr`** (changed)\n\n**Resources:** not previewed");
    expect(text).toContain("**`shop-it`** (added)\n\n**Resources:** not previewed");
    expect(text).toContain("To see one, comment `svc plan -a <application>`.");
    expect(created(bot)).toHaveLength(1);
    await bot.comment(one, "svc plan -a shop-fr");
    expect(section(bot.lastComment(one), "shop-fr")).toContain("# create: ConfigMap guestbook/shop-moved");
    expect(planned(bot.lastComment(one))).toEqual(["shop-de", "shop-fr", "web"]);
    expect(atMerge(bot.lastComment(one))).not.toContain("shop-fr");
    bot.expectChanges("sync web");
    await bot.push(one, { "docs/a.md": "again" });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `shop-fr`: the merge would deploy it, and it could not be evaluated");
    expect(bot.seen(one).state).toBe("open");
  });

  test("an element of another repository is rendered after an approval of the commit, and not before", async () => {
    const url = (bot: Bot) => cloneUrlOf(bot.forge);
    const elements = (...urls: readonly string[]) => ({
      list: { elements: urls.map((repoURL, index) => ({ name: `n${index}`, repoURL })) },
    });
    const set: SetOptions = {
      spec: { source: { repoURL: "{{ .repoURL }}", path: "shops/de", targetRevision: "main" } },
    };
    const bot = await startBot({
      host,
      applications: ["web"],
      files: (here) => ({ "sets/shops.yaml": shops(here, elements(here), set), ...folder("de") }),
      prepare: async (world, forge) => {
        await forge.createRepository(OTHER, folder("de", "confidential"));
        runsShops(world, shopsResource(cloneUrlOf(forge), elements(cloneUrlOf(forge)), set), []);
      },
    });
    const foreign = url(bot).replace("acme/deploy", OTHER);
    const one = await bot.open({ "sets/shops.yaml": shops(url(bot), elements(url(bot), foreign), set) });
    expect(atMerge(bot.lastComment(one))).toContain("**`shop-n1`** (added)\n\n**Resources:** could not be previewed");
    expect(bot.lastComment(one)).not.toContain("confidential");
    expect(created(bot)).toEqual([]);
    await bot.approve(one, "bo");
    await bot.idle();
    expect(atMerge(bot.lastComment(one))).toContain("+  value: confidential");
  });

  test("a generator that yields thousands of applications is a sentence, and everything else is planned", async () => {
    const bot = await startBot({ host, applications: ["web"] });
    const repoURL = cloneUrlOf(bot.forge);
    const many = (key: string) => ({
      list: { elements: Array.from({ length: 71 }, (_, index) => ({ [key]: `${key}${index}` })) },
    });
    const pairs = { matrix: { generators: [many("a"), many("b")] } };
    const one = await bot.open({
      "sets/shops.yaml": shops(repoURL, pairs, { name: "{{ .a }}-{{ .b }}", path: "apps/web" }),
      "sets/small.yaml": shops(repoURL, names("it"), { path: "apps/web" }).replace(
        '"name": "shops"',
        '"name": "small"',
      ),
      "apps/web/configmap.yaml": configMap("web", { value: "2" }),
    });
    const comment = bot.lastComment(one);
    expect(comment).toContain(
      "it would add 5041 applications, remove 0 and change 0, and svc previews at most 5000 of one ApplicationSet",
    );
    expect(comment).toContain("### ApplicationSet: `small`\n\n- adds `shop-it`\n");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(created(bot)).toHaveLength(1);
  });
});
