import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { applicationName } from "../../src/core/model/brand.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { section } from "./plan-comment.js";
import { applicationResource, asYaml, configMap } from "./resources.js";
import { cloneUrlOf, names, shopsResource, type SetOptions } from "./sets.js";

/** The set `shops` among the manifests of `root`. */
const setOf = (url: string, elements: readonly string[], options: SetOptions = {}) => ({
  "children/set.yaml": asYaml(shopsResource(url, names(...elements), { namespace: "argocd", ...options })),
});

/** `root` has applied a set that makes `shop-de`. */
function startShops(host: HostId, files: FileChanges = {}): Promise<Bot> {
  return startBot({
    host,
    applications: [],
    files: (url) => ({
      "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
      ...setOf(url, ["de"]),
      "shops/de/configmap.yaml": configMap("de", { value: "1" }),
      "shops/it/configmap.yaml": configMap("it", { value: "1" }),
      "shops/fr/configmap.yaml": configMap("fr", { value: "1" }),
      ...files,
    }),
    prepare: async ({ argocd }, forge) => {
      argocd.addApplication(applicationResource("root", { repoURL: cloneUrlOf(forge), path: "children" }));
      await argocd.deploy("root");
    },
  });
}

const running = (bot: Bot) =>
  bot.argocd
    .applications()
    .map(({ metadata }) => metadata.name)
    .toSorted();

describe.each(HOSTS)("a set that a parent applies, on %s", (host) => {
  test("takes effect at the sync of the parent: its applications appear and go at once", async () => {
    const bot = await startShops(host);
    expect(running(bot)).toEqual(["root", "shop-de"]);
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["it"]));
    const plan = bot.lastComment(one);
    expect(plan).toContain("A sync of `root` applies this: it takes effect at once, before the merge.");
    expect(plan).toContain("### Applications of the ApplicationSet `shops`, at the sync of `root`");
    expect(plan).not.toContain("a sync here does not");
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(running(bot)).toEqual(["root", "shop-it"]);
    expect(bot.lastComment(one)).toContain("Applied the ApplicationSet shops, which adds shop-it, removes shop-de");
  });

  test("removes and adds no application of which another pull request has the lock", async () => {
    const bot = await startShops(host);
    const other = await bot.open({ "shops/de/configmap.yaml": configMap("de", { value: "2" }) });
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["it"]));
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual([]);
    expect(bot.lastComment(one)).toContain("A sync of `root` would delete `shop-de`, so it waits for that lock");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("rolled back");
    expect(running(bot)).toEqual(["root", "shop-de"]);
    await bot.comment(other, "svc unlock");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(running(bot)).toEqual(["root", "shop-it"]);
  });

  test("removes none of which another pull request has the lock, whatever its policy says: the controller may have its own", async () => {
    const bot = await startShops(host);
    await bot.open({ "shops/de/configmap.yaml": configMap("de", { value: "2" }) });
    const syncPolicy = { applicationsSync: "create-update" };
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["it"], { syncPolicy }));
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual([]);
    expect(bot.lastComment(one)).toContain("A sync of `root` would delete `shop-de`, so it waits for that lock");
  });

  test("removes none while another pull request has the lock of what goes with it, without --prune as well", async () => {
    const bot = await startShops(host, { "apps/leaf/configmap.yaml": configMap("leaf", { value: "1" }) });
    const annotations = { "argocd.argoproj.io/tracking-id": "shop-de:argoproj.io/Application:argocd/leaf" };
    const repoURL = cloneUrlOf(bot.forge);
    bot.argocd.addApplication(applicationResource("leaf", { repoURL, path: "apps/leaf", annotations }));
    const other = await bot.open({ "apps/leaf/configmap.yaml": configMap("leaf", { value: "2" }) });
    expect(await bot.locked(other)).toEqual(["leaf"]);
    const one = await bot.open(setOf(repoURL, ["it"]));
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual([]);
    expect(bot.lastComment(one)).toContain("A sync of `root` would delete `leaf`, so it waits for that lock");
  });

  test.each([
    ["that svc reads from a file", "", 0],
    ["that only its parent's render tells of", "cr_paths: [argocd/**]\n", 1],
  ])(
    "an approval alone deploys no set that loses an application, also where its policy may keep it: one %s",
    async (_, more, previews) => {
      const bot = await startShops(host, { ".svc.yaml": `sync_on: approval\nrequire_approval: true\n${more}` });
      const keeping = { syncPolicy: { applicationsSync: "create-update" } };
      const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["it"], keeping));
      const plan = bot.lastComment(one);
      expect(plan.split("**`shop-de`** (removed)")).toHaveLength(previews + 1);
      expect(plan).toMatch(
        /policy create-update .*keeps .*unless the controller of ApplicationSets has a policy of its own/,
      );
      await bot.approve(one);
      expect(bot.changes()).toEqual([]);
      bot.expectChanges("sync root");
      await bot.comment(one, "svc sync");
      expect(running(bot)).toEqual(["root", "shop-de", "shop-it"]);
    },
  );

  test("is not deleted and created anew while another pull request has the lock of one of its applications", async () => {
    const bot = await startShops(host);
    const other = await bot.open({ "shops/de/configmap.yaml": configMap("de", { value: "2" }) });
    const set = shopsResource(cloneUrlOf(bot.forge), names("de"), { namespace: "argocd" });
    const annotations = { "argocd.argoproj.io/sync-options": "Replace=true,Force=true" };
    const metadata = { name: "shops", namespace: "argocd", annotations };
    const one = await bot.open({ "children/set.yaml": asYaml({ ...set, metadata }) });
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual([]);
    expect(bot.lastComment(one)).toContain("A sync of `root` would delete `shop-de`, so it waits for that lock");
    await bot.comment(other, "svc unlock");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("keeps nothing by its policy where a sync deletes it first", async () => {
    const bot = await startShops(host, { ".svc.yaml": "cr_paths: [argocd/**]\n" });
    const set = shopsResource(cloneUrlOf(bot.forge), names("it"), {
      namespace: "argocd",
      syncPolicy: { applicationsSync: "create-update" },
    });
    const annotations = { "argocd.argoproj.io/sync-options": "Replace=true,Force=true" };
    const metadata = { name: "shops", namespace: "argocd", annotations };
    const plan = bot.lastComment(await bot.open({ "children/set.yaml": asYaml({ ...set, metadata }) }));
    expect(plan).toContain("**`shop-de`** (removed)");
    expect(plan).not.toContain("keeps it");
  });

  test("that fails keeps its applications as they are", async () => {
    const bot = await startShops(host);
    const failing = { path: "shops/{{ .missing }}", goTemplateOptions: ["missingkey=error"] };
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["it"], failing));
    expect(bot.lastComment(one)).toContain("its applications stay as they are");
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(running(bot)).toEqual(["root", "shop-de"]);
    const result = "Applied the ApplicationSet shops, which fails: its applications stay as they are";
    expect(bot.lastComment(one)).toContain(result);
  });

  test("changes an application without auto-sync, which is planned, locked and deployed after the parent", async () => {
    const bot = await startShops(host);
    const moved = setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/it" });
    const one = await bot.open(moved);
    const plan = bot.lastComment(one);
    expect(section(plan, "shop-de")).toMatch(/Locked by this [PM]R/);
    expect(section(plan, "shop-de")).toContain("root gives it at this commit");
    expect(plan).not.toContain("at the merge");

    await bot.comment(one, "svc sync -a shop-de");
    expect(bot.lastComment(one)).toContain("sync root before it, or both together");
    expect(bot.changes()).toEqual([]);

    bot.expectChanges("sync root", "sync shop-de");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync shop-de"]);
    expect(bot.liveValue("it")).toBe("1");
    expect(bot.lastComment(one)).toContain("Applied the ApplicationSet shops, which changes shop-de");
    expect(bot.lastComment(one)).toMatch(/merge this [PM]R/i);
    await bot.comment(one, "svc plan");
    expect(section(bot.lastComment(one), "shop-de")).toContain("value");
    expect(bot.lastComment(one)).toMatch(/merge this [PM]R/i);
  });

  test("changes none where a parent applies it in another cluster, for the Argo CD there", async () => {
    const bot = await startShops(host);
    const url = cloneUrlOf(bot.forge);
    const spoke = (path: string) => ({ "spoke/set.yaml": setOf(url, ["de"], { path })["children/set.yaml"] });
    await bot.forge.pushToBranch(REPOSITORY, "main", spoke("shops/fr"));
    const destination = { server: "https://spoke.example.com:6443", namespace: "argocd" };
    bot.argocd.addApplication(applicationResource("spoke", { repoURL: url, path: "spoke", spec: { destination } }));
    const one = await bot.open(spoke("shops/it"));
    expect(bot.lastComment(one)).toContain("### Application: `spoke`");
    expect(bot.lastComment(one)).not.toContain("gives it at this commit");
  });

  test("deploys such an application once the set's controller has written the planned definition, and not before", async () => {
    const bot = await startShops(host);
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/it" }));
    const resume = bot.argocd.pauseSets();
    bot.expectChanges("sync root", "sync shop-de");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(bot.lastComment(one)).toContain("the ApplicationSet shops wrote is not the planned one");
    expect(bot.lastComment(one)).not.toMatch(/merge this [PM]R/i);

    await resume();
    await bot.comment(one, "svc plan");
    expect(section(bot.lastComment(one), "shop-de")).toMatch(/Locked by this [PM]R/);
    await bot.comment(one, "svc sync -a shop-de");
    expect(bot.changes()).toEqual(["sync root", "sync shop-de"]);

    await bot.push(one, setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/fr" }));
    bot.argocd.pauseSets();
    let reads = 0;
    bot.argocd.onExchange(({ method, path }) => {
      const after = bot.changes().length > 2 && method === "GET" && path.endsWith("/applications/shop-de");
      if (after && (reads += 1) === 3) void resume();
    });
    await bot.comment(one, "svc sync");
    expect(bot.changes().slice(2)).toEqual(["sync root", "sync shop-de"]);
    expect(reads).toBeGreaterThan(3);
  });

  test("goes back to what the earlier set gives it, also where the parent was synced alone first", async () => {
    const bot = await startShops(host);
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/it" }));
    bot.expectChanges("sync root", "sync shop-de", "sync root", "sync shop-de");
    await bot.comment(one, "svc sync -a root");
    await bot.comment(one, "svc sync");
    const resume = bot.argocd.pauseSets();
    let reads = 0;
    bot.argocd.onExchange(({ method, path }) => {
      const after = bot.changes().length > 2 && method === "GET" && path.endsWith("/applications/shop-de");
      if (after && (reads += 1) === 3) void resume();
    });
    await bot.comment(one, "svc rollback");
    expect(section(bot.lastComment(one), "shop-de")).toContain("✅ succeeded");
    expect(bot.argocd.application("shop-de")?.status.operationState?.syncResult?.source).toMatchObject({
      path: "shops/de",
    });
    // It does not wait for the head's definition, either.
    expect(reads).toBeLessThan(12);
  });

  test("deploys no such application whose lock was released while the set's controller had not written it yet", async () => {
    const bot = await startShops(host);
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/it" }));
    const resume = bot.argocd.pauseSets();
    let reads = 0;
    bot.argocd.onExchange(({ method, path }) => {
      const after = bot.changes().length > 0 && method === "GET" && path.endsWith("/applications/shop-de");
      if (!after || (reads += 1) !== 3) return;
      void bot.stores.locks.release(applicationName("shop-de"), bot.ref(one)).then(() => resume());
    });
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(section(bot.lastComment(one), "shop-de")).toMatch(
      /its lock is no longer this [PM]R's: nothing was deployed/,
    );
  });

  test("follows such an application back where a later commit takes the change out of the set again", async () => {
    const bot = await startShops(host);
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/it" }));
    bot.expectChanges("sync root", "sync shop-de");
    await bot.comment(one, "svc sync");
    await bot.push(one, setOf(cloneUrlOf(bot.forge), ["de"]));
    expect(section(bot.lastComment(one), "shop-de")).toMatch(/Locked by this [PM]R/);
    await bot.comment(one, "svc sync");
    expect(bot.changes().slice(2)).toEqual(["sync root", "sync shop-de"]);
    expect(bot.argocd.application("shop-de")?.spec.source?.path).toBe("shops/de");
    expect(bot.lastComment(one)).toMatch(/merge this [PM]R/i);
  });

  test("a plan of such an application alone plans its parent, and a lock of another bars the parent's sync", async () => {
    const bot = await startShops(host);
    const other = await bot.open({ "shops/de/configmap.yaml": configMap("de", { value: "2" }) });
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/it" }));
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toContain(
      "A sync of `root` would write the definition of `shop-de`, so it waits for that lock",
    );
    expect(bot.changes()).toEqual([]);
    await bot.comment(other, "svc unlock");
    await bot.comment(one, "svc plan -a shop-de");
    expect(section(bot.lastComment(one), "shop-de")).toMatch(/Locked by this [PM]R/);
    bot.expectChanges("sync root", "sync shop-de");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync shop-de"]);
  });

  test("left out with -a, such an application waits, is named in the result, and is deployed alone afterwards", async () => {
    const bot = await startShops(host);
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/it" }));
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync -a root");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(bot.lastComment(one)).toContain("Wrote the new definition of shop-de, which waits for a sync of its own");
    expect(bot.lastComment(one)).not.toMatch(/merge this [PM]R/i);

    await bot.comment(one, "svc plan");
    expect(section(bot.lastComment(one), "shop-de")).toMatch(/Locked by this [PM]R/);
    const remove = bot.argocd.faults.add({ path: /\/applications\/shop-de$/, fault: { kind: "drop" } });
    await bot.comment(one, "svc sync -a shop-de");
    expect(bot.lastComment(one)).toContain("ry again later, because svc cannot tell what an application looks like");
    expect(bot.lastComment(one)).not.toContain("svc plan");
    remove();
    bot.expectChanges("sync shop-de");
    await bot.comment(one, "svc sync -a shop-de");
    expect(bot.changes()).toEqual(["sync root", "sync shop-de"]);
    expect(bot.lastComment(one)).toMatch(/merge this [PM]R/i);
  });
});

describe.each(HOSTS)("an application of a set that a parent applies, on %s", (host) => {
  test("is not rolled back without the parent, whose set would write the definition of the head again", async () => {
    const bot = await startShops(host);
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/it" }));
    bot.expectChanges("sync root", "sync shop-de");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc rollback -a shop-de");
    expect(bot.lastComment(one)).toContain(
      "its definition comes from the ApplicationSet shops, which would write it again: run the rollback command for root as well",
    );
    expect(bot.changes()).toEqual(["sync root", "sync shop-de"]);
    expect(await bot.deployed(one)).toEqual(["root", "shop-de"]);
    bot.expectChanges("dry-run root");
    await bot.comment(one, "svc rollback --dry-run");
    expect(bot.lastComment(one)).toContain("cannot be tried without changing its definition in Argo CD");
    await bot.comment(one, "svc rollback");
    expect(bot.changes().slice(2)).toEqual(["dry-run root", "sync root", "sync shop-de"]);
    expect(bot.argocd.application("shop-de")?.spec.source?.path).toBe("shops/de");
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("goes with the rollback of the parent, if the set came to generate it by the change", async () => {
    const bot = await startShops(host);
    const added = setOf(cloneUrlOf(bot.forge), ["de", "es"]);
    const one = await bot.open({ ...added, "shops/es/configmap.yaml": configMap("es", { value: "1" }) });
    await bot.approve(one);
    bot.expectChanges("sync root", "sync shop-es");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync -a shop-es");
    expect(await bot.deployed(one)).toEqual(["root", "shop-es"]);
    await bot.comment(one, "svc rollback");
    expect(section(bot.lastComment(one), "shop-es")).toContain("✅ the rollback of its parent deleted it");
    expect(running(bot)).toEqual(["root", "shop-de"]);
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("goes with the rollback of the parent only for those whom its rules name, also where a later set fails", async () => {
    const bot = await startShops(host);
    const rules = "sync_requirements: [{name: 'shop-*', allowed_users: [bo]}]\n";
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": rules });
    const added = setOf(cloneUrlOf(bot.forge), ["de", "es"]);
    const one = await bot.open({ ...added, "shops/es/configmap.yaml": configMap("es", { value: "1" }) });
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync", "bo");
    const failing = { path: "shops/{{ .missing }}", goTemplateOptions: ["missingkey=error"] };
    await bot.push(one, setOf(cloneUrlOf(bot.forge), ["it"], failing));
    await bot.comment(one, "svc rollback -a root");
    expect(bot.lastComment(one)).toContain("`ana` may not run `svc rollback` for:");
    expect(bot.lastComment(one)).toMatch(/- `shop-es`: only bo may/);
    expect(running(bot)).toEqual(["root", "shop-de", "shop-es"]);
  });

  test("is looked for with one list of whole applications by a rollback that no plan describes, however many sets there are", async () => {
    const bot = await startShops(host);
    const url = cloneUrlOf(bot.forge);
    for (const name of ["it", "fr"]) {
      const metadata = { name: `shops-${name}`, namespace: "argocd" };
      const set = asYaml({ ...shopsResource(url, names(name)), metadata });
      await bot.forge.pushToBranch(REPOSITORY, "main", { [`children/${name}.yaml`]: set });
    }
    const one = await bot.open({ "children/keep.yaml": configMap("keep", { a: "1" }) });
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(running(bot)).toEqual(["root", "shop-de", "shop-fr", "shop-it"]);
    await bot.push(one, { "children/keep.yaml": "a: [" });
    const from = bot.argocd.requests.length;
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
    const lists = bot.argocd.requests.slice(from).filter(({ path }) => path.endsWith("/applications"));
    expect(lists.filter(({ query }) => query.fields === undefined)).toHaveLength(1);
  });

  test("is not deleted by a sync that takes back another PR's change of the set, while that PR has its lock", async () => {
    const bot = await startShops(host);
    const added = setOf(cloneUrlOf(bot.forge), ["de", "es"]);
    const two = await bot.open({ ...added, "shops/es/configmap.yaml": configMap("es", { value: "1" }) }, { by: "bo" });
    await bot.approve(two, "ana");
    bot.expectChanges("sync root");
    await bot.comment(two, "svc sync", "bo");
    await bot.comment(two, "svc plan", "bo");
    await bot.comment(two, "svc unlock -a root", "bo");
    expect(await bot.locked(two)).toEqual(["shop-es"]);
    const one = await bot.open({ "children/keep.yaml": configMap("keep", { a: "1" }) });
    expect(bot.lastComment(one)).toContain("ApplicationSets it would change: `shops`");
    expect(bot.lastComment(one)).toContain("### Applications of the ApplicationSet `shops`, at the sync of `root`");
    expect(bot.lastComment(one)).toContain("**`shop-es`** (removed)");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("A sync of `root` would delete `shop-es`, so it waits for that lock");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("A rollback of `root` would delete `shop-es`, so it waits for that lock");
    await bot.push(one, { "children/keep.yaml": "a: [" });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("Plan for root is stale. Please run the plan command again.");
    expect(bot.lastComment(one)).toContain("The last plan could not evaluate it:");
    const failing = { path: "shops/{{ .missing }}", goTemplateOptions: ["missingkey=error"] };
    const keep = { "children/keep.yaml": configMap("keep", { a: "1" }) };
    await bot.push(one, { ...keep, ...setOf(cloneUrlOf(bot.forge), ["de"], failing) });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("and the plan does not say what a rollback takes back of that");
    const root = { repoURL: cloneUrlOf(bot.forge), path: "children" };
    const automated = applicationResource("root", { ...root, spec: { syncPolicy: { automated: {} } } });
    await bot.push(one, { ...setOf(root.repoURL, ["de"]), "argocd/root.yaml": asYaml(automated) });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("and the plan does not say what a rollback takes back of that");
    await bot.push(one, { "argocd/root.yaml": asYaml(applicationResource("root", root)) });
    expect(running(bot)).toEqual(["root", "shop-de", "shop-es"]);
    await bot.comment(two, "svc unlock", "bo");
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Applied the ApplicationSet shops, which removes shop-es");
    expect(running(bot)).toEqual(["root", "shop-de"]);
  });

  test("is shown as deleted by such a sync where the other PR deployed a moment ago", async () => {
    const bot = await startShops(host);
    const added = setOf(cloneUrlOf(bot.forge), ["de", "es"]);
    const two = await bot.open({ ...added, "shops/es/configmap.yaml": configMap("es", { value: "1" }) }, { by: "bo" });
    await bot.approve(two, "ana");
    const one = await bot.open({ "children/keep.yaml": configMap("keep", { a: "1" }) });
    bot.expectChanges("sync root");
    await bot.comment(two, "svc sync", "bo");
    expect(await bot.locked(one)).toEqual(["root"]);
    expect(bot.lastComment(one)).toContain("**`shop-es`** (removed)");
  });

  test("is not deleted with a set that only another PR's deployed commit has, while a third one has its lock", async () => {
    const bot = await startShops(host);
    const set = setOf(cloneUrlOf(bot.forge), ["it"])["children/set.yaml"];
    const added = { "children/more.yaml": set.replace("shops", "more") };
    const two = await bot.open(added, { by: "bo" });
    await bot.approve(two, "ana");
    bot.expectChanges("sync root");
    await bot.comment(two, "svc sync", "bo");
    await bot.comment(two, "svc unlock", "bo");
    const three = await bot.open({ "shops/it/configmap.yaml": configMap("it", { value: "2" }) });
    expect(await bot.locked(three)).toEqual(["shop-it"]);
    const one = await bot.open({ "children/keep.yaml": configMap("keep", { a: "1" }) });
    expect(bot.lastComment(one)).toContain("**`shop-it`** (removed)");
    await bot.approve(one);
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("A sync of `root` would delete `shop-it`, so it waits for that lock");
    expect(running(bot)).toEqual(["root", "shop-de", "shop-it"]);
  });

  test("is not deleted with a set that was taken out of the files earlier, while another PR has its lock", async () => {
    const bot = await startShops(host);
    const left = { "children/set.yaml": null, "children/kept.yaml": configMap("kept", { a: "1" }) };
    await bot.forge.pushToBranch(REPOSITORY, "main", left);
    await bot.argocd.deploy("root");
    const other = await bot.open({ "shops/de/configmap.yaml": configMap("de", { value: "2" }) });
    expect(await bot.locked(other)).toEqual(["shop-de"]);
    const one = await bot.open({ "children/keep.yaml": configMap("keep", { a: "1" }) });
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("A sync of `root` would delete `shop-de`, so it waits for that lock");
    expect(running(bot)).toEqual(["root", "shop-de"]);
    await bot.comment(other, "svc unlock");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync --prune");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("is not deleted against its rule by a rollback that prunes, with a set that was taken out of the files earlier", async () => {
    const bot = await startShops(host);
    const rules = "sync_requirements: [{name: shop-de, require_approval: true}]\n";
    const destination = { server: "https://kubernetes.default.svc", namespace: "prod" };
    const alone = setOf(cloneUrlOf(bot.forge), ["de"], { spec: { destination } });
    await bot.forge.pushToBranch(REPOSITORY, "main", alone);
    await bot.argocd.deploy("root");
    const left = { "children/set.yaml": null, "children/kept.yaml": configMap("kept", { a: "1" }) };
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": rules, ...left });
    await bot.argocd.deploy("root");
    const one = await bot.open({ "children/keep.yaml": configMap("keep", { a: "1" }) });
    await bot.comment(one, "svc rollback --prune");
    expect(bot.lastComment(one)).toMatch(/must be approved before/);
    expect(bot.changes()).toEqual([]);
  });

  test("is not deleted with a child that had applied the set, while another PR has its lock", async () => {
    const tracking = (id: string) => ({ "argocd.argoproj.io/tracking-id": `root:argoproj.io/${id}` });
    const mid = (repoURL: string) => {
      const annotations = tracking("Application:argocd/mid");
      const made = applicationResource("mid", { repoURL, namespace: "argocd", path: "mid", annotations });
      const finalizers = ["resources-finalizer.argocd.argoproj.io"];
      return { ...made, metadata: { name: "mid", namespace: "argocd", annotations, finalizers } };
    };
    const bot = await startBot({
      host,
      applications: [],
      files: (url) => ({
        "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
        "children/keep.yaml": configMap("keep", { a: "1" }),
        "children/mid.yaml": asYaml(mid(url)),
        "mid/set.yaml": setOf(url, ["de"])["children/set.yaml"],
        "shops/de/configmap.yaml": configMap("de", { value: "1" }),
      }),
      prepare: async ({ argocd }, forge) => {
        argocd.addApplication(applicationResource("root", { repoURL: cloneUrlOf(forge), path: "children" }));
        argocd.addApplication(mid(cloneUrlOf(forge)));
        await argocd.deploy("mid");
      },
    });
    const other = await bot.open({ "shops/de/configmap.yaml": configMap("de", { value: "2" }) });
    expect(await bot.locked(other)).toEqual(["shop-de"]);
    const one = await bot.open({ "children/mid.yaml": null });
    await bot.approve(one);
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("A sync of `root` would delete `shop-de`, so it waits for that lock");
    expect(bot.changes()).toEqual([]);
  });

  test("is not rolled back by itself either", async () => {
    const bot = await startShops(host);
    const rules = "sync_requirements: [{name: shop-de, require_healthy: true, on_failure: rollback}]\n";
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": rules });
    const one = await bot.open(setOf(cloneUrlOf(bot.forge), ["de"], { path: "shops/it" }));
    bot.argocd.playHealth("shop-de", [{ status: "Degraded" }]);
    bot.expectChanges("sync root", "sync shop-de");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "It was not rolled back: its definition comes from the ApplicationSet shops, which would write it again",
    );
    expect(bot.changes()).toEqual(["sync root", "sync shop-de"]);
    expect(await bot.locked(one)).toEqual(["shop-de"]);
    await bot.comment(one, "svc rollback");
    expect(bot.argocd.application("shop-de")?.spec.source?.path).toBe("shops/de");
    expect(await bot.deployed(one)).toEqual([]);
  });
});

/** The directory of `root` as a chart, in which only a render tells what the set is. */
function asChart(url: string, { path = "shops/de", template = "{{ .Values.path }}" }) {
  const set = asYaml(shopsResource(url, names("de"), { name: "de", namespace: "argocd", path: "PATH" }));
  return {
    "children/set.yaml": null,
    "children/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
    "children/values.yaml": `path: ${path}\n`,
    "children/templates/set.yaml": set.replace('"PATH"', template),
  };
}

const changed = { "shops/de/configmap.yaml": configMap("de", { value: "2" }) };

describe.each(HOSTS)("a set whose file becomes a template, on %s", (host) => {
  async function startChart(): Promise<Bot> {
    const bot = await startShops(host);
    const url = cloneUrlOf(bot.forge);
    const plain = shopsResource(url, names("de"), { name: "de", namespace: "argocd", path: "shops/de" });
    await bot.forge.pushToBranch(REPOSITORY, "main", { "children/set.yaml": asYaml(plain) });
    await bot.argocd.deploy("root");
    return bot;
  }

  test.each(["{{ .Values.path }}", '"{{ .Values.path }}"'])(
    "stays as its parent renders it, and its applications are planned and deployed: %s",
    async (template) => {
      const bot = await startChart();
      const one = await bot.open({ ...asChart(cloneUrlOf(bot.forge), { template }), ...changed });
      expect(bot.lastComment(one)).not.toMatch(/remove|delete|ApplicationSet/i);
      expect(section(bot.lastComment(one), "shop-de")).toContain('+  value: "2"');
      await bot.comment(one, "svc plan -a shop-de");
      expect(section(bot.lastComment(one), "shop-de")).toContain('+  value: "2"');
      bot.expectChanges("sync root", "sync shop-de");
      await bot.comment(one, "svc sync");
      expect(bot.liveValue("de")).toBe("2");
    },
  );

  test("goes where neither side renders it any more, although the target branch has dropped it already", async () => {
    const bot = await startChart();
    const other = { "children/other.yaml": configMap("other", { value: "1" }) };
    await bot.forge.pushToBranch(REPOSITORY, "main", other);
    const one = await bot.open({ "children/set.yaml": null, ...changed });
    await bot.forge.pushToBranch(REPOSITORY, "main", { "children/set.yaml": null });
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("- removes `shop-de`");
  });

  test("in its place is planned by the render as well", async () => {
    const bot = await startShops(host);
    const url = cloneUrlOf(bot.forge);
    await bot.forge.pushToBranch(REPOSITORY, "main", asChart(url, { template: '"shops/de"' }));
    await bot.argocd.deploy("root");
    const one = await bot.open({ ...asChart(url, {}), ...changed });
    expect(bot.lastComment(one)).not.toContain("ApplicationSet");
    expect(section(bot.lastComment(one), "shop-de")).toContain('+  value: "2"');
  });

  test("and becomes a plain file again adds nothing", async () => {
    const bot = await startShops(host);
    const url = cloneUrlOf(bot.forge);
    await bot.forge.pushToBranch(REPOSITORY, "main", asChart(url, {}));
    await bot.argocd.deploy("root");
    const gone = ["Chart.yaml", "values.yaml", "templates/set.yaml"].map((file) => [`children/${file}`, null]);
    const plain = (path: string) => asYaml(shopsResource(url, names("de"), { name: "de", namespace: "argocd", path }));
    const all = { ...(Object.fromEntries(gone) as Record<string, null>), ...changed };
    const one = await bot.open({ ...all, "children/set.yaml": plain("shops/de") });
    expect(bot.lastComment(one)).not.toContain("ApplicationSet");
    expect(section(bot.lastComment(one), "shop-de")).toContain('+  value: "2"');
    await bot.push(one, { "children/set.yaml": plain("shops/it") });
    expect(bot.lastComment(one)).toContain("- changes `shop-de`");
    expect(bot.lastComment(one)).not.toContain("- adds `shop-de`");
  });

  test("that says something else changes its applications, and one that the render lacks goes with them", async () => {
    const bot = await startChart();
    const url = cloneUrlOf(bot.forge);
    const one = await bot.open({ ...asChart(url, { path: "shops/it" }), ...changed });
    expect(bot.lastComment(one)).toContain("- changes `shop-de`");
    expect(section(bot.lastComment(one), "shop-de")).toContain("# create: ConfigMap guestbook/it");
    await bot.push(one, { "children/templates/set.yaml": "" });
    expect(bot.lastComment(one)).toContain("- removes `shop-de`");
  });
});

/** `root` as a Kustomization that patches the path which the set gives its applications. */
function patched(path: string, elements = ["de"]) {
  const patch = `- op: replace\n  path: /spec/template/spec/source/path\n  value: ${path}\n`;
  const generators = JSON.stringify([names(...elements)]);
  const list = `- op: replace\n  path: /spec/generators\n  value: ${generators}\n`;
  const target = { kind: "ApplicationSet", name: "shops" };
  return {
    "children/kustomization.yaml": asYaml({ resources: ["set.yaml"], patches: [{ target, patch: patch + list }] }),
  };
}

describe.each(HOSTS)("a set that only its parent's patches change, on %s", (host) => {
  test("is headed by the sync of the parent, followed and named in the result", async () => {
    const bot = await startShops(host);
    await bot.forge.pushToBranch(REPOSITORY, "main", patched("shops/de"));
    const one = await bot.open(patched("shops/it", ["de", "fr"]));
    const plan = bot.lastComment(one);
    expect(plan).toContain("### Applications of the ApplicationSet `shops`, at the sync of `root`");
    expect(section(plan, "shop-de")).toMatch(/Locked by this [PM]R/);

    await bot.approve(one);
    bot.expectChanges("sync root", "sync shop-de");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync shop-de"]);
    expect(running(bot)).toEqual(["root", "shop-de", "shop-fr"]);
    expect(bot.lastComment(one)).toContain("Applied the ApplicationSet shops, which adds shop-fr, changes shop-de");
    bot.expectChanges("sync root", "sync shop-de");
    await bot.comment(one, "svc rollback");
    expect(running(bot)).toEqual(["root", "shop-de"]);
    expect(bot.changes().slice(2)).toEqual(["sync root", "sync shop-de"]);
  });

  test("is said to fail once, also where another PR has deployed another change of it", async () => {
    const bot = await startShops(host);
    await bot.forge.pushToBranch(REPOSITORY, "main", patched("shops/de"));
    const two = await bot.open(patched("shops/it", ["de", "fr"]), { by: "bo" });
    await bot.approve(two, "ana");
    bot.expectChanges("sync root", "sync shop-de");
    await bot.comment(two, "svc sync", "bo");
    const one = await bot.open(patched("shops/{{ nope .name }}"));
    expect(section(bot.lastComment(one), "root").match(/The set shops will fail/g)).toHaveLength(1);
  });
});
