import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import type { BotOptions } from "./bot-options.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { section } from "./plan-comment.js";
import { applicationResource, asYaml, configMap } from "./resources.js";
import { cloneUrlOf, generatedApplication, names, runsShops, shopsResource } from "./sets.js";

const DESTINATION = { server: "https://kubernetes.default.svc", namespace: "argocd" };

function chart(folder: string, values: string, template: string): FileChanges {
  return {
    [`${folder}/configmap.yaml`]: null,
    [`${folder}/Chart.yaml`]: "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
    [`${folder}/values.yaml`]: values,
    [`${folder}/templates/all.yaml`]: template,
  };
}

/** The definition of `child` with a size, or with what a template puts there. */
function child(repoURL: string, size: string, more: object = {}): object {
  const source = { repoURL, path: "apps/child", targetRevision: "main", helm: { valuesObject: { size } } };
  return applicationResource("child", { repoURL, spec: { source, ...more } });
}

const COLORED = (color: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: child\ndata:\n  size: "{{ .Values.size }}"\n  color: ${color}\n`;

/** A Helm chart `root`, whose values decide the definition of `child`. */
function startFamily(
  host: (typeof HOSTS)[number],
  template = "{{ .Values.size }}",
  more: object = {},
  files: (repoURL: string) => FileChanges = () => ({}),
  argocd: BotOptions["argocd"] = {},
): Promise<Bot> {
  return startBot({
    host,
    argocd,
    applications: ["root", "child"],
    resources: (repoURL) => ({
      root: { spec: { destination: DESTINATION } },
      child: {
        annotations: { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/child" },
        spec: {
          source: { repoURL, path: "apps/child", targetRevision: "main", helm: { valuesObject: { size: "s" } } },
          ...more,
        },
      },
    }),
    files: (repoURL) => ({
      "argocd/child.yaml": null,
      ...chart(
        "apps/root",
        "size: s\nproject: default\n",
        asYaml(child(repoURL, template, { project: "{{ .Values.project }}", ...more })),
      ),
      ...chart("apps/child", "size: xs\n", COLORED("red")),
      ...files(repoURL),
    }),
  });
}

const BIGGER = { "apps/root/values.yaml": "size: m\nproject: default\n" };
const BLUE = { "apps/child/templates/all.yaml": COLORED("blue") };

/** The parent as a Kustomization that patches the size into an unchanged file. */
function patched({ forge }: Bot, size: string): FileChanges {
  const definition = child(cloneUrlOf(forge), "s");
  const patch = `- op: replace\n  path: /spec/source/helm/valuesObject/size\n  value: ${size}\n`;
  const target = { kind: "Application", name: "child" };
  return {
    "apps/root/Chart.yaml": null,
    "apps/root/values.yaml": null,
    "apps/root/templates/all.yaml": null,
    "apps/root/child.yaml": asYaml(definition),
    "apps/root/kustomization.yaml": asYaml({ resources: ["child.yaml"], patches: [{ target, patch }] }),
  };
}

/** A change request that has added a child, and deployed it twice. */
async function openDeployed(bot: Bot): Promise<number> {
  const source = { repoURL: cloneUrlOf(bot.forge), path: "apps/child", targetRevision: "main" };
  const added = asYaml(applicationResource("added", { repoURL: source.repoURL, spec: { source } }));
  const number = await bot.open({ "apps/root/templates/added.yaml": added });
  bot.expectChanges("sync root", "sync added");
  await bot.comment(number, "svc sync");
  await bot.push(number, BLUE);
  await bot.comment(number, "svc sync -a added");
  return number;
}

describe.each(HOSTS)("a child follows its parent on %s", (host) => {
  test("planned with the definition that the parent's head gives it, and deployed after the parent", async () => {
    const bot = await startFamily(host);
    const one = await bot.open({ ...BIGGER, ...BLUE });
    const plan = bot.lastComment(one);
    expect(plan).toContain("-  color: red\n-  size: s\n+  color: blue\n+  size: m");
    expect(plan).toContain("root gives it at this commit");
    expect(plan).not.toContain("the target branch render the same");
    expect(bot.argocd.temporaryApplications()).toEqual([]);

    await bot.comment(one, "svc sync -a child");
    expect(bot.lastComment(one)).toContain("sync root before it, or both together");
    expect(bot.changes()).toEqual([]);

    bot.expectChanges("sync root", "sync child");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync child"]);
    expect([bot.liveValue("child", "size"), bot.liveValue("child", "color")]).toEqual(["m", "blue"]);

    // The definition is there by now, and the child can be deployed alone.
    await bot.push(one, { "apps/child/templates/all.yaml": COLORED("green") });
    expect(bot.lastComment(one)).toContain("+  color: green");
    await bot.comment(one, "svc sync -a child");
    expect([bot.liveValue("child", "size"), bot.liveValue("child", "color")]).toEqual(["m", "green"]);
  });

  test("a member of its own where only its definition changes: locked at the plan, deployed after the parent", async () => {
    const bot = await startFamily(host);
    const one = await bot.open(BIGGER);
    const plan = bot.lastComment(one);
    expect(section(plan, "child")).toContain("-  size: s\n+  size: m");
    expect(section(plan, "child")).toMatch(/Locked by this [PM]R/);
    expect(plan).not.toContain("Applications below");
    expect(bot.argocd.temporaryApplications()).toEqual([]);

    await bot.comment(one, "svc sync -a child");
    expect(bot.lastComment(one)).toContain("sync root before it, or both together");
    expect(bot.changes()).toEqual([]);

    bot.expectChanges("sync root", "sync child");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync child"]);
    expect(bot.liveValue("child", "size")).toBe("m");
    expect(bot.lastComment(one)).toMatch(/merge this [PM]R/i);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toMatch(/merge this [PM]R/i);

    bot.expectChanges("sync root", "sync child");
    await bot.comment(one, "svc rollback");
    expect(bot.liveValue("child", "size")).toBe("s");
  });

  test("one that the PR has added and deployed is rolled back by the deletion of it", async () => {
    const bot = await startFamily(host);
    const one = await openDeployed(bot);
    expect(await bot.deployed(one)).toEqual(["added", "root"]);
    await bot.comment(one, "svc rollback --prune");
    expect(section(bot.lastComment(one), "added")).toContain("**Result:** ✅ the rollback of its parent deleted it\n");
    expect(section(bot.lastComment(one), "added")).not.toContain("is deployed");
    expect(bot.lastComment(one)).toContain("What it had deployed stays in the cluster, since it had no finalizer");
    expect(bot.argocd.application("added")).toBeUndefined();
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.locked(one)).not.toContain("added");
  });

  test("one that the sync of its parent deleted is made anew by the rollback, which says that nothing is deployed to it", async () => {
    const bot = await startFamily(host);
    const one = await bot.open({ "apps/root/templates/all.yaml": "" });
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync --prune");
    expect(bot.argocd.application("child")).toBeUndefined();
    await bot.comment(one, "svc rollback");
    expect(bot.argocd.application("child")).toBeDefined();
    expect(section(bot.lastComment(one), "root")).toContain(
      "Applied child, to which nothing was deployed yet: sync it in Argo CD.",
    );
  });

  test("one that the PR has added, deployed and taken out again keeps it from nothing once it is deleted", async () => {
    const bot = await startFamily(host);
    const one = await openDeployed(bot);
    await bot.push(one, {
      "apps/root/templates/added.yaml": null,
      "apps/child/templates/all.yaml": COLORED("red"),
      "apps/root/templates/keep.yaml": configMap("keep", { a: "1" }),
    });
    expect(bot.lastComment(one)).toContain("### Application: `added`");
    await bot.comment(one, "svc sync -a root --prune");
    expect(bot.argocd.application("added")).toBeUndefined();
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).not.toContain("could not be evaluated");
    expect(bot.lastComment(one)).toContain(
      "- `added`: an earlier commit was deployed to it, and Argo CD does not know it",
    );
    expect(bot.lastComment(one)).toMatch(/merge this [PM]R/i);
  });

  test("one that a PR has added and deployed goes with its rollback, although another PR has planned it since", async () => {
    const bot = await startFamily(host);
    const source = { repoURL: cloneUrlOf(bot.forge), path: "apps/child", targetRevision: "main" };
    const added = asYaml(applicationResource("added", { repoURL: source.repoURL, spec: { source } }));
    const one = await bot.open({ "apps/root/templates/added.yaml": added });
    bot.expectChanges("sync root", "sync added");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(await bot.deployed(one)).toEqual(["added", "root"]);
    await bot.comment(one, "svc unlock");
    const two = await bot.open(BLUE, { by: "bo" });
    expect(await bot.locked(two)).toEqual(["added", "child"]);
    await bot.comment(one, "svc rollback --prune");
    expect(bot.lastComment(one)).toContain("rolled back");
    expect(bot.argocd.application("added")).toBeUndefined();
  });

  test("one that left the files earlier keeps no rollback waiting for an approval that only its parent needs", async () => {
    const rules = { ".svc.yaml": "sync_requirements: [{name: root, require_approval: true}]\n" };
    const bot = await startFamily(host, "s", {}, () => rules);
    const template = (value: string) => ({ "apps/root/templates/all.yaml": configMap("root", { value }) });
    await bot.forge.pushToBranch(REPOSITORY, "main", template("1"));
    await bot.argocd.deploy("root");
    const one = await bot.open(template("2"));
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(await bot.deployed(one)).toEqual(["root"]);
    await bot.push(one, template("3"));
    await bot.comment(one, "svc rollback --prune");
    expect(bot.lastComment(one)).toContain("rolled back");
    expect(bot.argocd.application("child")).toBeUndefined();
  });

  test("one that the deployed commit of another PR has added is not deleted while that PR has its lock", async () => {
    const bot = await startFamily(host);
    const source = { repoURL: cloneUrlOf(bot.forge), path: "apps/child", targetRevision: "main" };
    const added = asYaml(applicationResource("added", { repoURL: source.repoURL, spec: { source } }));
    const two = await bot.open({ "apps/root/templates/added.yaml": added }, { by: "bo" });
    bot.expectChanges("sync root");
    await bot.comment(two, "svc sync", "bo");
    expect(await bot.locked(two)).toEqual(["added"]);
    const one = await bot.open({ "apps/root/templates/keep.yaml": configMap("keep", { a: "1" }) });
    expect(bot.lastComment(one)).toContain("**`added`** (removed)");
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("A sync of `root` would delete `added`, so it waits for that lock");
    await bot.comment(one, "svc rollback --prune");
    expect(bot.lastComment(one)).toContain("A rollback of `root` would delete `added`, so it waits for that lock");
    expect(bot.argocd.application("added")).toBeDefined();
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("one that the merge before has added is not taken for left over, before Argo CD has compared with that merge", async () => {
    const bot = await startFamily(host);
    const source = { repoURL: cloneUrlOf(bot.forge), path: "apps/child", targetRevision: "main" };
    const added = asYaml(applicationResource("added", { repoURL: source.repoURL, spec: { source } }));
    const two = await bot.open({ "apps/root/templates/added.yaml": added }, { by: "bo" });
    bot.expectChanges("sync root");
    await bot.comment(two, "svc sync", "bo");
    await bot.forge.mergeByHand(REPOSITORY, two, "bo");
    await bot.idle();
    const three = await bot.open({ "apps/child/values.yaml": "size: xl\n" }, { by: "bo" });
    expect(await bot.locked(three)).toContain("added");
    const one = await bot.open({ "apps/root/templates/keep.yaml": configMap("keep", { a: "1" }) });
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("**1 application deployed**");
    expect(bot.argocd.application("added")).toBeDefined();
  });

  test("a member that Argo CD does not store keeps the child from being synced, and is named", async () => {
    const bot = await startFamily(host, undefined, {}, undefined, { version: "v3.1.9" });
    const syncPolicy = { retry: { limit: 2, refresh: true } };
    const one = await bot.open({
      "apps/root/templates/all.yaml": asYaml(child(cloneUrlOf(bot.forge), "s", { syncPolicy })),
    });
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "the definition that its parent root wrote is the planned one without syncPolicy.retry.refresh. Argo CD may not know that: take it out of the definition",
    );
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("a push to the base branch that changes what only such a child reads is noted, and stays so", async () => {
    const bot = await startFamily(host);
    const one = await bot.open(BIGGER);
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/child/templates/all.yaml": COLORED("green") });
    await bot.idle();
    expect(bot.lastComment(one)).toContain("⚠️ In child, the base branch main changed apps/child/templates/all.yaml");
    expect(bot.lastComment(one)).not.toContain("\nsvc sync\n");
    await bot.comment(one, "svc plan");
    const planned = bot.lastComment(one);
    expect(section(planned, "child")).toContain("a sync would revert this commit");
    await bot.forge.pushToBranch(REPOSITORY, "main", { "docs/guide.md": "hello" });
    await bot.idle();
    expect(bot.lastComment(one)).toBe(planned);
  });

  test("a plan of another application goes on saying what the sync of such a child would revert", async () => {
    const bot = await startFamily(host);
    const other = asYaml(applicationResource("other", { repoURL: cloneUrlOf(bot.forge) }));
    const one = await bot.open({ ...BIGGER, "argocd/other.yaml": other });
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/child/templates/all.yaml": COLORED("green") });
    await bot.comment(one, "svc plan -a other");
    expect(section(bot.lastComment(one), "child")).toContain("a sync would revert this commit");
    expect(section(bot.lastComment(one), "child")).toContain("root gives it at this commit");
    await bot.push(one, BLUE);
    await bot.comment(one, "svc plan -a other");
    expect(section(bot.lastComment(one), "child")).toContain("root gives it at this commit");
  });

  test.each([false, true])("a file that becomes a template deletes no child (auto-synced: %s)", async (autoSynced) => {
    const more = autoSynced ? { syncPolicy: { automated: {} } } : {};
    const plain = (repoURL: string) => asYaml(child(repoURL, "s", more));
    const bot = await startFamily(host, "s", more, (repoURL) => ({
      "apps/root/Chart.yaml": null,
      "apps/root/values.yaml": null,
      "apps/root/templates/all.yaml": null,
      "apps/root/child.yaml": plain(repoURL),
    }));
    const template = plain(bot.forge.cloneUrl(REPOSITORY)).replace('"s"', "{{ .Values.size }}");
    const one = await bot.open({
      "apps/root/child.yaml": null,
      "apps/root/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
      "apps/root/values.yaml": "size: s\n",
      "apps/root/templates/all.yaml": template,
      ...BLUE,
    });
    expect(bot.lastComment(one)).not.toContain("delete");
    expect(section(bot.lastComment(one), "child")).toContain("-  color: red\n+  color: blue\n");
    await bot.comment(one, "svc plan -a child");
    expect(section(bot.lastComment(one), "child")).toContain("-  color: red\n+  color: blue\n");
    if (autoSynced) return;
    bot.expectChanges("sync root", "sync child");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync child"]);
    expect(bot.liveValue("child", "color")).toBe("blue");
    await bot.push(one, { "apps/root/values.yaml": "size: m\n" });
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("child", "size")).toBe("m");
    await bot.push(one, { "apps/root/templates/all.yaml": "" });
    expect(section(bot.lastComment(one), "child")).toContain("(deleted)");
  });

  test.each([
    ["becomes a template", { "apps/root/values.yaml": "size: m\n" }, "{{ .Values.size }}", "m"],
    [
      "has a double elsewhere",
      { "docs/child.yaml": asYaml(applicationResource("child", { repoURL: "x" })) },
      '"s"',
      "s",
    ],
  ])("where its file %s, the render of its parent tells its definition", async (_, files, size, deployed) => {
    const bot = await startFamily(host, "s");
    const template = asYaml(child(bot.forge.cloneUrl(REPOSITORY), "s")).replace('"s"', size);
    const one = await bot.open({ ...files, "apps/root/templates/all.yaml": template, ...BLUE });
    expect(bot.lastComment(one)).not.toContain("could not be evaluated");
    expect(section(bot.lastComment(one), "child")).toContain("color: blue\n");
    bot.expectChanges("sync root", "sync child");
    await bot.comment(one, "svc sync");
    expect([bot.liveValue("child", "size"), bot.liveValue("child", "color")]).toEqual([deployed, "blue"]);
  });

  test.each([
    ["is removed", "{{ .Values.size }}", undefined],
    ["changes", '"s"', "s3"],
  ])("a double of its file that %s where its parent does not look changes nothing of it", async (_, size, changed) => {
    const double = (value: string) => asYaml(child("https://git.example.org/acme/x", value));
    const bot = await startFamily(host, "s", {}, (repoURL) => ({
      "docs/child.yaml": double("s2"),
      "apps/root/templates/all.yaml": asYaml(child(repoURL, "s")).replace('"s"', size),
    }));
    const one = await bot.open({ "docs/child.yaml": changed === undefined ? null : double(changed), ...BLUE });
    expect(section(bot.lastComment(one), "child")).toContain("-  color: red\n+  color: blue\n");
    bot.expectChanges("sync child");
    await bot.comment(one, "svc sync");
    expect([bot.liveValue("child", "size"), bot.liveValue("child", "color")]).toEqual(["s", "blue"]);
    expect(bot.changes()).toEqual(["sync child"]);
  });

  test.each([
    ["added", null, "s3"],
    ["changed", "s2", "s3"],
  ])("an example with its name that is %s where its parent does not look is not deployed", async (_, before, after) => {
    const bot = await startFamily(host, "s", {}, (repoURL) => ({
      "docs/child.yaml": before && asYaml(child(repoURL, before)),
      "apps/root/templates/all.yaml": asYaml(child(repoURL, "s")).replace('"s"', "{{ .Values.size }}"),
    }));
    const one = await bot.open({ "docs/child.yaml": asYaml(child(cloneUrlOf(bot.forge), after)), ...BLUE });
    expect(section(bot.lastComment(one), "child")).toContain("-  color: red\n+  color: blue\n");
    expect(bot.lastComment(one)).not.toContain("definition");
    bot.expectChanges("sync child");
    await bot.comment(one, "svc sync");
    expect([bot.liveValue("child", "size"), bot.liveValue("child", "color")]).toEqual(["s", "blue"]);
  });

  test("one whose file is gone is not said to be deleted while its parent cannot be rendered", async () => {
    const bot = await startFamily(host, "s", { project: "default" });
    const template = asYaml(child(bot.forge.cloneUrl(REPOSITORY), "s")).replace('"s"', "{{ .Values.size }}");
    const removed = { "apps/root/templates/all.yaml": null, "apps/root/templates/child.yaml": template };
    const fault = { kind: "status", status: 500, body: "{}" } as const;
    const remove = bot.argocd.faults.add({ path: /\/applications\/root\/manifests$/, fault });
    const one = await bot.open({ ...removed, ...BLUE });
    expect(section(bot.lastComment(one), "root")).toContain("could not be evaluated");
    expect(section(bot.lastComment(one), "child")).toContain(
      "only the render of root tells whether it is deleted, and root could not be evaluated",
    );
    expect(bot.lastComment(one)).not.toContain("will be deleted");
    remove();
    await bot.comment(one, "svc plan");
    expect(section(bot.lastComment(one), "child")).toContain("-  color: red\n+  color: blue\n");
  });

  test("one that its sync starts is what the plan shows below it, and keeps svc from no merge", async () => {
    const bot = await startBot({
      host,
      applications: ["root"],
      config: { defaults: { auto_merge: true } },
      resources: () => ({ root: { spec: { destination: DESTINATION } } }),
      files: () => chart("apps/root", "kind: ConfigMap\n", COLORED("red")),
    });
    const repoURL = cloneUrlOf(bot.forge);
    const more = { source: { repoURL, path: "apps/new", targetRevision: "main" } };
    const added = asYaml(applicationResource("new", { repoURL, spec: more }));
    const one = await bot.open({
      "apps/root/values.yaml": "kind: Application\n",
      "apps/root/templates/new.yaml": added.replace('"Application"', "{{ .Values.kind }}"),
      "apps/new/new.yaml": configMap("new", { color: "blue" }),
    });
    expect(bot.lastComment(one)).toContain("**`new`** (added)");
    bot.expectChanges("sync root", "merge");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("left out with -a it waits, is named in the result, and is deployed alone afterwards", async () => {
    const bot = await startFamily(host);
    const one = await bot.open(BIGGER);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync -a root");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(bot.lastComment(one)).toContain("Wrote the new definition of child, which waits for a sync of its own");
    expect(bot.lastComment(one)).not.toMatch(/merge this [PM]R/i);
    expect(bot.liveValue("child", "size")).toBeUndefined();

    // The definition is there by now, and the change is still shown and locked.
    await bot.comment(one, "svc plan");
    expect(section(bot.lastComment(one), "child")).toContain("-  size: s\n+  size: m");
    bot.expectChanges("sync child");
    await bot.comment(one, "svc sync -a child");
    expect(bot.changes()).toEqual(["sync root", "sync child"]);
    expect(bot.liveValue("child", "size")).toBe("m");
    expect(bot.lastComment(one)).toMatch(/merge this [PM]R/i);
  });

  test("a plan of the child alone plans its parent, and one of another application keeps both", async () => {
    const bot = await startFamily(host);
    const one = await bot.open({
      ...BIGGER,
      "argocd/other.yaml": asYaml(applicationResource("other", { repoURL: cloneUrlOf(bot.forge) })),
    });
    await bot.comment(one, "svc unlock -a child");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Its sync writes the definition of child, which is no longer locked");
    expect(bot.changes()).toEqual([]);

    await bot.comment(one, "svc plan -a child");
    expect(section(bot.lastComment(one), "child")).toContain("-  size: s\n+  size: m");
    expect(section(bot.lastComment(one), "child")).toMatch(/Locked by this [PM]R/);
    await bot.comment(one, "svc plan -a other");
    expect(section(bot.lastComment(one), "child")).toMatch(/Locked by this [PM]R/);
    bot.expectChanges("sync root", "sync child");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync child"]);
  });

  test("the plan of a parent names a deployment of another one whose definition it would take back", async () => {
    const at = (repoURL: string, size: string) => ({ "apps/root/child.yaml": asYaml(child(repoURL, size)) });
    const bot = await startFamily(host, undefined, {}, (repoURL) => ({
      "apps/root/Chart.yaml": null,
      "apps/root/values.yaml": null,
      "apps/root/templates/all.yaml": null,
      ".svc.yaml": "autoplan: false\n",
      ...at(repoURL, "s"),
    }));
    const one = await bot.open(at(cloneUrlOf(bot.forge), "m"));
    await bot.comment(one, "svc plan -a child");
    bot.expectChanges("update child", "sync child");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("child", "size")).toBe("m");
    const two = await bot.open({ "apps/root/keep.yaml": configMap("keep", { a: "1" }) });
    await bot.comment(two, "svc plan");
    expect(section(bot.lastComment(two), "root")).toMatch(
      /A sync takes back the definition of child, which runs commit \w{8} of .*, deployed and not merged/,
    );
  });

  test("a plan of the parent alone plans a child that other files change as well, so that its lock counts", async () => {
    const bot = await startFamily(host, undefined, {}, () => ({ ".svc.yaml": "autoplan: false\n" }));
    const two = await bot.open(BLUE);
    await bot.comment(two, "svc plan");
    const one = await bot.open({ ...BIGGER, "apps/child/values.yaml": "size: l\n" });
    await bot.comment(one, "svc plan -a root");
    await bot.comment(one, "svc sync -a root");
    expect(bot.changes()).toEqual([]);
    expect(bot.lastComment(one)).toContain("A sync of `root` would write the definition of `child`");

    await bot.comment(two, "svc unlock");
    await bot.comment(one, "svc plan -a root");
    expect(section(bot.lastComment(one), "child")).toContain("-  size: s\n+  size: m");
    expect(section(bot.lastComment(one), "child")).toMatch(/Locked by this [PM]R/);
  });

  test("with auto-sync it stays a preview below its parent, which Argo CD deploys by itself", async () => {
    const bot = await startFamily(host, "{{ .Values.size }}", { syncPolicy: { automated: {} } });
    const one = await bot.open(BIGGER);
    expect(bot.lastComment(one)).toContain("### Applications below `root`");
    expect(bot.lastComment(one)).not.toContain("### Application: `child`");
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(bot.lastComment(one)).toMatch(/merge this [PM]R/i);
  });

  test("not rendered before an approval where its new definition reads more", async () => {
    const bot = await startFamily(host);
    bot.argocd.addProject("secret", {});
    const one = await bot.open({ "apps/root/values.yaml": "size: l\nproject: secret\n" });
    expect(section(bot.lastComment(one), "child")).toContain("could not be evaluated");
    expect(bot.lastComment(one)).not.toContain("+  size: l");
    await bot.approve(one);
    await bot.idle();
    expect(section(bot.lastComment(one), "child")).toContain("-  size: s\n+  size: l");
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });

  test("not a child of its name that a parent deploys to another cluster, where another Argo CD runs", async () => {
    const named = (repoURL: string, path: string) => asYaml(applicationResource("child", { repoURL, path }));
    const destination = { server: "https://spoke.example.com:6443", namespace: "argocd" };
    const bot = await startFamily(host, "s", {}, (repoURL) => ({
      "spoke/child.yaml": named(repoURL, "apps/root"),
    }));
    const repoURL = bot.forge.cloneUrl(REPOSITORY);
    bot.argocd.addApplication(applicationResource("spoke", { repoURL, path: "spoke", spec: { destination } }));
    const one = await bot.open({ "spoke/child.yaml": named(repoURL, "apps/child"), ...BLUE });
    expect(section(bot.lastComment(one), "child")).toContain("-  color: red\n+  color: blue\n");
    expect(bot.lastComment(one)).not.toContain("gives it at this commit");
  });

  test("nor does a parent that prunes one there wait for the lock of the child here", async () => {
    const destination = { server: "https://spoke.example.com:6443", namespace: "argocd" };
    const bot = await startFamily(host, "s", {}, (repoURL) => ({
      "spoke/child.yaml": asYaml(applicationResource("child", { repoURL, path: "apps/root" })),
      "spoke/configmap.yaml": configMap("spoke", { value: "1" }),
    }));
    const repoURL = bot.forge.cloneUrl(REPOSITORY);
    bot.argocd.addApplication(applicationResource("spoke", { repoURL, path: "spoke", spec: { destination } }));
    await bot.argocd.deploy("spoke");
    await bot.forge.pushToBranch(REPOSITORY, "main", { "spoke/child.yaml": null });
    await bot.argocd.deploy("spoke");
    const other = await bot.open(BLUE, { by: "bo" });
    expect(await bot.locked(other)).toEqual(["child"]);
    const one = await bot.open({ "spoke/configmap.yaml": configMap("spoke", { value: "2" }) });
    expect(bot.lastComment(one)).toContain("argoproj.io/Application");
    bot.expectChanges("sync spoke");
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.changes()).toEqual(["sync spoke"]);
  });

  test("also where Argo CD does not track it yet and a definition names Argo CD's own cluster by another address", async () => {
    const destination = { server: "https://10.0.0.1:6443", namespace: "argocd" };
    const bot = await startFamily(host);
    const repoURL = bot.forge.cloneUrl(REPOSITORY);
    const adopted = (size: string) => {
      const source = { repoURL, path: "apps/child", targetRevision: "main", helm: { valuesObject: { size } } };
      return applicationResource("adopted", { repoURL, spec: { source } });
    };
    bot.argocd.addApplication(adopted("s"));
    bot.argocd.addApplication(applicationResource("root", { repoURL, spec: { destination } }));
    const one = await bot.open({ "apps/root/templates/adopted.yaml": asYaml(adopted("{{ .Values.size }}0")), ...BLUE });
    expect(section(bot.lastComment(one), "adopted")).toContain("+  size: s0");
  });

  test("but not where the parent, which has children here, moves to another cluster", async () => {
    const bot = await startFamily(host);
    const repoURL = bot.forge.cloneUrl(REPOSITORY);
    const source = {
      repoURL,
      path: "apps/child",
      targetRevision: "main",
      helm: { valuesObject: { size: "{{ .Values.size }}0" } },
    };
    const namesake = applicationResource("namesake", { repoURL, spec: { source } });
    bot.argocd.addApplication(applicationResource("namesake", { repoURL, path: "apps/child" }));
    const destination = { server: "https://spoke.example.com:6443", namespace: "argocd" };
    const one = await bot.open({
      "argocd/root.yaml": asYaml(applicationResource("root", { repoURL, spec: { destination } })),
      "apps/root/templates/namesake.yaml": asYaml(namesake),
      ...BLUE,
    });
    expect(section(bot.lastComment(one), "namesake")).toContain("+  color: blue");
    expect(section(bot.lastComment(one), "namesake")).not.toContain("size: s0");
  });

  describe("in another cluster, where another Argo CD runs it", () => {
    const spec = { syncPolicy: { automated: {} } };
    const server = "https://spoke.example.com:6443";
    const spoke = (repoURL: string, to = server) =>
      applicationResource("spoke", {
        repoURL,
        path: "spoke",
        spec: { destination: { server: to, namespace: "argocd" } },
      });
    const startSpoke = (deployed: boolean) =>
      startBot({
        host,
        applications: [],
        files: (repoURL) => ({
          ".svc.yaml": "cr_paths: ['argocd/**']\n",
          "argocd/spoke.yaml": asYaml(spoke(repoURL)),
          "spoke/child.yaml": asYaml(applicationResource("child", { repoURL, spec })),
          "spoke/configmap.yaml": configMap("spoke", { value: "1" }),
          "apps/child/configmap.yaml": configMap("child", { value: "1" }),
        }),
        prepare: async ({ argocd }, forge) => {
          argocd.addApplication(spoke(forge.cloneUrl(REPOSITORY)));
          if (deployed) await argocd.deploy("spoke");
        },
      });
    const CHANGE = { "spoke/configmap.yaml": configMap("spoke", { value: "2" }) };
    const ADDED = "### Applications below `spoke`\n\n**`child`** (added)";

    test("it is not new while it stays as it is", async () => {
      const bot = await startSpoke(true);
      const next = applicationResource("child", { repoURL: cloneUrlOf(bot.forge), path: "apps/next", spec });
      const changing = await bot.open({
        "spoke/child.yaml": asYaml(next),
        "apps/next/configmap.yaml": configMap("child", { value: "3" }),
      });
      expect(bot.lastComment(changing)).toContain("### Applications below `spoke`\n\n**`child`** (changed)");
      expect(bot.lastComment(changing)).toContain('-  value: "1"\n+  value: "3"');
      await bot.close(changing);

      const one = await bot.open(CHANGE);
      expect(bot.lastComment(one)).not.toContain("Applications below");
      bot.expectChanges("sync spoke");
      await bot.comment(one, "svc sync");
      expect(bot.changes()).toEqual(["sync spoke"]);
      expect(bot.argocd.application("child")).toBeUndefined();
    });

    test("of a set there it deletes no application that a set of the same name has made here", async () => {
      const set = (repoURL: string, ...all: string[]) => shopsResource(repoURL, names(...all), { namespace: "argocd" });
      const bot = await startBot({
        host,
        applications: [],
        files: (repoURL) => ({
          ".svc.yaml": "cr_paths: ['argocd/**']\n",
          "spoke/shops.yaml": asYaml(set(repoURL, "de", "fr")),
          "shops/de/configmap.yaml": configMap("shop-de", { value: "1" }),
          "shops/fr/configmap.yaml": configMap("shop-fr", { value: "1" }),
        }),
        prepare: async ({ argocd }, forge) => {
          const repoURL = cloneUrlOf(forge);
          argocd.addApplication(spoke(repoURL));
          const running = ["de", "fr"].map((name) => generatedApplication(name, { repoURL }));
          runsShops({ argocd }, set(repoURL, "de", "fr"), running);
          await argocd.deploy("shop-de");
        },
      });
      const one = await bot.open({ "spoke/shops.yaml": asYaml(set(cloneUrlOf(bot.forge), "fr")) });
      expect(bot.lastComment(one)).toContain("**`shop-de`** (removed)");
      expect(bot.lastComment(one)).toContain("another Argo CD runs it");
      expect(bot.lastComment(one)).not.toContain("ConfigMap guestbook/shop-de");
    });

    test("it is new where a sync creates it: while it is not there, and where its parent moves to Argo CD's cluster", async () => {
      const bot = await startSpoke(false);
      const one = await bot.open(CHANGE);
      expect(bot.lastComment(one)).toContain(ADDED);
      await bot.comment(one, "svc sync");
      expect(bot.changes()).toEqual([]);
      await bot.close(one);
      await bot.argocd.deploy("spoke");
      const here = spoke(cloneUrlOf(bot.forge), "https://kubernetes.default.svc");
      const two = await bot.open({ ...CHANGE, "argocd/spoke.yaml": asYaml(here) });
      expect(bot.lastComment(two)).toContain(ADDED);
    });
  });

  test("patched by Kustomize: the same", async () => {
    const bot = await startFamily(host);
    await bot.forge.pushToBranch(REPOSITORY, "main", patched(bot, "s"));
    const one = await bot.open(patched(bot, "m"));
    expect(section(bot.lastComment(one), "child")).toContain("-  size: s\n+  size: m");
    bot.expectChanges("sync root", "sync child");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync child"]);
    expect(bot.liveValue("child", "size")).toBe("m");
  });
});
