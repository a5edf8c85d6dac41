import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "../scenarios/bot.js";
import { section } from "../scenarios/plan-comment.js";
import { asYaml } from "../scenarios/resources.js";

/** A blank for JavaScript, and none for Go. */
const BOM = "\ufeff";
/** A blank for Go, and none for JavaScript. */
const NEXT_LINE = "\u0085";

function object(kind: string, name: string, annotations: Readonly<Record<string, string>>): string {
  return asYaml({ apiVersion: "v1", kind, metadata: { name, annotations }, data: { value: "1" } });
}

describe.each(HOSTS)("an annotation that only Argo CD reads as it is on %s", (host) => {
  test("does not keep a hook out of the plan", async () => {
    const bot = await startBot({ host, applications: ["web"] });
    const annotations = { "argocd.argoproj.io/hook": `Skip${BOM}`, "helm.sh/hook": "pre-install" };
    const one = await bot.open({ "apps/web/hook.yaml": object("ConfigMap", "hook", annotations) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Hooks:** 1 changed");
    expect(web).toContain("Runs the new hook ConfigMap guestbook/hook (PreSync).");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("hook")).toBe("1");
  });

  test("does not make a plan promise that an object stays", async () => {
    const kept = object("PersistentVolumeClaim", "data", { "argocd.argoproj.io/sync-options": `Prune=false${BOM}` });
    const bot = await startBot({
      host,
      applications: ["web"],
      files: () => ({ "apps/web/data.yaml": kept }),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const one = await bot.open({ "apps/web/data.yaml": null });
    expect(bot.lastComment(one)).toContain("deletes PersistentVolumeClaim guestbook/data with --prune");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync --prune");
    expect(bot.argocd.liveObject("PersistentVolumeClaim", "guestbook", "data")).toBeUndefined();
  });

  test("does not keep an object from being named as deleted and created anew", async () => {
    const claim = (annotations: Readonly<Record<string, string>>) =>
      object("PersistentVolumeClaim", "data", annotations);
    const bot = await startBot({
      host,
      applications: ["web"],
      files: () => ({ "apps/web/data.yaml": claim({}) }),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const forced = { "argocd.argoproj.io/sync-options": `Replace=true,Force=true${NEXT_LINE}` };
    const one = await bot.open({ "apps/web/data.yaml": claim(forced) });
    expect(bot.lastComment(one)).toContain("deletes and recreates PersistentVolumeClaim guestbook/data");
  });

  test("does not hide that what becomes a hook that no sync runs is deleted", async () => {
    const claim = (hook: string) => object("PersistentVolumeClaim", "data", { "helm.sh/hook": hook });
    const bot = await startBot({
      host,
      applications: ["web"],
      files: () => ({ "apps/web/data.yaml": claim("crd-install") }),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const one = await bot.open({ "apps/web/data.yaml": claim("crd-install ") });
    expect(bot.lastComment(one)).toContain("deletes PersistentVolumeClaim guestbook/data with --prune");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync --prune");
    expect(bot.argocd.liveObject("PersistentVolumeClaim", "guestbook", "data")).toBeUndefined();
  });
});
