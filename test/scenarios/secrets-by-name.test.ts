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

const PATCH = {
  patch: stringify([{ op: "replace", path: "/metadata/name", value: "login" }]),
  target: { kind: "Secret", name: "login" },
};

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
    expect(web).toContain(
      "Secret guestbook/login: cannot tell whether its values changed (charts/web/values.yaml); values are hidden",
    );
  });

  test.each<[string, object, string]>([
    ["generates it", { secretGenerator: [{ name: "login", files: ["password=secret.yaml"] }] }, "login"],
    ["patches it", { resources: ["secret.yaml"], patches: [PATCH] }, "login"],
    ["renders it", { resources: ["secret.yaml"] }, "login"],
  ])("without keys where a kustomization %s; skip_no_changes keeps the application", async (_, fields, name) => {
    const bot = await start(
      {
        "apps/web/kustomization.yaml": stringify({
          resources: [],
          generatorOptions: { disableNameSuffixHash: true },
          ...fields,
        }),
        "apps/web/secret.yaml": secret("login", { password: "old-s3cret" }),
      },
      { config: { defaults: { skip_no_changes: true } } },
    );
    const number = await bot.open({ "apps/web/secret.yaml": secret("login", { password: "new-s3cret" }) });
    const web = section(bot.lastComment(number), "web");
    expect(web).toContain(`Secret guestbook/${name}`);
    expect(web).toContain("cannot tell whether its values changed (apps/web/secret.yaml); values are hidden");
    expect(web).not.toContain("No changes");
    expect(await bot.locked(number)).toEqual(["web"]);
  });
});
