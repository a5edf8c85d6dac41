import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { renderPlan } from "../../src/comments/plan.js";
import type { ResourceChange } from "../../src/core/model/manifest-diff.js";
import type { ApplicationPlan } from "../../src/core/model/plan.js";
import { evaluated, LINKS, resource, sampleApplication, samplePlan, WORDS } from "./samples.js";

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
    "| [`z`](<https://argocd.example.com/applications/z>) | 1 deleted with --prune | ⚠️ deletes PersistentVolumeClaim z/data with --prune | locked by this PR |\n| [`a`]",
  );
});

test("whatever is planned, each application has one block and one line of the table, and refers only to an equal diff", () => {
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
      for (const [index, { value }] of all.entries()) {
        expect(comment.split(`\n### Application: \`app${index}\`\n`)).toHaveLength(2);
        expect(comment.split(`\n| [\`app${index}\`]`)).toHaveLength(2);
        const like = /Same as `app(\d+)`/.exec(blockOf(comment, `app${index}`))?.[1];
        if (like !== undefined) expect(all[Number(like)]).toMatchObject({ value, whole: true, empty: false });
      }
    }),
  );
});

test("a name with bars and backslashes stays in its cell", () => {
  const comment = shown(changed("a|b\\|c\\\\|d", 2), changed("e", 3));
  const lines = comment.split("\n").filter((line) => line.startsWith("| "));
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line.replace(/\\\|/g, "").match(/\|/g)).toHaveLength(5);
});
