import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseComment } from "../../../src/core/commands/parse-command.js";
import type { Command } from "../../../src/core/model/command.js";
import { SERVICE } from "../../../src/names.js";

const plan: Command = { name: "plan", applications: [] };
const sync: Command = { name: "sync", applications: [], dryRun: false, prune: false };

describe("a comment that is a command", () => {
  test.each<[string, Command]>([
    ["svc plan", plan],
    ["  svc   plan  ", plan],
    ["SVC Plan", plan],
    ["\n\n svc plan\nand some prose behind it", plan],
    ["> quoted\n\nsvc sync", sync],
    ["```\nsvc unlock\n```\nsvc sync", sync],
    ["~~~~\nsvc unlock\n~~~\n~~~~\nsvc sync", sync],
    ["svc sync\r\n> svc plan", sync],
    ["> quoted\r\n\r\nsvc sync", sync],
    ["> > quoted\n\nsvc sync", sync],
    ["- a list\n\nsvc sync", sync],
    ["## Now\nsvc sync", sync],
    ["    code\nsvc sync", sync],
    ["> a `<b>` in code\n\nsvc sync", sync],
    ["svc sync\nplease\n\n<details>why</details>", sync],
    ["svc sync --dry-run", { ...sync, dryRun: true }],
    ["svc sync --Prune -a web", { ...sync, prune: true, applications: ["web"] }],
    ["svc plan -a web --app team-a/shop -a=web", { name: "plan", applications: ["web", "team-a/shop"] }],
    ["svc rollback --app=web --dry-run", { name: "rollback", applications: ["web"], dryRun: true, prune: false }],
    ["svc unlock -a web", { name: "unlock", applications: ["web"] }],
    ["svc sync -a search,web -a api", { ...sync, applications: ["search", "web", "api"] }],
    ["svc sync -a 'team-*'", { ...sync, applications: ["team-*"] }],
    [`svc sync --app="team-*",'web'`, { ...sync, applications: ["team-*", "web"] }],
    ["svc plan -a *", { name: "plan", applications: ["*"] }],
    ["svc plan -a {a,b}-*,argocd/we?", { name: "plan", applications: ["{a,b}-*", "argocd/we?"] }],
    ["svc sync -a label:team=shop", { ...sync, applications: ["label:team=shop"] }],
    [
      "svc plan -a=label:app.kubernetes.io/part-of=Shop_2,web",
      {
        name: "plan",
        applications: ["label:app.kubernetes.io/part-of=Shop_2", "web"],
      },
    ],
    ["svc sync web", { ...sync, applications: ["web"], bare: true }],
    ["svc sync --dry-run please", { ...sync, dryRun: true, applications: ["please"], bare: true }],
    ["svc unlock team-a/web", { name: "unlock", applications: ["team-a/web"], bare: true }],
    ["svc help", { name: "help" }],
    [
      `svc hold -a 'prod-*',web --reason "database  migration = slow" --until 18:00`,
      { name: "hold", applications: ["prod-*", "web"], reason: "database migration = slow", until: "18:00" },
    ],
    ["svc hold --reason='a b' -a web", { name: "hold", applications: ["web"], reason: "a b", until: "" }],
    ["svc hold --reason “it's on” -a web", { name: "hold", applications: ["web"], reason: "it's on", until: "" }],
    [
      "svc hold --reason migration web",
      { name: "hold", applications: ["web"], reason: "migration", until: "", bare: true },
    ],
    ["svc release", { name: "release", applications: [] }],
    ["svc release -a web", { name: "release", applications: ["web"] }],
  ])("%j", (body, command) => {
    expect(parseComment(body, SERVICE)).toEqual({ kind: "command", command });
  });
});

describe("a comment that begins with the command word and is no command", () => {
  test.each([
    "svc",
    "svc frobnicate",
    "svc frobnicate --dry-run",
    "svc -a web sync",
    "svc deploy",
    "svc sync please now",
    "svc sync web --dry-run",
    "svc sync -a api web",
    "svc sync web=api",
    "svc sync Web",
    "svc sync team-*",
    "svc sync -a web,",
    "svc sync -a ,",
    "svc sync -a ''",
    "svc sync -a 'web",
    "svc sync -a 'search, web'",
    "svc sync -a !web",
    "svc sync -a [a-z]*",
    "svc sync label:team=shop",
    "svc sync -a team=shop",
    "svc sync -a label:team",
    "svc sync -a label:team=",
    "svc sync -a label:=shop",
    "svc sync -a label:team=shop=web",
    "svc sync -a label:team=sh*p",
    "svc sync -a label:-team=shop",
    "svc sync -a label:a/b/c=shop",
    "svc sync -a label:Example.com/team=shop",
    `svc sync -a label:team=${"x".repeat(64)}`,
    `svc sync ${Array.from({ length: 11 }, (_, index) => `-a label:team=${index}`).join(" ")}`,
    "svc sync -a ****",
    "svc sync -a web\\*",
    "svc sync -a ${a,b}",
    `svc sync ${Array.from({ length: 11 }, (_, index) => `-a ${"x".repeat(index)}*`).join(" ")}`,
    "svc help web",
    `svc hold -a web --reason "no end`,
    `svc hold -a web --reason "`,
    "svc hold -a web --reason",
    "svc hold -a web --reason --until 2h",
    "svc hold -a web --reason a b c",
    "svc hold -a web --reason a --reason b",
    "svc sync --reason a",
    "svc plan --dry-run",
    "svc unlock --prune",
    "svc sync -a",
    "svc sync -a ../../etc",
    "svc sync -a `web`",
    "svc sync --dry-run=false",
    "svc help -a web",
    "svc sync \u202e-a bew",
    "svc sy\u200bnc",
  ])("%j", (body) => {
    expect(parseComment(body, SERVICE)).toMatchObject({ kind: "not-a-command" });
  });
});

describe("another command word", () => {
  test.each<[string, Command]>([
    ["argo-cd sync", sync],
    ["ARGO-CD Plan", plan],
  ])("%j", (body, command) => {
    expect(parseComment(body, "argo-cd")).toEqual({ kind: "command", command });
  });
  test("makes the usual one a word like any other", () => {
    expect(parseComment("svc sync", "argo-cd")).toBeUndefined();
    expect(parseComment("argo sync", "argo-cd")).toBeUndefined();
    expect(parseComment("argo-cd-x sync", "argo-cd")).toBeUndefined();
  });
});

describe("a comment that is not ours", () => {
  test.each([
    "",
    "looks good",
    "please run svc plan",
    "svc-bot plan",
    "svc: plan",
    "/svc plan",
    "/merge",
    "> svc sync",
    "```\nsvc sync\n```",
    "```\nsvc sync",
    "    svc sync",
    "\tsvc sync",
    "On Monday ana wrote:\nsvc sync",
    "svc selector does not match the labels of the pods",
    "svc helm chart is broken",
    "svc is down",
    "svc - the one in shop - has no endpoints",
    "-- \nsvc sync",
    "<b>svc sync</b>",
    "`svc sync`",
    "@team svc sync",
    "\u202esvc sync",
    "nothing\nsvc sync",
  ])("%j", (body) => {
    expect(parseComment(body, SERVICE)).toBeUndefined();
  });
});

test("no text makes the parser throw, and what it accepts has only names that Kubernetes allows", () => {
  const pieces = fc.array(
    fc.constantFrom(
      "svc",
      "sync",
      "plan",
      "-a",
      "--app=",
      "web",
      "web,*",
      "label:team=shop",
      "label:",
      "'",
      " ",
      "\n",
      "```",
      "> ",
      "--dry-run",
      "\u202e",
      "🚀",
    ),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        pieces.map((list) => list.join(" ")),
      ),
      (body) => {
        const parsed = parseComment(body, SERVICE);
        if (parsed?.kind !== "command" || !("applications" in parsed.command)) return;
        for (const name of parsed.command.applications) {
          expect(name).toMatch(/^[a-z0-9*?{][a-z0-9./*?{},-]*$|^label:[a-zA-Z0-9./_-]+=[a-zA-Z0-9._-]+$/);
        }
      },
    ),
  );
});
