import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { HOSTS, startBot } from "./bot.js";
import { section } from "./plan-comment.js";
import { applicationResource, changeOf, configMap } from "./resources.js";
import { cloneUrlOf } from "./sets.js";

function hook(image: string): string {
  return stringify({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "migrate", annotations: { "argocd.argoproj.io/hook": "PreSync" } },
    spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "migrate", image }] } } },
  });
}

describe.each(HOSTS)("what a plan shows on %s", (host) => {
  test("deletes have their own line, with what becomes of them without --prune, and stand first", async () => {
    const bot = await startBot({ host, files: () => ({ "apps/web/old.yaml": configMap("old", { value: "1" }) }) });
    const one = await bot.open({ "apps/web/old.yaml": null, ...changeOf(["web"]) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain(
      "**Changes:** 0 to create, 1 to update\n\n**Deletes:** 1 to delete (kept in the cluster without --prune)\n",
    );
    expect(web).toContain("Diff (2 resources changed)");
    expect(web.indexOf("# delete: ConfigMap guestbook/old")).toBeLessThan(web.indexOf("# update: ConfigMap"));
    expect(web).toContain("# delete: ConfigMap guestbook/old");
  });

  test("with defaults.prune the line of deletes has no such reservation", async () => {
    const bot = await startBot({
      host,
      config: { defaults: { prune: true } },
      files: () => ({ "apps/web/old.yaml": configMap("old", { value: "1" }) }),
    });
    const one = await bot.open({ "apps/web/old.yaml": null });
    expect(section(bot.lastComment(one), "web")).toContain("**Deletes:** 1 to delete\n");
  });

  test("an application that runs before the target branch has its folder is compared with nothing", async () => {
    const bot = await startBot({
      host,
      prepare: ({ argocd }, forge) =>
        argocd.addApplication(applicationResource("fresh", { repoURL: cloneUrlOf(forge), path: "apps/fresh" })),
    });
    const one = await bot.open({ "apps/fresh/configmap.yaml": configMap("fresh", { value: "1" }) });
    expect(section(bot.lastComment(one), "fresh")).toContain("**Changes:** 1 to create, 0 to update");
    bot.expectChanges("sync fresh");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("fresh")).toBe("1");
  });

  test("a changed hook is shown and not counted as created or updated", async () => {
    const bot = await startBot({ host, files: () => ({ "apps/web/migrate.yaml": hook("migrate:1") }) });
    const one = await bot.open({ "apps/web/migrate.yaml": hook("migrate:2") });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 0 to create, 0 to update\n\n**Hooks:** 1 changed\n");
    expect(web).toMatch(
      /# update \(hook\): batch\/Job guestbook\/migrate[^]*\+ +image: migrate:2|\+ +- image: migrate:2/,
    );
    expect(web).not.toContain("the target branch render the same");
  });
});
