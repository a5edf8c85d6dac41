import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { HOSTS, startBot, type Bot } from "../scenarios/bot.js";
import { asYaml, changeOf } from "../scenarios/resources.js";

const REQUIRED = { defaults: { require_approval: true, auto_merge: true } };
const UNAPPROVED = "PR must be approved before sync";

/** Ways to write a definition that Argo CD reads; `json` is the definition as JSON. */
const SPELLINGS: readonly (readonly [string, (json: string) => FileChanges])[] = [
  ["with an escape", (json) => ({ "argocd/w.yaml": json.replace('"Application"', '"\\x41pplication"') })],
  ["with a long escape", (json) => ({ "argocd/w.yaml": json.replace("argoproj", "\\U00000061rgoproj") })],
  ["over two lines", (json) => ({ "argocd/w.yaml": json.replace("Application", "Appli\\\n     cation") })],
  ["with a slash that is escaped", (json) => ({ "argocd/w.yaml": json.replace("argoproj.io/", "argoproj.io\\/") })],
  ["in Base64", (json) => ({ "argocd/w.yaml": json.replace('"Application"', "!!binary QXBwbGljYXRpb24=") })],
  [
    "as an alias",
    (json) => ({ "argocd/w.yaml": json.replace("{", '{"x": &k "\\x41pplication",').replace('"Application"', "*k") }),
  ],
  [
    "merged into it",
    (json) => ({ "argocd/w.yaml": json.replace('"kind": "Application"', '<<: {kind: "\\u0041pplication"}') }),
  ],
  ["in a JSON file", (json) => ({ "argocd/w.json": json })],
  ["in a JSON file with escapes", (json) => ({ "argocd/w.json": json.replace("Application", "\\u0041pplication") })],
  ["as an item of another kind", (json) => ({ "argocd/w.yml": `{apiVersion: v1, kind: ConfigMap, items: [${json}]}` })],
  ["behind a link", (json) => ({ "argocd/w.yaml": { symlink: "w.txt" }, "argocd/w.txt": json })],
  ["behind the end of a line that is not ASCII", (json) => ({ "argocd/w.yaml": `# a\u2028${json}` })],
  ["behind a carriage return alone", (json) => ({ "argocd/w.yaml": `# a\r${json}` })],
  ["behind a mark at the start of a document", (json) => ({ "argocd/w.yaml": `a: b\n---\n\ufeff${json}` })],
  ["with braces in a comment", (json) => ({ "argocd/w.yaml": `${json}#{{ x }}` })],
  ["by a handle of a tag, behind \\x85", (json) => ({ "argocd/w.yaml": `\x85${tagged(json, "\x85")}` })],
  ["by a handle of a tag, behind a mark", (json) => ({ "argocd/w.yaml": `\ufeff${tagged(json, "\x85")}` })],
  ["behind strange space", (json) => ({ "argocd/w.yaml": `a: b\n---\u00a0\n\u3000${json}` })],
];

/** A kind that no text spells out. */
function tagged(json: string, lineEnd: string): string {
  return `%TAG !e! tag:yaml.org,2002:bin${lineEnd}--- ${json.replace('"Application"', "!e!ary QXBwbGljYXRpb24=")}`;
}

/** Ways to write one that svc does not read as Argo CD does, and that it therefore refuses. */
const REFUSED: readonly (readonly [string, (json: string) => FileChanges])[] = [
  ["braces behind a document", (json) => ({ "argocd/w.yaml": `${json}{{ x }}` })],
  ["a merge that overrides", () => ({ "argocd/w.yaml": block("x: &x {kind: Application}\nkind: ConfigMap\n<<: *x") })],
  ["a handle of a tag", (json) => ({ "argocd/w.yaml": tagged(json, "\n") })],
  ["a document that only some tools read", (json) => ({ "argocd/w.yaml": `a: b\n...\n${json}` })],
  ["a number that svc cannot compare", (json) => ({ "argocd/w.yaml": json.replace("{", '{"x": 9007199254740993,') })],
  ["two bytes for a letter", (json) => ({ "argocd/w.yaml": Array.from(json).join("\0") })],
  ["a number as a name", () => ({ "argocd/w.yaml": block("kind: Application").replace("web", "0x1F") })],
];

function block(kind: string): string {
  return `${kind}\nmetadata: {name: web}\napiVersion: argoproj.io/v1alpha1\n`;
}

/** `web` runs, and no file describes it yet. */
function start(host: (typeof HOSTS)[number]): Promise<Bot> {
  return startBot({ host, config: REQUIRED, files: () => ({ "argocd/web.yaml": null }) });
}

describe.each(HOSTS)("a definition that is hidden from the scan, on %s", (host) => {
  test("by the way it is written is found, and needs the approval of its application", async () => {
    const bot = await start(host);
    const json = asYaml(bot.resourceOf("web", { path: "apps/api" }));
    for (const [how, files] of SPELLINGS) {
      const one = await bot.open(files(json));
      expect([how, await bot.locked(one)]).toEqual([how, ["web"]]);
      await bot.comment(one, "svc sync");
      expect([how, bot.lastComment(one)]).toEqual([how, expect.stringContaining(UNAPPROVED)]);
      expect([how, bot.changes(), bot.seen(one).state]).toEqual([how, [], "open"]);
      await bot.close(one);
    }
  });

  test("by what parsers read differently stops its PR, which names the file", async () => {
    const bot = await start(host);
    const json = asYaml(bot.resourceOf("web", { path: "apps/api" }));
    for (const [how, files] of REFUSED) {
      const one = await bot.open({ ...files(json), ...changeOf(["api"]) });
      await bot.approve(one);
      await bot.comment(one, "svc sync");
      const [plan] = bot.answers(one);
      expect([how, plan]).toEqual([how, expect.stringContaining("each may hold an Application:\n- `argocd/w.yaml`: ")]);
      expect([how, bot.lastComment(one)]).toEqual([
        how,
        expect.stringMatching(/Nothing was deployed\.|is synced or merged while they are in it/),
      ]);
      expect([how, bot.changes(), bot.seen(one).state]).toEqual([how, [], "open"]);
      await bot.close(one);
    }
  });
});
