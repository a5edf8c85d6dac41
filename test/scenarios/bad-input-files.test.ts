import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { asYaml, changeOf } from "./resources.js";

const CANNOT_BE_USED = "`.svc.yaml` cannot be used, so nothing is planned or deployed:";

function aliasBomb(): string {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const values = Array.from({ length: 10 }, () => (level === 0 ? "x" : `*a${level - 1}`));
    return `b${level}: &a${level} [${values.join(", ")}]`;
  });
  return `${levels.join("\n")}\ncr_paths: *a11\n`;
}

const REPOSITORY_FILES: readonly (readonly [string, string | { readonly symlink: string }, string])[] = [
  ["not YAML", "a: [\n}", "not valid YAML"],
  ["an alias bomb", aliasBomb(), "more than 20000 values"],
  ["nested without end", "a: ".concat("[".repeat(20_000)), "nested too deeply"],
  ["a glob made to hang the matcher", `cr_paths: ["${"{a,aa}".repeat(40)}"]\n`, "more than 16 patterns"],
  ["a glob of another kind", 'cr_paths: ["+(+(a))b"]\n', "patterns such as `+(…)` are not supported"],
  ["a glob of many stars", `cr_paths: ["${"*a".repeat(20)}"]\n`, "more than 3 `*` between two slashes"],
  ["a list", "- a\n", "must hold keys with values"],
  ["a symlink out of the repository", { symlink: "../../../../etc/passwd" }, "it is a link or a folder"],
];

describe.each(HOSTS)("files of strangers on %s", (host) => {
  test("a repository file that is not YAML, an alias bomb, a glob made to hang the matcher, a link", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const answers: Record<string, string> = {};
    for (const [name, file] of REPOSITORY_FILES) {
      await bot.push(one, { ".svc.yaml": null });
      await bot.push(one, { ".svc.yaml": file });
      answers[name] = bot.lastComment(one);
    }
    for (const [name, , problem] of REPOSITORY_FILES) {
      expect([name, answers[name]]).toEqual([name, expect.stringContaining(CANNOT_BE_USED)]);
      expect([name, answers[name]]).toEqual([name, expect.stringContaining(problem)]);
    }
    await bot.push(one, { ".svc.yaml": null });
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(section(bot.lastComment(one), "web")).toContain("Locked by this PR");
  });

  test("globs that other matchers hang on are matched in no time", async () => {
    const worst = [`${"**/".repeat(60)}x`, `${"**/*a*a*b/".repeat(20)}x`, `${"{a,b}".repeat(4)}/**/*a*a*b`];
    const slow = `cr_paths: ${JSON.stringify(["argocd/**", ...worst])}\n`;
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": slow, [`${"a".repeat(200)}.txt`]: "1" }) });
    const one = await bot.open({ ...changeOf(["web"]), [`${"a".repeat(200)}/${"a/".repeat(40)}z`]: "1" });
    expect(section(bot.lastComment(one), "web")).toContain("**Status:** Locked by this PR");
  });

  test("manifests with templates in them, 10,000 documents, a symlink out of the repository", async () => {
    const template = [
      "apiVersion: argoproj.io/v1alpha1",
      "kind: Application",
      "metadata: {name: {{ .Values.name }} }",
      "{{- if .Values.on }}",
      "spec: {}",
      "{{- end }}",
    ].join("\n");
    const documents = (value: string) =>
      Array.from(
        { length: 10_000 },
        (_, index) => `kind: ConfigMap\nmetadata: {name: c${index}}\ndata: {v: "${value}"}\n`,
      );
    const bot = await startBot({
      host,
      files: () => ({
        "charts/web/templates/app.yaml": template,
        "many/all.yaml": documents("1").join("---\n"),
        "argocd/link.yaml": { symlink: "../../../../../etc/passwd" },
        "argocd/self.yaml": { symlink: "self.yaml" },
      }),
      prepare: async ({ argocd }) => argocd.allowLeavingLinks(),
    });
    const one = await bot.open({
      ...changeOf(["web"]),
      "charts/web/templates/app.yaml": template.replace("spec", "spec2"),
      "many/all.yaml": [...documents("2"), asYaml(bot.resourceOf("last"))].join("---\n"),
      "argocd/link.yaml": { symlink: "/etc/hostname" },
      "argocd/api.yaml": { symlink: "../../../../../etc/passwd" },
    });
    const plan = bot.lastComment(one);
    expect(section(plan, "web")).toContain("**Status:** Locked by this PR");
    expect(planned(plan)).toContain("last");
    expect(plan).not.toContain("root:");
    expect(planned(plan)).not.toContain("c1");
  });
});
