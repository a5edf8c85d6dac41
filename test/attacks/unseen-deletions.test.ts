import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, USUAL_RENDERS } from "../scenarios/bot.js";
import { section } from "../scenarios/plan-comment.js";
import { asYaml, changeOf, configMap } from "../scenarios/resources.js";

const OLD = { "apps/web/old.yaml": configMap("old", { value: "1" }) };

describe.each(HOSTS)("what an earlier pull request left in the cluster on %s", (host) => {
  test.each([
    { prune: false, command: "svc sync --prune", how: "a sync with --prune deletes them" },
    { prune: true, command: "svc sync", how: "a sync deletes them" },
  ])("is named by the next plan where $how", async ({ prune, command, how }) => {
    const bot = await startBot({
      host,
      applications: ["web"],
      files: () => OLD,
      config: { ...USUAL_RENDERS, defaults: { prune, auto_merge: true } },
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/web/old.yaml": null });
    await bot.argocd.deploy("web");
    const destination = { server: "https://other.example.com:6443", namespace: "guestbook" };
    const moved = await bot.open({ "argocd/web.yaml": asYaml(bot.resourceOf("web", { spec: { destination } })) });
    expect(section(bot.lastComment(moved), "web")).toContain("stays there unmanaged");
    expect(section(bot.lastComment(moved), "web")).not.toContain("The cluster has");
    await bot.close(moved);
    const one = await bot.open(changeOf(["web"]));
    const web = section(bot.lastComment(one), "web");
    expect(web).not.toContain("**Deletes:**");
    expect(web).toContain(`${how}, except those with the sync option Prune=false: ConfigMap guestbook/old.`);
    // No ApplicationSet is among what goes.
    bot.clock.advance(600_000);
    bot.argocd.faults.add({ path: /\/applicationsets(\?|$)/, fault: { kind: "status", status: 403, body: "{}" } });
    bot.expectChanges("sync web");
    await bot.comment(one, command);
    expect(bot.liveValue("old")).toBeUndefined();
  });

  test("is named all the same where the pull request brings a hook of that name, which keeps nothing", async () => {
    const bot = await startBot({
      host,
      applications: ["web"],
      config: USUAL_RENDERS,
      files: () => OLD,
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/web/old.yaml": null });
    await bot.argocd.deploy("web");
    const metadata = { name: "old", annotations: { "helm.sh/hook": "test" } };
    const hook = asYaml({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { value: "1" } });
    const one = await bot.open({ "apps/web/old.yaml": hook });
    expect(section(bot.lastComment(one), "web")).toContain(
      "deletes them, except those with the sync option Prune=false: ConfigMap guestbook/old.",
    );
  });

  test("is no hook, which no sync prunes, and nothing of what Argo CD could not compare", async () => {
    const annotations = { "argocd.argoproj.io/hook": "PreSync" };
    const hook = asYaml({ apiVersion: "batch/v1", kind: "Job", metadata: { name: "migrate", annotations }, spec: {} });
    const kept = { "apps/new/kept.yaml": configMap("kept", { value: "1" }), "apps/new/hook.yaml": hook };
    const bot = await startBot({
      host,
      applications: ["web"],
      files: () => ({ "apps/web/kept.yaml": configMap("kept", { value: "1" }), "apps/web/hook.yaml": hook }),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const one = await bot.open(changeOf(["web"]));
    expect(section(bot.lastComment(one), "web")).not.toContain("The cluster has");
    const two = await bot.open({ ...kept, "argocd/web.yaml": asYaml(bot.resourceOf("web", { path: "apps/new" })) });
    await bot.comment(one, "svc unlock");
    bot.expectChanges("update web", "sync web");
    await bot.comment(two, "svc sync");
    await bot.comment(two, "svc plan");
    expect(bot.argocd.application("web")?.status.sync).toMatchObject({ status: "Unknown" });
    expect(section(bot.lastComment(two), "web")).not.toContain("The cluster has");
  });
});

describe.each(HOSTS)("a claim that a controller made, and that comes into the files on %s", (host) => {
  test.each<[string, string, Readonly<Record<string, string>>]>([
    ["as a hook", "first, since it is a hook", { "argocd.argoproj.io/hook": "PreSync" }],
    [
      "as a hook that goes once it has run",
      "once it has succeeded, since it is a hook",
      { "argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": "HookSucceeded" },
    ],
    [
      "as a hook that no sync runs",
      "in a sync that prunes, since it is a hook that no sync runs",
      { "argocd.argoproj.io/hook": "PostDelete" },
    ],
    [
      "to be replaced",
      "first, because of Force=true",
      { "argocd.argoproj.io/sync-options": "Replace=true,Force=true" },
    ],
  ])("%s is named as deleted", async (_, when, annotations) => {
    const bot = await startBot({ host, applications: ["web"] });
    const metadata = { name: "data-web-0", annotations };
    const claim = asYaml({ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec: {} });
    const one = await bot.open({ "apps/web/claim.yaml": claim });
    expect(section(bot.lastComment(one), "web")).toContain(
      `- If the cluster already has PersistentVolumeClaim guestbook/data-web-0, deletes it ${when}: its data is lost`,
    );
  });
});
