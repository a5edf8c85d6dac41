import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { renderPlan } from "../../src/comments/plan.js";
import type { ManifestDiff, ResourceChange } from "../../src/core/model/plan/manifest-diff.js";
import type { ApplicationPlan } from "../../src/core/model/plan/plan.js";
import {
  compared,
  evaluated,
  LINKS,
  resource,
  sampleApplication,
  sampleCheck,
  sampleLock,
  samplePlan,
  WORDS,
} from "./samples.js";

const options = { words: WORDS.hosta, pruning: false, links: LINKS, comments: "all" } as const;
const hunk = (value: number) => `@@ -4 +4 @@\n-  replicas: 1\n+  replicas: ${value}`;

function changed(name: string, value: number, more: Partial<ApplicationPlan> = {}): ApplicationPlan {
  const diff = resource(`apps/Deployment ${name}/web`, "update", hunk(value));
  return sampleApplication(name, { ...evaluated([diff]), ...more });
}

function shown(...applications: readonly ApplicationPlan[]): string {
  return renderPlan(samplePlan(applications), options).join("\n");
}

/** The text of one application, without the collapsible around it. */
function blockOf(comment: string, name: string): string {
  return comment.split(/\n(?=### |---\n)/).find((part) => part.startsWith(`### Application: \`${name}\`\n`)) ?? "";
}

describe("applications with the same change", () => {
  const comment = shown(changed("a", 2), changed("b", 2), changed("c", 3), changed("d", 2));

  test("show it once, and stand in one collapsible right after the first of them", () => {
    expect(comment.split(hunk(2))).toHaveLength(2);
    expect(comment).toMatch(
      /\n### Application: `a`\n[^]*<details><summary>2 more with the same change<\/summary>\n\n### Application: `b`\n[^]*### Application: `d`\n[^]*<\/details>\n\n### Application: `c`/,
    );
  });

  test("each keep their block, and say what it is about where the objects have other names", () => {
    expect(blockOf(comment, "b")).toBe(
      "### Application: `b`\n\n**Changes:** 0 to create, 1 to update\n\n" +
        "<details><summary>Diff (1 resource changed)</summary>\n\n" +
        "Same as `a`, here in:\n\n```\n apps/Deployment b/web\n```\n\n</details>\n\n**Status:** Locked by this PR\n",
    );
  });

  test("are not folded where there is something else to tell", () => {
    const warned = shown(changed("a", 2), changed("b", 2, { warnings: ["runs another commit"] }));
    expect(warned).not.toContain("more with the same change");
    expect(blockOf(warned, "b")).toContain("Same as `a`");
    const defined = shown(changed("a", 2), changed("b", 2, { definition: "+spec: {}" }));
    expect(defined).not.toContain("more with the same change");
  });

  test.each<[string, Partial<ResourceChange>]>([
    ["in part", { whole: false }],
    ["by what happens", { action: "create" }],
    ["by being a hook", { hook: true }],
    ["by kind", { kind: "StatefulSet" }],
  ])("are not told to be the same if they may differ %s", (_, more) => {
    const one = resource("apps/Deployment a/web", "update", hunk(2));
    const other = { ...one, ...more };
    const [left, right] = [sampleApplication("a", evaluated([one])), sampleApplication("b", evaluated([other]))];
    expect(shown(left, right)).not.toContain("Same as");
    expect(shown(right, left)).not.toContain("Same as");
  });
});

describe("new applications", () => {
  const added = (name: string, text: string, more: Partial<ManifestDiff> = {}): ApplicationPlan => {
    const diff = resource("apps/Deployment web", "create", `@@ -0,0 +1 @@\n+image: ${text}`);
    return sampleApplication(name, {
      kind: "new",
      sourceFile: `apps/${name}.yaml`,
      preview: compared([diff], more),
    });
  };

  test("that are alike are told in one row and folded below the first, each with its block", () => {
    const comment = shown(added("a", "1"), added("b", "1"), added("c", "2"), added("d", "1"), changed("e", 2));
    expect(comment).toContain("\n| `a`, `b` and 2 more | new with 1 resource |");
    expect(comment).toContain("<details><summary>3 more new applications</summary>\n\n### Application: `b` (new)");
    for (const name of ["a", "b", "c", "d"]) expect(comment).toContain(`\n### Application: \`${name}\` (new)\n`);
    expect(comment.match(/Same as `a`/g)).toHaveLength(2);
    expect(comment).toContain("+image: 2");
  });

  test.each<[string, ApplicationPlan]>([
    ["has a caution", added("b", "1", { cautions: ["creates Namespace b"] })],
    ["is dangerous", added("b", "1", { dangers: [{ what: "takes over ConfigMap a", pruning: false }] })],
    ["is warned about", { ...added("b", "1"), warnings: ["look"] }],
    ["is locked by another", { ...added("b", "1"), lock: { kind: "held", by: sampleLock("b", 9, "bo") } }],
    [
      "could not be previewed",
      sampleApplication("b", {
        kind: "new",
        sourceFile: undefined,
        preview: { kind: "failed", reason: "no such chart" },
      }),
    ],
  ])("stand open in a row of their own if one %s", (_, special) => {
    const comment = shown(added("a", "1"), special, added("c", "1"), changed("e", 2));
    expect(comment).toMatch(/\n\| `b` \|/);
    expect(comment).toContain("<details><summary>1 more new application</summary>\n\n### Application: `c` (new)");
  });
});

test("what does not change is folded if there is more than one of it", () => {
  const same = (name: string) => sampleApplication(name, evaluated([]));
  expect(shown(same("a"), changed("b", 2))).not.toContain("without changes");
  const comment = shown(same("a"), changed("b", 2), same("c"));
  expect(comment).toMatch(
    /### Application: `b`\n[^]*<details><summary>2 without changes<\/summary>\n\n### Application: `a`/,
  );
});

test("applications with dangers come first and open", () => {
  const deleting = resource("PersistentVolumeClaim z/data", "delete", "@@ -1 +0,0 @@\n-kind: PersistentVolumeClaim");
  const dangers = [{ what: "deletes PersistentVolumeClaim z/data", pruning: true }];
  const comment = shown(changed("a", 2), sampleApplication("z", evaluated([deleting], { dangers })));
  expect([...comment.matchAll(/^### Application: `(.)`/gm)].map(([, name]) => name)).toEqual(["z", "a"]);
  expect(blockOf(comment, "z")).toContain("<details open><summary>Diff (1 resource changed)</summary>");
  expect(blockOf(comment, "a")).toContain("<details><summary>Diff (1 resource changed)</summary>");
  expect(comment).toContain(
    "| [`z`](<https://argocd.example.com/applications/z>) | 1 deleted with --prune | ⚠️ deletes PersistentVolumeClaim z/data with --prune |\n| [`a`]",
  );
});

/** The names in each line of the table; what is counted there stands as `+n`. */
function rowsIn(comment: string): readonly (readonly string[])[] {
  const lines = comment.split("\n").filter((line) => line.startsWith("| [`"));
  return lines.map((line) => {
    const [cell = ""] = line.slice(2).split(" | ");
    const more = /and (\d+) more$/.exec(cell)?.[1];
    return [...[...cell.matchAll(/\[`([^`]+)`\]/g)].map(([, name]) => name ?? ""), ...(more ? [`+${more}`] : [])];
  });
}

describe("the lines of the table", () => {
  test("tell alike applications together, and each keeps its folded block", () => {
    const comment = shown(
      changed("a", 2),
      changed("b", 2),
      changed("c", 2),
      changed("d", 2),
      sampleApplication("e", evaluated([])),
    );
    expect(rowsIn(comment)).toEqual([["a", "b", "+2"], ["e"]]);
    for (const name of ["a", "b", "c", "d"]) expect(blockOf(comment, name)).toContain("**Status:** Locked by this PR");
  });

  const dangers = [{ what: "deletes Namespace x", pruning: false }];
  const danger = (name: string) =>
    sampleApplication(name, evaluated([resource(`apps/Deployment ${name}/web`, "update", hunk(2))], { dangers }));
  test.each<[string, ApplicationPlan]>([
    ["is dangerous", danger("b")],
    [
      "has a caution",
      sampleApplication("b", evaluated([resource("apps/Deployment b/web", "update", hunk(2))], { cautions: ["look"] })),
    ],
    ["is warned about", changed("b", 2, { warnings: ["look"] })],
    ["is locked by another", changed("b", 2, { lock: { kind: "held", by: sampleLock("b", 9, "bo") } })],
    [
      "failed a check",
      sampleApplication("b", {
        ...evaluated([resource("apps/Deployment b/web", "update", hunk(2))]),
        checks: [sampleCheck("lint", { kind: "failed", reason: "exit code 1", output: "" })],
      }),
    ],
  ])("never hide an application that %s among those that are not", (_, special) => {
    for (const all of [
      [changed("a", 2), special, changed("c", 2)],
      [special, changed("a", 2), changed("c", 2)],
    ]) {
      const comment = shown(...all, sampleApplication("e", evaluated([])));
      expect(rowsIn(comment)).toContainEqual(["b"]);
      // Its block stands open.
      const folded = [
        ...comment.matchAll(
          /<summary>\d+ more with the same change<\/summary>[^]*?\n<\/details>\n\n(?=###|---|<details>)/g,
        ),
      ];
      for (const [text] of folded) expect(text).not.toContain("### Application: `b`");
    }
  });

  test("are left out where they would only repeat names", () => {
    expect(shown(changed("a", 2), changed("b", 2))).not.toContain("\n|");
    expect(shown(changed("a", 2), changed("b", 3)).split("\n")[2]).toBe(
      "**2 applications, 2 resources change** · [`a`](<https://argocd.example.com/applications/a>), [`b`](<https://argocd.example.com/applications/b>)",
    );
  });
});

test("whatever is planned, each application has one block and at most one line of the table, dangerous ones their own, and refers only to an equal diff", () => {
  const one = fc.record({
    value: fc.nat(2),
    dangerous: fc.boolean(),
    warned: fc.boolean(),
    whole: fc.boolean(),
    empty: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(one, { minLength: 2, maxLength: 12 }), (all) => {
      const plans = all.map(({ value, dangerous, warned, whole, empty }, index) => {
        const change = { ...resource(`ConfigMap n${index}/a`, "update", hunk(value)), whole };
        const dangers = dangerous ? [{ what: `changes n${index}`, pruning: false }] : [];
        const planned = evaluated(empty ? [] : [change], { dangers });
        return sampleApplication(`app${index}`, { ...planned, warnings: warned ? ["look"] : [] });
      });
      const comment = shown(...plans);
      const rows = rowsIn(comment);
      const counts = rows.flat().map((name) => (name.startsWith("+") ? Number(name) : 1));
      if (rows.length > 0) expect(counts.reduce((sum, count) => sum + count, 0)).toBe(all.length);
      for (const [index, { value, dangerous, warned }] of all.entries()) {
        const own = rows.filter((names) => names.includes(`app${index}`));
        expect(own.length).toBeLessThan(2);
        if ((dangerous || warned) && rows.length > 0) expect(own).toEqual([[`app${index}`]]);
        expect(comment.split(`\n### Application: \`app${index}\`\n`)).toHaveLength(2);
        const like = /Same as `app(\d+)`/.exec(blockOf(comment, `app${index}`))?.[1];
        if (like !== undefined) expect(all[Number(like)]).toMatchObject({ value, whole: true, empty: false });
      }
    }),
  );
});

test("a name with bars and backslashes stays in its cell", () => {
  const comment = shown(changed("a|b\\|c\\\\|d", 2), sampleApplication("e", evaluated([])));
  const lines = comment.split("\n").filter((line) => line.startsWith("| "));
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line.replace(/\\\|/g, "").match(/\|/g)).toHaveLength(3);
});
