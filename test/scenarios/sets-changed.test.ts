import { describe, expect, test } from "@jest/globals";
import { HOSTS, SHORT, startBot, type Bot, type BotOptions } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { applicationResource, changeOf, configMap } from "./resources.js";
import { cloneUrlOf, generatedApplication, git, runsShops, shops, shopsResource, type SetOptions } from "./sets.js";

const FILES = { files: [{ path: "envs/*.json" }] };
const ENVS: SetOptions = { path: "{{ .folder }}" };
const AT_MERGE =
  "**Status:** Not locked\n\nNot deployed by a sync: its ApplicationSet shops (sets/shops.yaml) changes its definition: it takes effect at the merge";

const env = (name: string, folder = `shops/${name}`) => ({
  [`envs/${name}.json`]: JSON.stringify({ name, folder }),
});
const folder = (name: string, value: string) => ({
  [`shops/${name}/configmap.yaml`]: configMap(`shop-${name}`, { value }),
});

/** A set that makes `shop-de` and `shop-fr` of a file each, and both applications. */
function startShops(options: BotOptions, set: SetOptions = ENVS, generator = FILES as object): Promise<Bot> {
  return startBot({
    applications: ["web"],
    prepare: (world, forge) => {
      const repoURL = cloneUrlOf(forge);
      const applications = ["de", "fr"].map((name) => generatedApplication(name, { repoURL }));
      runsShops(world, shopsResource(repoURL, git(repoURL, generator), set), applications);
    },
    ...options,
    files: (url) => ({
      "sets/shops.yaml": shops(url, git(url, generator), set),
      ...env("de"),
      ...env("fr"),
      ...folder("de", "1"),
      ...folder("fr", "1"),
      ...options.files?.(url),
    }),
  });
}

describe.each(HOSTS)("applications that an ApplicationSet changes on %s", (host) => {
  test("changed generator input changes an application: it is shown with its rendered diff, not locked, and hinders no merge", async () => {
    const bot = await startShops({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open({ ...env("de", "shops/new"), ...folder("new", "moved"), ...folder("fr", "2") });
    const comment = bot.lastComment(one);
    expect(comment).toContain("### ApplicationSet: `shops`\n\n- changes `shop-de`\n");
    expect(planned(comment)).toEqual(["shop-de", "shop-fr"]);
    expect(section(comment, "shop-de")).toContain("# create: ConfigMap guestbook/shop-new");
    expect(section(comment, "shop-de")).toContain("# delete: ConfigMap guestbook/shop-de");
    expect(section(comment, "shop-de")).toContain(AT_MERGE);
    expect(section(comment, "shop-fr")).toContain("**Status:** Locked by this PR");
    expect(await bot.locked(one)).toEqual(["shop-fr"]);
    bot.expectChanges("sync shop-fr");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync shop-fr"]);
    expect(bot.liveValue("shop-fr")).toBe("2");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("what the set changes needs the approval that it requires before the merge", async () => {
    // In one namespace the rules of one would hold for the other.
    const at = (namespace: string) => ({ destination: { server: "https://kubernetes.default.svc", namespace } });
    const apart = { ...ENVS, spec: at("{{ .name }}") };
    const bot = await startShops({
      host,
      config: { defaults: { auto_merge: true } },
      prepare: (world, forge) => {
        const repoURL = cloneUrlOf(forge);
        const applications = ["de", "fr"].map((name) => generatedApplication(name, { repoURL, spec: at(name) }));
        runsShops(world, shopsResource(repoURL, git(repoURL, FILES), apart), applications);
      },
      files: (url) => ({
        "sets/shops.yaml": shops(url, git(url, FILES), apart),
        ".svc.yaml": "sync_requirements: [{ name: shop-de, require_approval: true }]\n",
        ...env("de"),
        ...env("fr"),
        ...folder("de", "1"),
        ...folder("fr", "1"),
      }),
    });
    const one = await bot.open({ ...env("de", "shops/new"), ...folder("new", "moved"), ...folder("fr", "2") });
    bot.expectChanges("sync shop-fr");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`${SHORT[host]} must be approved before it is merged`);
    expect(bot.seen(one).state).toBe("open");
  });

  test("a push that changes the set takes back the lock of an application whose content alone had changed", async () => {
    const bot = await startShops({ host });
    const one = await bot.open(folder("de", "2"));
    expect(await bot.locked(one)).toEqual(["shop-de"]);
    const url = cloneUrlOf(bot.forge);
    await bot.push(one, {
      "sets/shops.yaml": shops(url, git(url, FILES), { ...ENVS, spec: { info: [{ name: "a", value: "b" }] } }),
    });
    expect(bot.lastComment(one)).toContain("- changes `shop-de`, `shop-fr`");
    expect(section(bot.lastComment(one), "shop-de")).toContain('+  value: "2"');
    expect(section(bot.lastComment(one), "shop-de")).toContain(AT_MERGE);
    expect(section(bot.lastComment(one), "shop-fr")).toContain(
      "No changes: the head commit and the target branch render the same.",
    );
    expect(await bot.locked(one)).toEqual([]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR.");
  });

  test("an approval alone deploys nothing beside an application that a set loses, also where its policy may keep it", async () => {
    const files = () => ({ ".svc.yaml": "sync_on: approval\nrequire_approval: true\n" });
    const set = { name: "{{ .path.basename }}", syncPolicy: { applicationsSync: "create-update" } };
    const bot = await startShops({ host, files }, set, { directories: [{ path: "shops/*" }] });
    const one = await bot.open({ ...changeOf(["web"]), "shops/fr/configmap.yaml": null });
    expect(bot.lastComment(one)).toContain("⚠️ removes the application shop-fr unless the policy of its set keeps it");
    await bot.approve(one);
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test.each<[string, object | undefined, string, string]>([
    [
      "deletes",
      undefined,
      "removed applications are deleted, with everything that they have deployed if they have Argo CD's finalizer",
      "no longer generates it, and Argo CD deletes it at the merge",
    ],
    [
      "deletes and leaves what they deployed",
      { preserveResourcesOnDeletion: true },
      "what removed applications have deployed stays in the cluster",
      "no longer generates it, and Argo CD deletes it at the merge",
    ],
    [
      "keeps",
      { applicationsSync: "create-update" },
      "its policy create-update keeps removed applications: they run on and are no longer updated, unless the controller of ApplicationSets has a policy of its own",
      "no longer generates it, and its policy create-update keeps it: it runs on as it is",
    ],
  ])("applications that are no longer generated, which the policy %s", async (_, syncPolicy, note, reason) => {
    const set = { name: "{{ .path.basename }}", ...(syncPolicy === undefined ? {} : { syncPolicy }) };
    const bot = await startShops({ host }, set, { directories: [{ path: "shops/*" }] });
    const one = await bot.open({ "shops/fr/configmap.yaml": null });
    const comment = bot.lastComment(one);
    expect(comment).toContain(`- removes \`shop-fr\`\n\n- ℹ️ ${note}`);
    expect(comment).toContain(`- \`shop-fr\`: its ApplicationSet shops (sets/shops.yaml) ${reason}`);
    expect(planned(comment)).toEqual([]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("under the policy create-only a changed definition reaches no application, so its content is gated as ever", async () => {
    const bot = await startShops({ host }, { ...ENVS, syncPolicy: { applicationsSync: "create-only" } });
    const one = await bot.open({ ...env("de", "shops/new"), ...folder("new", "moved"), ...folder("de", "2") });
    expect(bot.lastComment(one)).toContain("its policy create-only leaves existing applications as they are");
    expect(section(bot.lastComment(one), "shop-de")).toContain("**Status:** Locked by this PR");
    bot.expectChanges("sync shop-de");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("shop-de")).toBe("2");
  });

  test("without the permission to preview, the plan says which one, what the set owns, and gates their content", async () => {
    const bot = await startShops({
      host,
      config: ({ argocd }) => ({ deployer: { token: argocd.addAccount("small", { permissions: "get+sync" }) } }),
    });
    const one = await bot.open({ ...env("de", "shops/new"), ...folder("fr", "2") });
    const comment = bot.lastComment(one);
    expect(comment).toContain(
      " permission denied: applicationsets, create. Argo CD asks for this permission on default/shops before it previews",
    );
    expect(comment).toContain("It owns these applications now: `shop-de`, `shop-fr`.");
    expect(section(comment, "shop-fr")).toContain(
      "Its ApplicationSet shops (sets/shops.yaml) changes and could not be",
    );
    expect(await bot.locked(one)).toEqual(["shop-fr"]);
  });

  test("a templated project cannot be previewed, with Argo CD's reason and what the set owns", async () => {
    const bot = await startShops({ host }, { ...ENVS, project: "{{ .project }}" });
    const one = await bot.open(env("de", "shops/new"));
    expect(bot.lastComment(one)).toContain("does not currently support creating ApplicationSets with templated");
    expect(bot.lastComment(one)).toContain("It owns these applications now: `shop-de`, `shop-fr`.");
  });

  test("an element that fails fails the whole set: the plan says so as a danger, and that what runs stays as it is", async () => {
    const bot = await startShops({ host }, { ...ENVS, goTemplateOptions: ["missingkey=error"] });
    const one = await bot.open({ "envs/it.json": JSON.stringify({ name: "it" }), ...folder("fr", "2") });
    const comment = bot.lastComment(one);
    expect(comment).toMatch(
      /^⚠️ the set shops will fail: [^\n]*?; its applications stay as they are · [^\n]*1 will fail, at the merge/m,
    );
    expect(comment).toMatch(
      /### ApplicationSet: `shops`\n\n⚠️ The set will fail: failed to execute go template [^\n]*map has no entry for key "folder"; its applications stay as they are\.\n/,
    );
    expect(comment).toContain("It owns these applications now: `shop-de`, `shop-fr`.");
    expect(comment).not.toContain("could not be previewed");
    expect(section(comment, "shop-fr")).toContain("Its ApplicationSet shops (sets/shops.yaml) will fail");
    expect(await bot.locked(one)).toEqual(["shop-fr"]);
  });

  test.each([
    ["an element that fails", "environment", "its applications stay as they are"],
    ["a name that Kubernetes refuses", "Name", "it removes none of its applications until that is fixed"],
  ])("that a parent renders, %s is a danger of the parent", async (_what, key, then) => {
    const set = (url: string, element: object) => {
      const [strict, name] = key === "Name" ? [[], "{{ .name }}"] : [["missingkey=error"], "{{ .environment }}"];
      const resource = shopsResource(url, { list: { elements: [element] } }, { goTemplateOptions: strict, name });
      return { ...resource, metadata: { name: "shops", namespace: "argocd" } } as never;
    };
    const bot = await startBot({
      host,
      applications: [],
      files: () => ({ "children/configmap.yaml": configMap("children", { value: "1" }) }),
      prepare: ({ argocd }, forge) => {
        argocd.addApplication(applicationResource("root", { repoURL: cloneUrlOf(forge), path: "children" }));
      },
    });
    const url = cloneUrlOf(bot.forge);
    const of = { path: "children" };
    bot.argocd.setManifests(of, "*", [set(url, { name: "de", environment: "de" })]);
    const one = await bot.open({ "children/configmap.yaml": configMap("children", { value: "2" }) });
    const element = key === "Name" ? { name: "De" } : { name: "de" };
    bot.argocd.setManifests(of, bot.seen(one).headRevision, [set(url, element)]);
    await bot.comment(one, "svc plan");
    const comment = bot.lastComment(one);
    const verdict = comment.split("\n").find((line) => line.startsWith("⚠️ ")) ?? "";
    expect(verdict).toMatch(new RegExp(`^⚠️ the set shops will fail: [^·]*; ${then}`));
    expect(section(comment, "root")).toMatch(
      new RegExp(`\\*\\*Caution:\\*\\*\\n- The set shops will fail: .*; ${then}\\.`),
    );
  });

  test("a set that fails before the change is no danger of the change, and it is told", async () => {
    const set = { ...ENVS, goTemplateOptions: ["missingkey=error"] };
    const bot = await startBot({
      host,
      applications: ["web"],
      files: (url) => ({
        "sets/shops.yaml": shops(url, git(url, FILES), set),
        "envs/it.json": JSON.stringify({ name: "it" }),
      }),
    });
    const one = await bot.open(env("it"));
    const comment = bot.lastComment(one);
    expect(comment).not.toContain("will fail");
    expect(comment).toContain("**Changes:** could not be previewed");
    expect(comment).toContain("it fails on the target branch, so there is nothing to compare with: failed to execute");
  });

  test("a name that Kubernetes refuses is a danger: the set fails at it and removes nothing", async () => {
    const bot = await startShops({ host });
    const one = await bot.open({
      "envs/fr.json": null,
      "envs/it.json": JSON.stringify({ folder: "shops/it" }),
      ...folder("it", "1"),
    });
    const comment = bot.lastComment(one);
    const danger =
      "he set will fail: Kubernetes refuses an application named shop-&lt;no value&gt;; it removes none of its applications until that is fixed";
    expect(comment).toContain(`⚠️ T${danger}.`);
    expect(comment.split("\n").find((line) => line.startsWith("⚠️ the set shops will fail: "))).toBeDefined();
    expect(comment).toContain("- removes `shop-fr`");
  });

  test("generator input that gives the same applications changes nothing", async () => {
    const bot = await startShops({ host });
    const one = await bot.open({ "envs/de.json": JSON.stringify({ folder: "shops/de", name: "de", note: "new" }) });
    expect(bot.lastComment(one)).toContain("It generates the same applications as before.");
    expect(planned(bot.lastComment(one))).toEqual([]);
  });
});
