import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { HOSTS, startBot, type Bot, type BotOptions } from "./bot.js";
import { section } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";

function secret(name: string, values: Readonly<Record<string, string>>): string {
  return stringify({ apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: values });
}

function encoded(name: string, values: Readonly<Record<string, string>>): string {
  const data = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")] as const);
  return stringify({ apiVersion: "v1", kind: "Secret", metadata: { name }, data: Object.fromEntries(data) });
}

/** Opens a pull request and gives what its plan says of `web`. */
async function planOf(bot: Bot, changes: Parameters<Bot["open"]>[0]): Promise<string> {
  return section(bot.lastComment(await bot.open(changes)), "web");
}

const KUSTOMIZED = { "apps/web/configmap.yaml": configMap("web", { value: "1" }) };

describe.each(HOSTS)("a plan names the Secrets whose values Argo CD hides, on %s", (host) => {
  const start = (files: Readonly<Record<string, string>>, more: Partial<BotOptions> = {}) =>
    startBot({ host, files: () => files, ...more });

  test("with the keys that change in a manifest of git, and no value anywhere", async () => {
    const lines: string[] = [];
    const values = { password: "old-s3cret", user: "us3r-name", gone: "g0ne-value" };
    const files = { "apps/web/secret.yaml": secret("login", values) };
    const bot = await start(files, { log: (line) => lines.push(line) });
    const next = { password: "new-s3cret", user: "us3r-name", token: "t0ken-value" };
    const one = await bot.open({ "apps/web/secret.yaml": encoded("login", next) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain(
      "Secret guestbook/login: changes password; adds token; removes gone (apps/web/secret.yaml); values are hidden",
    );
    expect(web).toContain("**Changes:** 0 to create, 1 to update");
    expect(web).toContain("-  password: (hidden, before the change)\n+  password: (hidden, after the change)");
    expect(web).toContain("   user: (hidden, unchanged)");
    const seen = JSON.stringify([bot.answers(one), lines, await bot.stores.plans.find(bot.ref(one))]);
    for (const value of [...Object.values(values), ...Object.values(next)]) {
      expect(seen).not.toContain(value);
      expect(seen).not.toContain(Buffer.from(value).toString("base64"));
    }
  });

  test("and not those that no changed file renders", async () => {
    const files = { "apps/web/secret.yaml": secret("login", { password: "old-s3cret" }) };
    const bot = await start(files);
    expect(await planOf(bot, changeOf(["web"]))).not.toContain("Secret");
    const remark = await planOf(bot, { "apps/web/configmap.yaml": `# a remark\n${configMap("web", { value: "1" })}` });
    expect(remark).toContain("No visible changes.");
    expect(remark).not.toContain("Secret");
  });

  test("one that moves to another file with its values is not mentioned, one of two in a file is", async () => {
    const both = (token: string) => `${secret("login", { password: "same-s3cret" })}---\n${secret("other", { token })}`;
    const bot = await start({ "apps/web/secrets.yaml": both("old-t0ken") });
    const web = await planOf(bot, { "apps/web/secrets.yaml": null, "apps/web/moved.yaml": both("new-t0ken") });
    expect(web).toContain("Secret guestbook/other: changes token (apps/web/secrets.yaml, apps/web/moved.yaml);");
    expect(web).not.toContain("login");
  });

  test("without keys where a chart renders it: the changed files that may have changed it", async () => {
    const template = secret("login", { password: "{{ .Values.password }}" });
    const bot = await start(
      {
        "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "charts/web/values.yaml": "password: old-s3cret\n",
        "charts/web/templates/login.yaml": template,
      },
      { resources: () => ({ web: { path: "charts/web" } }) },
    );
    const web = await planOf(bot, { "charts/web/values.yaml": "password: new-s3cret\n" });
    expect(web).toContain("No visible changes.");
    expect(web).toContain("Secret guestbook/login may change (charts/web/values.yaml); values are hidden");
  });

  test("with the keys that change in a file, a line or a literal that a kustomization generates it from", async () => {
    const kustomization = (literal: string) =>
      stringify({
        resources: ["configmap.yaml", "login.yaml"],
        namePrefix: "shop-",
        generatorOptions: { disableNameSuffixHash: true },
        secretGenerator: [{ name: "payments", literals: [literal], files: ["key=key.pem"], envs: ["payments.env"] }],
      });
    const bot = await start({
      ...KUSTOMIZED,
      "apps/web/kustomization.yaml": kustomization("mode=0ld-literal"),
      "apps/web/login.yaml": secret("login", { password: "old-s3cret" }),
      "apps/web/key.pem": "0ld-file",
      "apps/web/payments.env": "# a remark\nurl=same-url\ntoken=0ld-line\n",
    });
    const generated = await planOf(bot, {
      "apps/web/kustomization.yaml": kustomization("mode=n3w-literal"),
      "apps/web/key.pem": "n3w-file",
      "apps/web/payments.env": "url=same-url\ntoken=n3w-line\n",
    });
    expect(generated).toContain(
      "Secret guestbook/shop-payments: changes mode, key, token (apps/web/kustomization.yaml, ",
    );
    expect(generated).not.toContain("login");
    const written = await planOf(bot, { "apps/web/login.yaml": secret("login", { password: "new-s3cret" }) });
    expect(written).toContain("Secret guestbook/shop-login: changes password (apps/web/login.yaml); values are hidden");
    expect(written).not.toContain("payments");
  });

  test("with the keys of a generated one whose name ends in a hash, which replaces the one before", async () => {
    const kustomization = (literal: string) =>
      stringify({ resources: ["configmap.yaml"], secretGenerator: [{ name: "payments", literals: [literal, "a=b"] }] });
    const bot = await start({ ...KUSTOMIZED, "apps/web/kustomization.yaml": kustomization("token=old-t0ken") });
    const web = await planOf(bot, { "apps/web/kustomization.yaml": kustomization("token=new-t0ken") });
    expect(web).toContain("Secret guestbook/payments: changes token (apps/web/kustomization.yaml); values are hidden");
    expect(web).toContain("**Changes:** 1 to create, 0 to update");
  });

  test("without keys where a patch may change it as well", async () => {
    const patch = (path: string) =>
      stringify({
        resources: ["configmap.yaml", "login.yaml"],
        patches: [
          {
            patch: stringify([{ op: "replace", path, value: "bmV3LXMzY3JldA==" }]),
            target: { kind: "Secret", name: "login" },
          },
        ],
      });
    const bot = await start({
      ...KUSTOMIZED,
      "apps/web/kustomization.yaml": patch("/data/password"),
      "apps/web/login.yaml": encoded("login", { password: "old-s3cret", user: "us3r-name" }),
    });
    const web = await planOf(bot, { "apps/web/kustomization.yaml": patch("/data/user") });
    expect(web).toContain("Secret guestbook/login may change (apps/web/kustomization.yaml); values are hidden");
  });
});
