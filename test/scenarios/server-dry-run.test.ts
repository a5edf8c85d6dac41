import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { HOSTS, startBot, type Bot, type BotOptions } from "./bot.js";
import { section } from "./plan-comment.js";
import { asYaml, changeOf, configMap } from "./resources.js";

const ASKED = { applications: ["web"], config: { deployer: { server_dry_run: "auto" } } } as const;
const CALL = "/application.ApplicationService/ServerSideDiff";

function deployment(app: string, more: object = {}): string {
  return stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app } }, spec: { containers: [{ name: "main", image: "web:1" }] } },
      ...more,
    },
  });
}

async function deployed(options: BotOptions): Promise<Bot> {
  const bot = await startBot(options);
  await bot.argocd.deploy("web");
  return bot;
}

function asked(bot: Bot): number {
  return bot.argocd.requests.filter(({ path }) => path === CALL).length;
}

describe.each(HOSTS)("what Kubernetes says to a plan on %s", (host) => {
  test("a refusal stands in the plan with the cure; the sync is allowed, says so, and meets it", async () => {
    const secret = (value: string) =>
      stringify({ apiVersion: "v1", kind: "Secret", metadata: { name: "login" }, stringData: { password: value } });
    const bot = await deployed({
      host,
      ...ASKED,
      files: () => ({ "apps/web/deployment.yaml": deployment("web"), "apps/web/secret.yaml": secret("old") }),
    });
    const one = await bot.open({
      ...changeOf(["web"]),
      "apps/web/deployment.yaml": deployment("other"),
      "apps/web/secret.yaml": stringify({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "login" },
        stringData: { password: "new", more: "x" },
      }),
    });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain(
      "**Kubernetes:** will refuse 1 of 2 changed objects; not tried: Secret guestbook/login (its values are hidden)",
    );
    expect(web).toContain(
      "- Kubernetes will refuse apps/Deployment guestbook/web: spec.selector: field is immutable. " +
        "Let the sync replace it (argocd.argoproj.io/sync-options: Replace=true,Force=true), delete it first, or give it another name.",
    );
    expect(web).not.toContain("refuses to change spec.selector");
    expect(bot.lastComment(one)).toContain("⚠️ Kubernetes refuses to change apps/Deployment guestbook/web");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("**Result:** ❌ the operation failed");
    expect(bot.lastComment(one)).toContain(
      "⚠️ The plan said that Kubernetes will refuse apps/Deployment guestbook/web: spec.selector: field is immutable.",
    );
    expect(bot.lastComment(one)).toContain("· fix the cause, then `svc sync`");
    expect(bot.lastComment(one)).not.toContain("go on knowing");
  });

  test("what it accepts is told, its opinion on changes is not: a removed member stays a change", async () => {
    const bot = await deployed({ host, ...ASKED, files: () => ({ "apps/web/deployment.yaml": deployment("web") }) });
    const one = await bot.open({ "apps/web/deployment.yaml": deployment("web", { replicas: undefined }) });
    const web = section(bot.lastComment(one), "web");
    expect(web).not.toContain("**Kubernetes:**");
    expect(web).toContain("-  replicas: 2");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(asked(bot)).toBe(1);
    const reads = bot.argocd.requests.filter(({ path }) => /managed-resources|api\/version/.test(path));
    expect(reads.map(({ path }) => path.split("/").at(-1)).sort()).toEqual(["managed-resources", "version"]);
    await bot.push(one, { "apps/web/deployment.yaml": deployment("web", { replicas: 3 }) });
    expect(asked(bot)).toBe(2);
    expect(bot.argocd.requests.filter(({ path }) => path === "/api/version")).toHaveLength(1);
  });

  test("a refusal that may come of what the sync removes is no prophecy", async () => {
    const rolling = { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } };
    const bot = await deployed({
      host,
      ...ASKED,
      files: () => ({ "apps/web/deployment.yaml": deployment("web", rolling) }),
    });
    const one = await bot.open({ "apps/web/deployment.yaml": deployment("web", { strategy: { type: "Recreate" } }) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Kubernetes:** may refuse 1 of 1 changed object");
    expect(web).toContain(
      "Kubernetes may refuse apps/Deployment guestbook/web: spec.strategy.rollingUpdate: Forbidden",
    );
    expect(web).toContain("so the sync may still work.");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.lastComment(one)).not.toContain("The plan said");
  });

  test("of many objects each is told apart, hooks and new namespaces are not tried, words of a policy are escaped", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [`apps/web/m${at}.yaml`, configMap(`m${at}`, { a: "1" })]),
    );
    const bot = await deployed({ host, ...ASKED, files: () => files });
    bot.argocd.addAdmissionRule(({ data }, { name }) =>
      JSON.stringify(data).includes("bad")
        ? `admission webhook "policy.example.com" denied the request: @ana **${name}** <b>`
        : undefined,
    );
    const changes = Object.fromEntries(
      Object.keys(files).map((file, at) => [file, configMap(`m${at}`, { a: at % 4 === 1 ? "bad" : "2" })]),
    );
    const one = await bot.open({
      ...changes,
      "apps/web/hook.yaml": stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "hook", annotations: { "argocd.argoproj.io/hook": "PreSync" } },
      }),
      "apps/web/space.yaml": stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "fresh" } }),
      "apps/web/inside.yaml": stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "in", namespace: "fresh" },
      }),
      "apps/web/other.yaml": stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "in", namespace: "kube-system" },
      }),
    });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("will refuse 2 of 9 changed objects; not tried: ");
    expect(web).toContain("ConfigMap guestbook/hook (a hook)");
    expect(web).toContain("ConfigMap fresh/in (this sync creates its namespace)");
    for (const name of ["m1", "m5"]) {
      expect(web).toContain(
        `Kubernetes will refuse ConfigMap guestbook/${name}: admission webhook "policy.example.com" denied the request: @\u200bana \\*\\*${name}\\*\\* &lt;b&gt;`,
      );
    }
  });

  test("an Argo CD that tries only what an application has already is asked about that alone", async () => {
    const names = Array.from({ length: 80 }, (_, at) => `m${at}`);
    const files = (value: string, all: readonly string[]) =>
      Object.fromEntries(all.map((name) => [`apps/web/${name}.yaml`, configMap(name, { a: value })]));
    const old = names.filter((_, at) => at % 2 === 0);
    const bot = await deployed({ host, ...ASKED, argocd: { version: "v3.3.19" }, files: () => files("1", old) });
    bot.argocd.addAdmissionRule((_, { name }) =>
      name === "m22" ? 'admission webhook "policy.example.com" denied the request: no' : undefined,
    );
    const one = await bot.open(files("2", names));
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("will refuse 1 of 40 changed objects; not tried: ");
    expect(web).toContain(
      "ConfigMap guestbook/m1, ConfigMap guestbook/m11, ConfigMap guestbook/m13 and 37 more (new, and this Argo CD tries only what the application has already)",
    );
    expect(web).not.toContain("too many");
    expect(asked(bot)).toBeLessThan(16);
  });
});

describe("when Kubernetes cannot be asked, the plan says why", () => {
  const host = "hosta";

  test.each<[string, Partial<BotOptions>, (bot: Bot) => void, string]>([
    [
      "Argo CD is too old",
      { argocd: { version: "v3.1.9" } },
      () => undefined,
      "was not asked: Argo CD 3.1 cannot try objects in the cluster; 3.2 or newer can",
    ],
    [
      "the cluster cannot be reached",
      {},
      (bot) =>
        bot.argocd.addAdmissionRule(
          () => 'Get "https://10.0.0.1:443/api": dial tcp 10.0.0.1:443: connect: connection refused',
        ),
      "was not asked: Argo CD cannot reach the cluster: ",
    ],
    [
      "something in front of Argo CD knows no gRPC-Web",
      {},
      (bot) =>
        void bot.argocd.faults.add({ path: /ServerSideDiff/, fault: { kind: "status", status: 404, body: "<html>" } }),
      "was not asked: gRPC-Web does not get through to Argo CD",
    ],
  ])("%s", async (_, options, prepare, sentence) => {
    const bot = await deployed({ host, ...ASKED, ...options });
    prepare(bot);
    const one = await bot.open(changeOf(["web"]));
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain(`**Kubernetes:** ${sentence}`);
    expect(web).toContain('+  value: "2"');
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("no question about the cluster that an application moves to goes to the one that it runs in", async () => {
    const bot = await deployed({ host, ...ASKED });
    const destination = { server: "https://other.example.com", namespace: "guestbook" };
    const one = await bot.open({
      ...changeOf(["web"]),
      "argocd/web.yaml": asYaml(bot.resourceOf("web", { spec: { destination } })),
    });
    expect(section(bot.lastComment(one), "web")).toContain("Moves from the cluster https");
    expect(bot.lastComment(one)).not.toContain("**Kubernetes:**");
    expect(asked(bot)).toBe(0);
  });

  test("server_dry_run: off asks nothing", async () => {
    const bot = await deployed({ host, applications: ["web"] });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).not.toContain("Kubernetes");
    expect(asked(bot)).toBe(0);
  });
});
