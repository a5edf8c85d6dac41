import { describe, expect, test } from "@jest/globals";
import { writtenCommand } from "../../../src/comments/refusal.js";
import { parseComment } from "../../../src/core/commands/parse-command.js";
import { suggestionOf } from "../../../src/core/commands/selection.js";
import { SERVICE } from "../../../src/names.js";

const KNOWN = ["api", "search", "web", "team-a", "argocd/shop"];

function suggested(body: string, known: readonly string[] = KNOWN): string | undefined {
  const parsed = parseComment(body, SERVICE);
  if (parsed?.kind !== "not-a-command") throw new Error(`${body} is ${parsed?.kind ?? "not ours"}`);
  return parsed.guess && writtenCommand(suggestionOf(parsed.guess, known), SERVICE);
}

describe("the command that a mistyped line comes nearest to", () => {
  test.each([
    ["svc synk", "svc sync"],
    ["svc\u00a0sync", "svc sync"],
    ["svc\u3000plan -a web", "svc plan -a web"],
    ["svc sync\u00a0--dry-run", "svc sync --dry-run"],
    ["svc snyc -a web", "svc sync -a web"],
    ["svc Sync!", "svc sync"],
    ["svc plna", "svc plan"],
    ["svc roll-back", "svc rollback"],
    ["svc unlok web", "svc unlock -a web"],
    ["svc hlep", "svc help"],
    ["svc --help", "svc help"],
    ["svc help me", "svc help"],
    ["svc apply", "svc sync"],
    ["svc deploy everything", "svc sync"],
    ["svc diff", "svc plan"],
    ["svc undo web", "svc rollback -a web"],
    ["svc sync --dryrun", "svc sync --dry-run"],
    ["svc sync --dry_run --prun", "svc sync --dry-run --prune"],
    ["svc sync —dry-run", "svc sync --dry-run"],
    ["svc sync –a web", "svc sync -a web"],
    ["svc sync -dry", "svc sync --dry-run"],
    ["svc sync --application web", "svc sync -a web"],
    ["svc sync --apps web,api", "svc sync -a web -a api"],
    ["svc sync dryrun web", "svc sync -a web --dry-run"],
    ["svc snyc -a wbe", "svc sync -a web"],
    ["svc sync web --dry-run", "svc sync -a web --dry-run"],
    ["svc sync web, serach and api.", "svc sync -a web -a search -a api"],
    ["svc sync -a search, web", "svc sync -a search -a web"],
    ["svc sync -a api web", "svc sync -a api -a web"],
    ["svc sync -a 'search, web'", "svc sync -a search -a web"],
    ["svc sync `web`", "svc sync -a web"],
    ["svc sync WEB", "svc sync -a web"],
    ["svc sync team-*", "svc sync -a 'team-*'"],
    ["svc sync label:team=Shop", "svc sync -a label:team=Shop"],
    ["svc synk -a label:team=shop,wbe", "svc sync -a label:team=shop -a web"],
    ["svc sync -a team=shop", "svc sync -a label:team=shop"],
    ["svc sync `app.kubernetes.io/part-of=shop`.", "svc sync -a label:app.kubernetes.io/part-of=shop"],
    ["svc plan other-*", "svc plan"],
    ["svc sync web?", "svc sync -a web"],
    ["svc sync please do", "svc sync"],
  ])("%j", (body, expected) => {
    expect(suggested(body)).toBe(expected);
  });

  test.each([
    "svc",
    "svc frobnicate",
    "svc sync -a",
    "svc sync -a --dry-run",
    "svc sync -n",
    "svc sync --force",
    "svc sync --dry-run=false",
    "svc plan --dry-run",
    "svc unlock -dry-run",
    "svc sync \u202e-a bew",
    "svc sync one two three four five six seven eight nine ten eleven",
  ])("%j is left without one, rather than with one that leaves out a part", (body) => {
    expect(suggested(body)).toBeUndefined();
  });

  test("takes no time over a great many applications", () => {
    const many = Array.from({ length: 20_000 }, (_, index) => `application-${index}`);
    expect(suggested("svc snyc application-123 applicatoin-124", many)).toBe("svc sync -a application-123");
  });
});

test.each([
  `svc hold -a web --reason 'say "hi" first' --until 2h`,
  `svc hold -a web --reason "it's late" --until 2h`,
  `svc hold -a web --reason “two words”`,
])("a command is written as it can be given again: %s", (body) => {
  const parsed = parseComment(body, SERVICE);
  if (parsed?.kind !== "command") throw new Error(`${body} is no command`);
  expect(parseComment(writtenCommand(parsed.command, SERVICE), SERVICE)).toEqual(parsed);
});
