import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readMarker } from "../../src/comments/marker.js";
import { MAX_PARTS } from "../../src/comments/plan-layout.js";
import { renderPlan } from "../../src/comments/plan.js";
import type { ApplicationPlan, Plan } from "../../src/core/model/plan/plan.js";
import { shareOf } from "../share-of.js";
import {
  compared,
  evaluated,
  HEAD,
  LINKS,
  preview,
  resource,
  sampleApplication,
  samplePlan,
  sampleSet,
  WORDS,
} from "./samples.js";

const PAGE = "https://svc.example.com/changes/github/acme/deploy/7";
const LIMIT = WORDS.hosta.maxComment;
const all = { words: WORDS.hosta, pruning: false, links: LINKS, comments: "all" } as const;
const one = { ...all, links: { ...LINKS, page: PAGE }, comments: "one" } as const;

/** A diff of about 100 characters per line. */
const long = (lines: number, text = "x") =>
  `@@ -1 +1,${lines} @@\n${Array.from({ length: lines }, (_, at) => `+  k${at}: ${text.repeat(90)}\n`).join("")}`;
const many = (count: number, lines: number) =>
  Array.from({ length: count }, (_, at) => resource(`ConfigMap ns/c${at}`, "create", long(lines)));
const dangerous = (name: string, diff: string): ApplicationPlan =>
  sampleApplication(
    name,
    evaluated([resource("PersistentVolumeClaim ns/data", "delete", diff)], {
      cautions: [`pruning PersistentVolumeClaim ns/data of ${name}: its data is lost`],
      dangers: [{ what: "deletes PersistentVolumeClaim ns/data", pruning: true }],
    }),
  );

/** Every line of a diff stands in a fence of its own part. */
function expectClosed(part: string): void {
  expect(part.length).toBeLessThanOrEqual(LIMIT);
  expect((part.match(/^```/gm) ?? []).length % 2).toBe(0);
  expect(part.match(/<details/g)?.length).toBe(part.match(/<\/details>/g)?.length);
}

describe("comments.plan: all", () => {
  test("a long plan is split into parts that are closed and found again, and nothing of it is lost", () => {
    const parts = renderPlan(
      samplePlan([
        sampleApplication("web", evaluated(many(30, 60))),
        sampleApplication("api", evaluated(many(29, 60))),
      ]),
      all,
    );
    parts.forEach((part, index) => {
      expectClosed(part);
      expect(readMarker(part)).toMatchObject({ kind: "plan", head: HEAD, part: index + 1 });
      expect(part).toContain(`(part ${index + 1} of ${parts.length})`);
    });
    expect(parts.join("\n").match(/^\+ {2}k/gm)).toHaveLength(59 * 60);
  });

  test("there are no more parts than needed, and of about the same length", () => {
    const parts = renderPlan(samplePlan([sampleApplication("web", evaluated(many(11, 270)))]), all);
    const length = parts.join("").length;
    expect(parts).toHaveLength(Math.ceil(length / (LIMIT - 1000)));
    expect(Math.min(...parts.map((part) => part.length))).toBeGreaterThan((0.8 * length) / parts.length);
  });

  test("a diff that is longer than a comment goes on in the next one, under its title", () => {
    const parts = renderPlan(
      samplePlan([sampleApplication("web", evaluated([resource("ConfigMap ns/big", "create", long(900))]))]),
      all,
    );
    expect(parts).toHaveLength(2);
    for (const part of parts) expectClosed(part);
    expect(parts[1]).toContain(
      "### Application: `web` (continued)\n\n<details><summary>Diff (1 resource changed) (continued)</summary>\n\n```diff\n# create: ConfigMap ns/big (continued)\n+  k",
    );
    expect(parts.join("\n").match(/^\+ {2}k/gm)).toHaveLength(900);
  });

  test("no plan posts more than a handful of comments; what is left out is named", () => {
    const parts = renderPlan(samplePlan([sampleApplication("web", evaluated(many(60, 500)))]), all);
    expect(parts.length).toBeLessThanOrEqual(MAX_PARTS);
    expect(parts.join("\n")).toMatch(/more changed resources are too long to show here:/);
    expect(parts.join("\n")).toContain("ConfigMap ns/c59");
  });

  const names = Array.from({ length: 5000 }, (_, at) => `application-${at}`);
  const added = (name: string) =>
    sampleApplication(name, {
      kind: "new",
      sourceFile: `argocd/${name}.yaml`,
      preview: { kind: "beyond-limit", limit: 100 },
    });

  test.each<[string, Plan]>([
    ["new applications", samplePlan(names.map(added))],
    ["dangerous ones", samplePlan(names.map((name) => dangerous(name, `-${name}\n`)))],
    [
      "applications that the merge adds",
      samplePlan([sampleApplication("web", evaluated(many(1, 2)))], {
        previews: names.map((name) => preview(name, "added", compared([resource("Job ns/a", "create", `+${name}\n`)]))),
      }),
    ],
    [
      "ApplicationSets",
      samplePlan(names.slice(0, 2).map(added), { applicationSets: names.map((name) => sampleSet(name)) }),
    ],
    [
      "folds that fill a comment each",
      samplePlan(
        Array.from({ length: 16 }, (_, at) => resource("ConfigMap ns/c", "update", `-${at}\n`)).flatMap((change, at) =>
          names.slice(at * 300, at * 300 + 300).map((name) => sampleApplication(name, evaluated([change]))),
        ),
      ),
    ],
  ])("five thousand %s make eight comments at most, and the others are counted", (_, plan) => {
    for (const options of [all, { ...all, links: one.links }]) {
      const parts = renderPlan(plan, options);
      expect(parts.length).toBeLessThanOrEqual(MAX_PARTS);
      for (const part of parts) expectClosed(part);
      const where = options === all ? "" : `; log in to read \\[their plan\\]\\(<${PAGE}>\\)`;
      expect(parts.join("\n")).toMatch(
        new RegExp(
          `\\d+ more (?:applications|ApplicationSets).* are not shown here for lack of room${where}: \\\`application-`,
        ),
      );
    }
  });

  test("a part never holds less than the headings that it repeats", () => {
    const plans = fc.array(fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 12 }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(plans, (applications) => {
        const plan = samplePlan(
          applications.map((sizes, at) =>
            sampleApplication(
              `app-${at}`,
              evaluated(
                sizes.map((lines, index) => resource(`ConfigMap ns/c${index}`, "update", long(lines, `${at % 9}`))),
              ),
            ),
          ),
        );
        const parts = renderPlan(plan, all);
        for (const part of parts) {
          expectClosed(part);
          const content = part
            .replace(/^<!--.*-->\n/, "")
            .replace(/^##+ .*$/gm, "")
            .trim();
          if (parts.length > 1) expect(content.length).toBeGreaterThan(1000);
        }
      }),
      { numRuns: shareOf(50) },
    );
  });
});

describe("comments.plan: one", () => {
  test("the smallest diffs are shown, the others are on the page, and dangers are told whatever their size", () => {
    const plan = samplePlan([
      sampleApplication("web", evaluated([resource("ConfigMap ns/big", "update", long(700)), ...many(3, 20)])),
      dangerous("db", long(700, "y")),
      sampleApplication("api", evaluated([resource("ConfigMap ns/small", "update", "@@ -1 +1 @@\n-a: 1\n+a: 2\n")])),
    ]);
    const parts = renderPlan(plan, one);
    expect(parts).toHaveLength(1);
    const [comment = ""] = parts;
    expectClosed(comment);
    expect(comment).toContain("Pruning PersistentVolumeClaim ns/data of db: its data is lost.");
    expect(comment).toContain("+a: 2");
    for (const at of [0, 1, 2]) expect(comment).toContain(`# create: ConfigMap ns/c${at}\n`);
    const left = `more changed resource is too long to show here; log in to read [their diff](<${PAGE}>):`;
    expect(comment).toMatch(/# … \d+ more lines are not shown|more changed resource/);
    expect(comment).toContain(left);
  });

  test("of a single long diff the beginning is shown", () => {
    const diff = resource("ConfigMap ns/big", "update", long(900));
    const parts = renderPlan(samplePlan([sampleApplication("web", evaluated([diff]))]), one);
    expect(parts).toHaveLength(1);
    expect(parts[0]).toMatch(/\+ {2}k500: x+\n[^]*# … \d+ more lines are not shown/);
    expect(parts[0]?.length).toBeGreaterThan(0.9 * LIMIT);
  });

  test("of hundreds of applications the dangerous ones stay, and those without room are named", () => {
    const some = Array.from({ length: 300 }, (_, at) =>
      sampleApplication(
        `app-${at}`,
        evaluated([resource("ConfigMap ns/c", "update", `@@ -1 +1 @@\n-a: ${at}\n+b: ${at}\n`)]),
      ),
    );
    const parts = renderPlan(samplePlan([...some, dangerous("db", "@@ -1 +0,0 @@\n-a: 1\n")]), one);
    expect(parts).toHaveLength(1);
    const [comment = ""] = parts;
    expect(comment).toContain("Pruning PersistentVolumeClaim ns/data of db: its data is lost.");
    const [, left = ""] =
      /(\d+) more applications are not shown here for lack of room; log in to read \[their plan\]/.exec(comment) ?? [];
    expect(comment.match(/^### Application/gm)).toHaveLength(301 - Number(left));
  });

  test("so many dangers that no comment holds them are told in several", () => {
    const some = Array.from({ length: 400 }, (_, at) => dangerous(`db-${at}`, `@@ -1 +0,0 @@\n-a: ${at}\n`));
    const parts = renderPlan(samplePlan(some), one);
    expect(parts.join("\n").match(/its data is lost/g)).toHaveLength(400);
    for (const part of parts) expectClosed(part);
  });

  test.each([all, one])(
    "what is said of one application besides its diff fits as well, however long its names are",
    (options) => {
      const long = (index: number) => `${index} ${"<".repeat(990)}`;
      const warnings = Array.from({ length: 20 }, (_, at) => `it warns of ${long(at)}`);
      const cautions = Array.from({ length: 15 }, (_, at) => `pruning ${long(at)}`);
      const web = {
        ...sampleApplication(
          "web",
          evaluated(many(1, 2), { cautions, dangers: [{ what: "deletes a claim", pruning: false }] }),
        ),
        warnings,
      };
      const parts = renderPlan(samplePlan([web]), options);
      for (const part of parts) expectClosed(part);
      const plan = parts.join("\n");
      expect(plan.match(/^- Pruning/gm)).toHaveLength(15);
      expect(plan).toMatch(/\n- and \d+ more lines\n/);
    },
  );

  test("whatever the sizes, there is one comment, and it is used", () => {
    const sizes = fc.array(fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 6 }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(sizes, fc.constantFrom("x", "`", "\u202ex"), (applications, text) => {
        const plan = samplePlan(
          applications.map((lines, at) =>
            sampleApplication(
              `app-${at}`,
              evaluated(
                lines.map((count, index) => resource(`ConfigMap ns/c${at}-${index}`, "update", long(count, text))),
              ),
            ),
          ),
        );
        const parts = renderPlan(plan, one);
        expect(parts).toHaveLength(1);
        expect(parts[0]?.length).toBeLessThanOrEqual(LIMIT);
        const total = applications.flat().reduce((sum, count) => sum + count * 100, 0);
        if (total < 40_000 && text === "x") expect(parts[0]).not.toContain("too long to show");
      }),
      { numRuns: shareOf(80) },
    );
  });
});

describe("applications that only the merge changes", () => {
  const previews = (count: number, resources: number) =>
    Array.from({ length: count }, (_, at) =>
      preview(
        `cluster-addon-${at}`,
        "added",
        compared(
          Array.from({ length: resources }, (_, index) =>
            resource(
              `apps/Deployment namespace-${at}/object-with-a-name-${index}`,
              "create",
              `${long(2)}+name: ${at}\n`,
            ),
          ),
        ),
      ),
    );
  const own = ["web", "api", "db"].map((name) => sampleApplication(name, evaluated(many(1, 2))));

  test.each([
    ["with a page", one],
    ["without one", { ...one, links: LINKS }],
  ])("do not displace the plan's own, %s: what has no room is named", (_, options) => {
    const danger = preview(
      "risky",
      "removed",
      compared([resource("PersistentVolumeClaim ns/data", "delete", long(1))], {
        dangers: [{ what: "deletes PersistentVolumeClaim ns/data", pruning: false }],
      }),
    );
    const parts = renderPlan(samplePlan(own, { previews: [...previews(1000, 30), danger] }), options);
    expect(parts).toHaveLength(1);
    const [part = ""] = parts;
    expectClosed(part);
    expect(part.match(/^### Application: /gm)).toHaveLength(3);
    expect(part).toContain("**`risky`** (removed)");
    const shown = part.match(/^\*\*`cluster-addon-/gm)?.length ?? 0;
    expect(shown).toBeGreaterThan(0);
    expect(part).toContain(
      `${1000 - shown} more applications that the merge adds, changes or removes are not shown here for lack of room`,
    );
  });
});
