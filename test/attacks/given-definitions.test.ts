import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { section } from "../scenarios/plan-comment.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { cloneUrlOf } from "../scenarios/sets.js";

const prod = (repoURL: string, path: string, more: object = {}, labels: Readonly<Record<string, string>> = {}) =>
  applicationResource("prod", {
    repoURL,
    labels,
    namespace: "argocd",
    annotations: { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/prod" },
    spec: { source: { repoURL, path, targetRevision: "main" }, ...more },
  });

/** A chart `root` whose values say what its child `prod` deploys. No file of `prod` has to change for another definition. */
function family(host: HostId, { files, ...more }: Partial<BotOptions> = {}): Promise<Bot> {
  const root = (repoURL: string) => applicationResource("root", { repoURL, path: "root" });
  return startBot({
    host,
    applications: [],
    ...more,
    files: (url) => ({
      "root/Chart.yaml": "apiVersion: v2\nname: root\nversion: 1.0.0\n",
      ...deploys("prod"),
      "root/templates/prod.yaml": asYaml(prod(url, "apps/{{ .Values.path }}")),
      ...changeOf(["prod"], "1"),
      "apps/evil/configmap.yaml": configMap("prod", { value: "evil" }),
      ...files?.(url),
    }),
    prepare: async (world, forge) => {
      const url = cloneUrlOf(forge);
      world.argocd.addApplication(root(url));
      world.argocd.addApplication(prod(url, "apps/prod"));
      await world.argocd.deploy("root");
      await world.argocd.deploy("prod");
    },
  });
}

const deploys = (path: string): FileChanges => ({ "root/values.yaml": `path: ${path}\n` });
const EVIL = deploys("evil");
const WRITING = ["svc sync", "svc sync -a root"];
const COMMANDS = [...WRITING, "svc sync -a root --dry-run"];

async function expectRefused(bot: Bot, number: number, command: string, text: string | RegExp): Promise<void> {
  await bot.comment(number, command);
  expect(bot.lastComment(number)).toMatch(text);
  expect(bot.changes()).toEqual([]);
  expect(bot.seen(number).state).toBe("open");
}

describe.each(HOSTS)("a definition that a parent gives to a child with unchanged files, on %s", (host) => {
  test("needs the approval that the rule of the child requires, for the parent and for both", async () => {
    const rules = { ".svc.yaml": "sync_requirements: [{name: prod, require_approval: true}]\n" };
    const bot = await family(host, { files: () => rules });
    const one = await bot.open(EVIL);
    for (const command of WRITING) await expectRefused(bot, one, command, "PR must be approved before sync");
    await bot.approve(one);
    bot.expectChanges("sync root", "sync prod");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync prod"]);
    expect(bot.liveValue("prod")).toBe("evil");
  });

  test("is written by nobody whom the list of the child does not name", async () => {
    const rules = { ".svc.yaml": "sync_requirements: [{name: prod, allowed_users: [bo]}]\n" };
    const bot = await family(host, { files: () => rules });
    const one = await bot.open(EVIL);
    for (const command of COMMANDS) await expectRefused(bot, one, command, /may not run `svc sync`/);
  });

  test("is not written while another pull request holds the child, which got its lock before the plan", async () => {
    const bot = await family(host);
    const other = await bot.open(changeOf(["prod"], "2"));
    const one = await bot.open(EVIL);
    const held = /`?prod`?: .*locked by/i;
    for (const command of COMMANDS) await expectRefused(bot, one, command, held);
    await bot.comment(other, "svc unlock");
    await bot.idle();
    bot.expectChanges("sync root", "sync prod");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync prod"]);
  });

  test("is not written while another pull request holds a child that Argo CD deploys by itself", async () => {
    const automated = { syncPolicy: { automated: {} } };
    const bot = await family(host, {
      files: (url) => ({ "root/templates/prod.yaml": asYaml(prod(url, "apps/{{ .Values.path }}", automated)) }),
    });
    bot.argocd.addApplication(prod(cloneUrlOf(bot.forge), "apps/prod", automated));
    const other = await bot.open(changeOf(["prod"], "2"));
    const one = await bot.open(EVIL);
    await bot.approve(one);
    const held = "A sync of `root` would write the definition of `prod`, so it waits for that lock";
    for (const command of COMMANDS) await expectRefused(bot, one, command, held);
    await bot.comment(other, "svc unlock");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("is not written into an application of nobody that another pull request holds", async () => {
    const bot = await family(host);
    const extra = { repoURL: cloneUrlOf(bot.forge), namespace: "argocd" };
    bot.argocd.addApplication(applicationResource("extra", { ...extra, path: "apps/extra" }));
    const other = await bot.open(changeOf(["extra"], "2"));
    const template = asYaml(applicationResource("extra", { ...extra, path: "apps/evil" }));
    const one = await bot.open({
      "root/values.yaml": "path: prod\nkind: Application\n",
      "root/templates/extra.yaml": template.replace('"Application"', "{{ .Values.kind }}"),
    });
    const held = "A sync of `root` would write the definition of `extra`, so it waits for that lock";
    for (const command of COMMANDS) await expectRefused(bot, one, command, held);
    await bot.comment(other, "svc unlock");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("is not written where the lock of the child was released since, and not where another got it", async () => {
    const bot = await family(host);
    const one = await bot.open(EVIL);
    await bot.comment(one, "svc unlock -a prod");
    const free = /Its sync writes the definition of prod, which is no longer locked by this [PM]R/;
    for (const command of COMMANDS) await expectRefused(bot, one, command, free);
    await bot.open(changeOf(["prod"], "2"));
    for (const command of COMMANDS) await expectRefused(bot, one, command, /`?prod`?: .*locked by/i);
  });

  test("bars the sync of both while a required check of the child fails, and the merge if the child is left out", async () => {
    const command = ["sh", "-c", "if grep -q evil; then exit 1; fi"];
    const checks = [{ name: "values", applications: "prod", command }];
    const bot = await family(host, { config: { checks, defaults: { auto_merge: true } } });
    const one = await bot.open(EVIL);
    await expectRefused(bot, one, "svc sync", "`prod`: check values failed");
    await bot.approve(one);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync -a root");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(bot.lastComment(one)).toContain("Wrote the new definition of prod, which waits for a sync of its own");
    await bot.comment(one, "svc sync -a prod");
    expect(bot.lastComment(one)).toContain("`prod`: check values failed");
    expect(bot.liveValue("prod")).toBe("1");
    expect(bot.seen(one).state).toBe("open");
  });

  test("deploys no child that got auto-sync since the plan, or that another application applies by now", async () => {
    const bot = await family(host);
    const one = await bot.open(EVIL);
    bot.argocd.addApplication(prod(cloneUrlOf(bot.forge), "apps/prod", { syncPolicy: { automated: {} } }));
    await expectRefused(bot, one, "svc sync", "Application prod has auto-sync enabled");
    const elsewhere = prod(cloneUrlOf(bot.forge), "apps/prod") as { metadata: { annotations: Record<string, string> } };
    elsewhere.metadata.annotations["argocd.argoproj.io/tracking-id"] = "other:argoproj.io/Application:argocd/prod";
    bot.argocd.addApplication(elsewhere);
    await expectRefused(bot, one, "svc sync", "root no longer applies its definition");
  });
});

/** What the kustomization of `root` has. */
const listing = (...resources: readonly string[]): FileChanges => ({
  "root/kustomization.yaml": asYaml({ resources }),
});

/** A folder `root` with the definition of its child `prod` as a file. */
const byFile = (host: HostId, { files, ...more }: Partial<BotOptions> = {}): Promise<Bot> =>
  family(host, {
    ...more,
    files: (url) => ({
      "root/Chart.yaml": null,
      "root/values.yaml": null,
      "root/templates/prod.yaml": null,
      "root/keep.yaml": configMap("keep", { value: "1" }),
      "root/prod.yaml": asYaml(prod(url, "apps/prod")),
      ...files?.(url),
    }),
  });

const evilFile = ({ forge }: Bot): FileChanges => ({ "root/prod.yaml": asYaml(prod(cloneUrlOf(forge), "apps/evil")) });

describe.each(HOSTS)("a definition that a child's own file gives it below a parent, on %s", (host) => {
  test("is not written by a sync of the parent alone while another pull request holds the child", async () => {
    const bot = await byFile(host);
    const other = await bot.open(changeOf(["prod"], "2"));
    const one = await bot.open(evilFile(bot));
    for (const command of COMMANDS) await expectRefused(bot, one, command, /`?prod`?: .*locked by/i);
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toContain("A sync of `root` would write the definition of `prod`");
    await bot.comment(other, "svc unlock");
    await bot.idle();
    bot.expectChanges("sync root", "sync prod");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync prod"]);
  });

  test("is not written by a sync of the parent alone where the lock of the child was released since", async () => {
    const bot = await byFile(host);
    const one = await bot.open(evilFile(bot));
    await bot.comment(one, "svc unlock -a prod");
    const free = /Its sync writes the definition of prod, which is no longer locked by this [PM]R/;
    for (const command of COMMANDS.slice(1)) await expectRefused(bot, one, command, free);
  });

  test("is planned and locked with the parent alone, where no plan came before", async () => {
    const bot = await byFile(host, { config: { defaults: { autoplan: false } } });
    const one = await bot.open(evilFile(bot));
    await bot.comment(one, "svc plan -a root");
    expect(section(bot.lastComment(one), "prod")).toMatch(/Locked by this [PM]R/);
    bot.expectChanges("sync root", "sync prod");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root", "sync prod"]);
    expect(bot.liveValue("prod")).toBe("evil");
  });

  test("is planned and locked with the parent alone where it changes labels, or where the parent drops it", async () => {
    const bot = await byFile(host, { config: { defaults: { autoplan: false } } });
    const labelled = prod(cloneUrlOf(bot.forge), "apps/prod", {}, { team: "shop" });
    const other = await bot.open(changeOf(["prod"], "2"));
    await bot.comment(other, "svc plan");
    for (const [file, command] of [
      [asYaml(labelled), "svc sync -a root"],
      [null, "svc sync -a root --prune"],
    ] as const) {
      const one = await bot.open({ "root/prod.yaml": file });
      await bot.comment(one, "svc plan -a root");
      await expectRefused(bot, one, command, /`?prod`?: .*locked by/i);
      await bot.comment(one, "svc unlock");
    }
    await bot.comment(other, "svc unlock");
    const one = await bot.open({ "root/prod.yaml": null });
    await bot.comment(one, "svc plan -a root");
    expect(section(bot.lastComment(one), "prod")).toMatch(/Locked by this [PM]R/);
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync -a root --prune");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("keeps no parent from its sync where Argo CD deploys the child by itself and the plan left it out", async () => {
    const bot = await byFile(host, { config: { defaults: { autoplan: false } } });
    const automated = { syncPolicy: { automated: {} } };
    const url = cloneUrlOf(bot.forge);
    bot.argocd.addApplication(prod(url, "apps/prod", automated));
    const one = await bot.open({ "root/prod.yaml": asYaml(prod(url, "apps/evil", automated)) });
    await bot.comment(one, "svc plan -a root");
    bot.expectChanges("sync root");
    await bot.approve(one);
    await bot.comment(one, "svc sync -a root");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(bot.lastComment(one)).not.toContain("waits for a sync of its own");
  });

  test("is not deleted by a sync of the parent that prunes while another pull request holds the child", async () => {
    const bot = await byFile(host);
    const other = await bot.open(changeOf(["prod"], "2"));
    const one = await bot.open({ "root/prod.yaml": null });
    for (const command of ["svc sync --prune", "svc sync -a root --prune"]) {
      await expectRefused(bot, one, command, "A sync of `root` would delete `prod`, so it waits for that lock");
    }
    await bot.comment(other, "svc unlock");
    await bot.idle();
    await bot.comment(one, "svc unlock -a prod");
    await expectRefused(bot, one, "svc sync --prune", "Its sync deletes prod, which is no longer locked by this");
    await bot.comment(one, "svc plan");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.lastComment(one)).not.toContain("wrote the new definition");
  });

  test("deletes nothing that a child with auto-sync prunes then while another pull request holds that", async () => {
    const mid = (repoURL: string, path: string) => {
      const spec = { syncPolicy: { automated: { prune: true } } };
      return { "root/mid.yaml": asYaml(applicationResource("mid", { repoURL, path, namespace: "argocd", spec })) };
    };
    const bot = await byFile(host, {
      files: (url) => ({
        "root/prod.yaml": null,
        ...mid(url, "mid"),
        "mid/keep.yaml": configMap("keep", { value: "1" }),
        "mid/prod.yaml": asYaml(applicationResource("prod", { repoURL: url, namespace: "argocd" })),
        "none/keep.yaml": configMap("keep", { value: "1" }),
      }),
    });
    bot.argocd.removeApplication("prod");
    await bot.argocd.deploy("root");
    await bot.argocd.deploy("mid");
    const other = await bot.open(changeOf(["prod"], "2"));
    const one = await bot.open(mid(cloneUrlOf(bot.forge), "none"));
    await bot.approve(one);
    const held = "A sync of `root` would delete `prod`, so it waits for that lock";
    for (const command of COMMANDS) await expectRefused(bot, one, command, held);
    await bot.comment(other, "svc unlock");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync -a root");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("is not deleted by a parent that prunes, whose kustomization drops it, while another pull request holds it", async () => {
    const bot = await byFile(host, { files: () => listing("prod.yaml", "keep.yaml") });
    const other = await bot.open(changeOf(["prod"], "2"));
    const one = await bot.open(listing("keep.yaml"));
    for (const command of ["svc sync --prune", "svc sync -a root --prune"]) {
      await expectRefused(bot, one, command, "A sync of `root` would delete `prod`, so it waits for that lock");
    }
    await bot.comment(other, "svc unlock");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync --prune");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("is not deleted by a parent that prunes, from which it was taken away earlier, while another pull request holds it", async () => {
    const bot = await byFile(host);
    await bot.forge.pushToBranch(REPOSITORY, "main", { "root/prod.yaml": null });
    await bot.argocd.deploy("root");
    const other = await bot.open(changeOf(["prod"], "2"));
    const one = await bot.open({ "root/more.yaml": configMap("more", { value: "1" }) });
    for (const command of ["svc sync --prune", "svc sync -a root --prune"]) {
      await expectRefused(bot, one, command, "A sync of `root` would delete `prod`, so it waits for that lock");
    }
    await bot.comment(other, "svc unlock");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync --prune");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test.each<[string, string, RegExp]>([
    ["require_approval: true", "svc sync --prune", /PR must be approved before sync/],
    ["allowed_users: [bo]", "svc sync --prune", /may not run `svc sync`/],
    ["allowed_users: [bo]", "svc sync --prune --dry-run", /may not run `svc sync`/],
    ["require_approval: true", "svc rollback --prune", /must be approved before/],
    ["allowed_users: [bo]", "svc rollback --prune", /may not run `svc rollback`/],
  ])(
    "is not deleted by a parent that prunes, from which it was taken away earlier, against its rule %s: `%s`",
    async (rule, command, refusal) => {
      const rules = { ".svc.yaml": `sync_requirements: [{name: prod, ${rule}}]\n` };
      const bot = await byFile(host, { files: () => rules });
      await bot.forge.pushToBranch(REPOSITORY, "main", { "root/prod.yaml": null });
      const destination = { server: "https://kubernetes.default.svc", namespace: "prod" };
      bot.argocd.addApplication(prod(cloneUrlOf(bot.forge), "apps/prod", { destination }));
      await bot.argocd.deploy("root");
      const one = await bot.open({ "root/more.yaml": configMap("more", { value: "1" }) });
      await expectRefused(bot, one, command, refusal);
      bot.expectChanges("sync root");
      await bot.comment(one, "svc sync");
      expect(bot.changes()).toEqual(["sync root"]);
      await bot.comment(one, command);
      expect(bot.argocd.application("prod")).toBeDefined();
    },
  );

  test.each<[string, string, boolean, RegExp]>([
    ["require_approval: true", "svc sync --prune", true, /PR must be approved before sync/],
    ["allowed_users: [bo]", "svc rollback --prune", true, /may not run `svc rollback`/],
    ["require_approval: true", "svc sync --prune", false, /succeeded/],
  ])(
    "goes with no application that such a parent deletes, against its rule %s: `%s`, if that has a finalizer: %s",
    async (rule, command, cascades, answer) => {
      const rules = { ".svc.yaml": `sync_requirements: [{name: shop, ${rule}}]\n` };
      const bot = await byFile(host, { files: () => rules });
      await bot.forge.pushToBranch(REPOSITORY, "main", { "root/prod.yaml": null });
      const repoURL = cloneUrlOf(bot.forge);
      const above = prod(repoURL, "apps/prod") as { readonly metadata: object };
      const finalizers = cascades ? ["resources-finalizer.argocd.argoproj.io"] : [];
      bot.argocd.addApplication({ ...above, metadata: { ...above.metadata, finalizers } });
      const annotations = { "argocd.argoproj.io/tracking-id": "prod:argoproj.io/Application:argocd/shop" };
      const spec = { destination: { server: "https://kubernetes.default.svc", namespace: "shop" } };
      bot.argocd.addApplication(applicationResource("shop", { repoURL, annotations, spec }));
      await bot.argocd.deploy("root");
      const one = await bot.open({ "root/more.yaml": configMap("more", { value: "1" }) });
      bot.expectChanges("sync root");
      if (command.startsWith("svc rollback")) await bot.comment(one, "svc sync");
      await bot.comment(one, command);
      expect(bot.lastComment(one)).toMatch(answer);
      expect(bot.argocd.application("prod") === undefined).toBe(!cascades);
    },
  );

  test("bars no parent that prunes, from which it was taken away earlier, if Prune=false keeps it", async () => {
    const bot = await byFile(host);
    const url = cloneUrlOf(bot.forge);
    await bot.forge.pushToBranch(REPOSITORY, "main", { "root/prod.yaml": null });
    const kept = prod(url, "apps/prod") as { readonly metadata: { readonly annotations: object } };
    const annotations = { ...kept.metadata.annotations, "argocd.argoproj.io/sync-options": "Prune=false" };
    bot.argocd.addApplication({ ...kept, metadata: { ...kept.metadata, annotations } });
    await bot.argocd.deploy("root");
    await bot.open(changeOf(["prod"], "2"));
    const one = await bot.open({ "root/more.yaml": configMap("more", { value: "1" }) });
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync --prune");
    expect(bot.changes()).toEqual(["sync root"]);
    expect(bot.argocd.application("prod")).toBeDefined();
  });

  test("is not deleted by a parent that prunes, from which it was taken away earlier, while it is held", async () => {
    const bot = await byFile(host);
    await bot.forge.pushToBranch(REPOSITORY, "main", { "root/prod.yaml": null });
    await bot.argocd.deploy("root");
    const one = await bot.open({ "root/more.yaml": configMap("more", { value: "1" }) });
    await bot.comment(one, "svc hold -a prod --reason migration");
    await expectRefused(bot, one, "svc sync --prune", /holds prod/);
  });

  test("is not created by a sync of the parent while another pull request holds its name", async () => {
    const bot = await byFile(host, { config: { defaults: { autoplan: false } } });
    const repoURL = cloneUrlOf(bot.forge);
    const young = (path: string): FileChanges => ({
      "root/young.yaml": asYaml(applicationResource("young", { repoURL, path, namespace: "argocd" })),
    });
    const other = await bot.open(young("apps/prod"));
    await bot.comment(other, "svc plan -a young");
    const one = await bot.open(young("apps/evil"));
    await bot.comment(one, "svc plan");
    await bot.approve(one);
    await expectRefused(bot, one, "svc sync", "A sync of `root` would write the definition of `young`");
    await bot.comment(other, "svc unlock");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("may get new labels from a second sync, although `skip_no_changes` has released the lock of the child", async () => {
    const bot = await byFile(host, { config: { defaults: { skip_no_changes: true } } });
    const labelled = prod(cloneUrlOf(bot.forge), "apps/prod", {}, { team: "shop" });
    const one = await bot.open({ "root/prod.yaml": asYaml(labelled) });
    bot.argocd.failNextSync("root", { phase: "Failed", message: "no room" });
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("no room");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.lastComment(one)).not.toContain("waits for a sync of its own");
  });
});
