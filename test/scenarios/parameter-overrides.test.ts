import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { asYaml } from "./resources.js";

const CHART = {
  "apps/web/configmap.yaml": null,
  "apps/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
  "apps/web/values.yaml": 'value: "1"\ncolor: red\n',
  "apps/web/templates/web.yaml":
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  value: "{{ .Values.value }}"\n  color: "{{ .Values.color }}"\n',
  "apps/web/.argocd-source-web.yaml": "helm: { parameters: [{ name: color, value: green }] }\n",
};

describe.each(HOSTS)("parameters overridden by the application's name on %s", (host) => {
  test("hold in the preview of a changed definition, as they do once it is deployed", async () => {
    const bot = await startBot({ host, files: () => CHART });
    const source = { repoURL: bot.forge.cloneUrl(REPOSITORY), path: "apps/web", targetRevision: "main" };
    const changed = { source: { ...source, helm: { valuesObject: { value: "2", color: "blue" } } } };
    const one = await bot.open({ "argocd/web.yaml": asYaml(bot.resourceOf("web", { spec: changed })) });
    const plan = bot.lastComment(one);
    expect(plan).toContain('-  value: "1"\n+  value: "2"');
    expect(plan).not.toContain("+  color");
    expect(bot.argocd.temporaryApplications()).toEqual([]);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.argocd.application("web")?.spec.source?.helm).toEqual(changed.source.helm);
    expect([bot.liveValue("web"), bot.liveValue("web", "color")]).toEqual(["2", "green"]);

    // The target branch's definition is a temporary one now, and has the target branch's override.
    await bot.push(one, {
      "apps/web/.argocd-source-web.yaml": "helm: { parameters: [{ name: color, value: blue }] }\n",
    });
    expect(bot.lastComment(one)).toContain('-  color: green\n-  value: "1"\n+  color: blue\n+  value: "2"');
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });
});
