import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { applicationResource, asYaml } from "./resources.js";

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
function startFamily(host: (typeof HOSTS)[number], template = "{{ .Values.size }}"): Promise<Bot> {
  return startBot({
    host,
    applications: ["root", "child"],
    resources: (repoURL) => ({
      root: { spec: { destination: DESTINATION } },
      child: {
        annotations: { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/child" },
        spec: {
          source: { repoURL, path: "apps/child", targetRevision: "main", helm: { valuesObject: { size: "s" } } },
        },
      },
    }),
    files: (repoURL) => ({
      "argocd/child.yaml": null,
      ...chart(
        "apps/root",
        "size: s\nproject: default\n",
        asYaml(child(repoURL, template, { project: "{{ .Values.project }}" })),
      ),
      ...chart("apps/child", "size: xs\n", COLORED("red")),
    }),
  });
}

const BIGGER = { "apps/root/values.yaml": "size: m\nproject: default\n" };
const BLUE = { "apps/child/templates/all.yaml": COLORED("blue") };

describe.each(HOSTS)("a child follows its parent on %s", (host) => {
  test("planned with the definition that the parent's head gives it, and deployed after the parent", async () => {
    const bot = await startFamily(host);
    const one = await bot.open({ ...BIGGER, ...BLUE });
    const plan = bot.lastComment(one);
    expect(plan).toContain("-  color: red\n-  size: s\n+  color: blue\n+  size: m");
    expect(plan).toContain("root gives it at this commit");
    expect(plan).not.toContain("both sides render the same");
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

  test("previewed below the parent where only its definition changes, after an approval where that reads more", async () => {
    const bot = await startFamily(host);
    const one = await bot.open(BIGGER);
    expect(bot.lastComment(one)).toContain("### Applications below `root`");
    expect(bot.lastComment(one)).toContain("-  size: s\n+  size: m");
    expect(bot.argocd.temporaryApplications()).toEqual([]);

    bot.argocd.addProject("secret", {});
    await bot.push(one, { "apps/root/values.yaml": "size: l\nproject: secret\n" });
    expect(bot.lastComment(one)).toContain("could not be previewed");
    expect(bot.lastComment(one)).toContain("the project secret");
    expect(bot.lastComment(one)).not.toContain("+  size: l");
    await bot.approve(one);
    await bot.idle();
    expect(bot.lastComment(one)).toContain("-  size: s\n+  size: l");
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });
});
