import { describe, expect, test } from "@jest/globals";
import { GITLAB_TOKEN } from "../../sandbox/world.js";
import { HOSTS, REPOSITORY, SECRET, startBot } from "../scenarios/bot.js";
import { asYaml, changeOf, configMap } from "../scenarios/resources.js";

describe.each(HOSTS)("what an attacker would like to read, on %s", (host) => {
  test("files of the machine behind links, paths that climb out, and variables are not read for a PR", async () => {
    const bot = await startBot({ host, git: true });
    const out = "../../../../../../../../etc/passwd";
    const variables = ["HOME", "PATH", "HOSTB_TOKEN", "HOSTA_WEBHOOK_SECRET"].map((name) => `\${${name}}`);
    const one = await bot.open({
      ...changeOf(["web"]),
      "apps/web/passwd.yaml": { symlink: "/etc/passwd" },
      "apps/web/climb.yaml": { symlink: out },
      "apps/web/git": { symlink: "../../.git/config" },
      "apps/api/kustomization.yaml": `resources: [configmap.yaml, ${out}]\n`,
      ".svc.yaml": `cr_paths: ["argocd/**", ${JSON.stringify(out)}, ${JSON.stringify(variables[0])}]\n`,
    });
    const two = await bot.open({
      ".svc.yaml": `applications: [{name: ${JSON.stringify(variables.join(" "))}, paths: ["**"]}]\n`,
    });
    const said = [...bot.answers(one), ...bot.answers(two)].join("\n");
    expect(said.length).toBeGreaterThan(0);
    expect(said).not.toContain("root:");
    for (const name of ["HOME", "PATH"]) expect(said).not.toContain(process.env[name] ?? "no such variable");
  });

  test("our own credentials stand in no comment, page or answer, whatever is sent and whatever fails", async () => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changeOf(["web"]));
    const ofHost = bot.forge.requests.findLast(({ authorization }) => authorization !== undefined)?.authorization ?? "";
    const secrets = [SECRET, GITLAB_TOKEN, bot.world.argocdToken, ofHost.replace(/^\S+ /, "")];
    expect(secrets.filter((secret) => secret.length < 8)).toEqual([]);
    // Servers that repeat what they were sent, as a proxy that is being debugged would.
    const echo = (header: string) => ({ kind: "status", status: 500, body: `Authorization: ${header}` }) as const;
    const argocd = echo(`Bearer ${bot.world.argocdToken}`);
    bot.argocd.faults.add({ path: /\/manifests$/, times: 6, fault: argocd });
    await bot.comment(one, "svc plan");
    bot.forge.faults.add({ path: /\/permission$|\/members\/all\//, times: 4, fault: echo(ofHost) });
    await bot.comment(one, "svc sync");
    bot.argocd.faults.add({ method: "POST", path: /\/sync$/, times: 3, fault: argocd });
    bot.expectChanges("sync web");
    await bot.push(one, changeOf(["web"], "3"));
    await bot.comment(one, "svc sync");
    const paths = ["/", "/health", "/ready", "/nothing", "/webhook/hosta", "/metrics", "/.env", "/../../etc/passwd"];
    const pages = await Promise.all(paths.map(async (path) => (await fetch(`${bot.service.url}${path}`)).text()));
    const said = [...bot.answers(one), ...pages, ...bot.forge.deliveries.map(({ body }) => body)].join("\n");
    expect(said).toContain("### Application: `web`");
    for (const secret of secrets) {
      for (const form of [secret, Buffer.from(secret).toString("base64"), encodeURIComponent(secret)]) {
        expect(said).not.toContain(form);
      }
    }
  });

  test("a Secret that a PR reads under another name or kind of encoding shows no value", async () => {
    const secret = (name: string, more: object) =>
      JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata: { name }, ...more });
    const bot = await startBot({
      host,
      git: true,
      files: () => ({ "apps/web/secret.yaml": secret("keys", { stringData: { token: "hunter2-before" } }) }),
    });
    const annotation = "kubectl.kubernetes.io/last-applied-configuration";
    const one = await bot.open({
      "apps/web/secret.yaml": secret("keys", {
        metadata: { name: "keys", annotations: { [annotation]: '{"stringData":{"token":"hunter2-after"}}' } },
        stringData: { token: "hunter2-after", "hunter2-key": "x" },
        data: { other: Buffer.from("hunter2-after").toString("base64") },
      }),
      "apps/web/list.yaml": JSON.stringify({
        apiVersion: "v1",
        kind: "List",
        items: [JSON.parse(secret("listed", { stringData: { token: "hunter2-listed" } })) as object],
      }),
      "apps/web/configmap.yaml": configMap("web", { value: "2" }),
    });
    const said = bot.answers(one).join("\n");
    expect(said).toContain("### Application: `web`");
    expect(said).not.toMatch(/hunter2-(?:before|after|listed)/);
    expect(said).not.toContain(Buffer.from("hunter2-after").toString("base64"));
  });

  test("credentials in an address of a repository are not repeated", async () => {
    const bot = await startBot({ host, git: true });
    const withPassword = bot.forge.cloneUrl(REPOSITORY).replace("://", "://ana:hunter2@");
    const one = await bot.open({
      "argocd/new.yaml": asYaml(bot.resourceOf("new", { repoURL: withPassword })),
      ...changeOf(["web"]),
    });
    await bot.push(one, { "argocd/web.yaml": asYaml(bot.resourceOf("web", { repoURL: `${withPassword}x` })) });
    const said = [...bot.answers(one), JSON.stringify(await bot.stores.plans.find(bot.ref(one)))].join("\n");
    expect(said).toContain("### Application: `new`");
    expect(said).not.toContain("hunter2");
  });
});
