import { describe, expect, test } from "@jest/globals";
import { renderPlan } from "../../src/comments/plan.js";
import { applicationName } from "../../src/core/model/brand.js";
import type { AdvisedCommand, NextStep } from "../../src/core/model/next-step.js";
import type { Danger } from "../../src/core/model/plan/manifest-diff.js";
import type { ApplicationPlan, Plan } from "../../src/core/model/plan/plan.js";
import type { HostId } from "../../src/names.js";
import { wordsOfOthers } from "../scenarios/host-words.js";
import { expectGolden } from "./golden.js";
import {
  evaluated,
  HEAD,
  LINKS,
  resource,
  sampleApplication,
  sampleChange,
  sampleLock,
  sampleMember,
  samplePlan,
  sampleSet,
  WORDS,
} from "./samples.js";

const PAGE = "https://svc.example.com/changes/github/acme/deploy/7";
const options = { words: WORDS.hosta, pruning: false, links: LINKS, comments: "all" as const };
const SYNC: AdvisedCommand = { kind: "command", command: "sync", applications: [], by: [] };
const APPROVE: NextStep = { kind: "approve", known: true, commit: HEAD, author: "ana", then: SYNC };
const IMAGE =
  "@@ -14,7 +14,7 @@\n       containers:\n         - name: web\n-          image: shop/web:1.4.0\n+          image: shop/web:1.5.0";
const DATA: Danger = { what: "deletes PersistentVolumeClaim payments/data", pruning: true };

function shop(country: string): ApplicationPlan {
  return sampleApplication(
    `shop-${country}`,
    evaluated([resource(`apps/Deployment shop-${country}/web`, "update", IMAGE)]),
  );
}

const payments = sampleApplication(
  "payments",
  evaluated(
    [
      resource(
        "PersistentVolumeClaim payments/data",
        "delete",
        "@@ -1,2 +0,0 @@\n-apiVersion: v1\n-kind: PersistentVolumeClaim",
      ),
      resource("apps/Deployment payments/api", "update", "@@ -6 +6 @@\n-  replicas: 2\n+  replicas: 3"),
    ],
    {
      cautions: [
        "pruning PersistentVolumeClaim payments/data: its data is lost unless the volume's reclaim policy is Retain",
      ],
      dangers: [DATA],
    },
  ),
);
const web = sampleApplication(
  "web",
  evaluated([
    resource("apps/Deployment web/web", "update", "@@ -6 +6 @@\n-  replicas: 2\n+  replicas: 4"),
    resource("ConfigMap web/flags", "create", "@@ -0,0 +1,2 @@\n+apiVersion: v1\n+kind: ConfigMap"),
  ]),
);
const COUNTRIES = "at be bg ch cz de dk ee es fi fr gb gr hr hu ie it lt lu lv".split(" ");
const unchanged = ["docs", "mail"].map((name) => sampleApplication(name, evaluated([])));
const held = sampleApplication("web", {
  ...evaluated([resource("ConfigMap guestbook/web", "update", "@@ -3 +3 @@\n-  a: 1\n+  a: 2")]),
  lock: { kind: "held", by: sampleLock("web", 9, "bo") },
});

interface Told {
  readonly counts: string;
  readonly danger?: string;
  readonly who: string;
  readonly command: string;
}

describe("the first lines of a plan say how much changes and what is dangerous, the last who acts next, and nothing says it again", () => {
  test.each<[string, Plan, NextStep, Told]>([
    [
      "of-24-applications",
      samplePlan([...unchanged, payments, ...COUNTRIES.map(shop), web]),
      APPROVE,
      {
        counts: "**24 applications, 24 resources change (1 created, 22 updated, 1 deleted with --prune)**",
        danger: "⚠️ deletes PersistentVolumeClaim payments/data with --prune",
        who: "by somebody other than ana",
        command: "then `svc sync`",
      },
    ],
    [
      "dangers",
      samplePlan([web, payments]),
      SYNC,
      {
        counts: "**2 applications, 4 resources change (1 created, 2 updated, 1 deleted with --prune)**",
        danger: "⚠️ deletes PersistentVolumeClaim payments/data with --prune",
        who: "comment:",
        command: "\n```\nsvc sync\n```\n",
      },
    ],
    [
      "needing-approval",
      samplePlan([web]),
      APPROVE,
      {
        counts: "\n[`web`](<https://argocd.example.com/applications/web>)\n\n### ",
        who: `Needs an approval of [\`c0ffee00\`](<${LINKS.head}>) by somebody other than ana`,
        command: "then `svc sync`",
      },
    ],
    [
      "blocked-by-another",
      samplePlan([held]),
      { kind: "wait", locks: [sampleLock("web", 9, "bo")] },
      {
        counts: "\n[`web`](<https://argocd.example.com/applications/web>)\n\n### ",
        who: ", which has locked",
        command: "Wait for ",
      },
    ],
  ])("%s", (name, plan, next, { counts, danger = "", who, command }) => {
    const write = (host: HostId) =>
      renderPlan({ ...plan, change: sampleChange(host) }, { ...options, words: WORDS[host], next });
    expectGolden(`plan-${name}`, write);
    const [comment = ""] = write("hosta");
    const [, heading, ...lines] = comment.split("\n", 5);
    expect(heading).toBe("## svc Plan");
    for (const text of [counts, danger]) expect(`\n${lines.join("\n")}`).toContain(text);
    expect(lines.join("\n").includes("⚠️")).toBe(danger !== "");
    const [blocks = "", footer = ""] = comment.split("\n---\n");
    for (const text of [who, command]) {
      expect(footer.split(text)).toHaveLength(2);
      expect(blocks).not.toContain(text);
    }
  });
});

/** The lines that people read: without blank ones, and without what is folded. */
function linesOf(comment: string): readonly string[] {
  const open: string[] = [];
  let depth = 0;
  for (const line of comment.split("\n")) {
    if (line.startsWith("<details>")) depth += 1;
    if (depth === 0 && line !== "") open.push(line);
    if (line === "</details>") depth -= 1;
  }
  expect(depth).toBe(0);
  return open;
}

describe.each(["hosta", "hostb"] as const)("on %s", (host) => {
  const here = { ...options, words: WORDS[host] };
  const WAIT: NextStep = { kind: "wait", locks: [sampleLock("web", 9, "bo")] };

  test.each<[string, ApplicationPlan, NextStep | undefined]>([
    ["to sync", web, SYNC],
    ["that needs an approval", web, APPROVE],
    ["that waits", held, WAIT],
    ["without a known next step", web, undefined],
  ])("a plan of one application %s takes at most 12 lines around its diff", (_, one, next) => {
    const [comment = "", ...more] = renderPlan(samplePlan([one]), { ...here, next });
    expect(more).toEqual([]);
    expect(linesOf(comment).length).toBeLessThanOrEqual(12);
  });

  test("a plan of 24 alike applications takes at most 40 lines outside of what is folded, and each keeps its block", () => {
    const all = [...COUNTRIES, "mt", "nl", "no", "pl"].map(shop);
    const parts = renderPlan(samplePlan(all, { change: sampleChange(host) }), { ...here, next: SYNC });
    expect(parts).toHaveLength(1);
    if (host === "hosta") expectGolden("plan-of-24-alike", () => parts);
    else expect(wordsOfOthers(host, parts)).toEqual([]);
    const [comment = ""] = parts;
    expect(linesOf(comment).length).toBeLessThanOrEqual(40);
    for (const { application } of all) expect(comment.split(`\n### Application: \`${application}\`\n`)).toHaveLength(2);
    expect(comment).toContain("and 22 more");
  });
});

describe("the verdict", () => {
  const verdict = (plan: Plan, more: Partial<typeof options> = {}) =>
    (renderPlan(plan, { ...options, ...more })[0] ?? "").split("\n")[2];
  const other = sampleApplication("other", evaluated([resource("ConfigMap other/a", "update", "+b")]));

  test.each<[string, ApplicationPlan, string]>([
    ["no change", sampleApplication("a", evaluated([])), "2 applications, 1 resource changes"],
    [
      "a change that nobody can see",
      sampleApplication("a", { ...evaluated([], { hiddenSecrets: true }), verdict: "unknown" }),
      "2 applications, 1 resource changes; 1 has no visible changes",
    ],
    [
      "a definition alone",
      sampleApplication("a", { ...evaluated([]), writesDefinition: true }),
      "2 applications, 1 resource changes; 1 changes only its definition",
    ],
    [
      "a hook",
      sampleApplication("a", evaluated([resource("Job a/b", "update", "+a", true)])),
      "2 applications, 1 resource changes, 1 hook changed",
    ],
    [
      "a failed render",
      sampleApplication("a", { kind: "unevaluated", reason: "x" }),
      "2 applications, 1 resource changes; 1 could not be evaluated",
    ],
    [
      "a render that waits",
      sampleApplication("a", { kind: "unevaluated", reason: "x", withheld: true }),
      "2 applications, 1 resource changes; 1 is not rendered yet",
    ],
    ["a new application", sampleApplication("a", { kind: "new" }), "2 applications, 1 resource changes; 1 is new"],
  ])("tells %s", (_, plan, text) => {
    expect(verdict(samplePlan([other, plan]))).toContain(`**${text}**`);
    // The block of an only application says it.
    expect(verdict(samplePlan([plan]))).toMatch(/^(\[`a`\]\(<[^>]+>\)|`a`)$/);
  });

  test("counts what it cannot count resources of apart from those that it can", () => {
    const all = [
      web,
      sampleApplication("a", { kind: "new" }),
      sampleApplication("b", { kind: "deleted" }),
      sampleApplication("c", { kind: "unevaluated", reason: "x" }),
      sampleApplication("d", { kind: "unevaluated", reason: "x", withheld: true }),
      sampleApplication("e", { kind: "unevaluated", reason: "x", withheld: true }),
      sampleApplication("f", { ...evaluated([]), verdict: "unknown" }),
      sampleApplication("left", { kind: "unplanned" }),
    ];
    expect(verdict(samplePlan(all))).toContain(
      "⚠️ deletes the application b · " +
        "**7 of 8 applications, 2 resources change (1 created, 1 updated); 1 is new, 1 is deleted, 2 are not rendered yet, 1 could not be evaluated, 1 has no visible changes**",
    );
  });

  test("tells what ApplicationSets do, also where no application is planned", () => {
    const names = ["x", "y"].map(applicationName);
    const sets = [sampleSet("s", { added: names, removed: names.slice(0, 1) }), sampleSet("t", { problem: "denied" })];
    const danger = "⚠️ removes the application x · ";
    const told = "**2 ApplicationSets: 2 applications added, 1 removed, 1 could not be previewed, at the merge**";
    const withWeb = verdict(samplePlan([web], { applicationSets: sets }));
    expect(withWeb).toMatch(/^⚠️ removes the application x · \[`web`\]/);
    expect(withWeb).toContain(` · ${told}`);
    expect(verdict(samplePlan([], { applicationSets: sets }))).toBe(`${danger}${told}`);
  });

  test("does not rely on the policy of a set, which that of its controller overrules", () => {
    const set = sampleSet("s", { removed: [applicationName("x")], keepsRemoved: true });
    const danger = "⚠️ removes the application x unless the policy of its set keeps it";
    const told = `${danger} · **1 ApplicationSet: 1 application removed, at the merge**`;
    expect(verdict(samplePlan([], { applicationSets: [set] }))).toBe(told);
  });

  test("counts what a set changes of its own applications, and not what those bring", () => {
    const by = (set: string) => ({ reachedBy: { kind: "generated", by: set } }) as const;
    const of = applicationName("x");
    const members = [
      sampleMember("x", by("s")),
      sampleMember("y", by("s")),
      sampleMember("z", by("below")),
      sampleMember("child", { reachedBy: { kind: "child", of } }),
    ];
    expect(verdict(samplePlan([], { applicationSets: [sampleSet("s", { changed: [of], members })] }))).toBe(
      "**1 ApplicationSet: 1 application changed, what it does to 1 application changed, at the merge**",
    );
  });

  test("names three dangers and counts the others", () => {
    const dangers = ["a", "b", "c", "d", "e"].map((name) => ({ what: `changes Namespace ${name}`, pruning: false }));
    const plan = samplePlan([sampleApplication("web", evaluated([], { dangers }))]);
    expect(verdict(plan)).toContain("⚠️ changes Namespace a, changes Namespace b, changes Namespace c and 2 more");
  });

  test("with pruning on, what is deleted is deleted", () => {
    const told = verdict(samplePlan([web, payments]), { pruning: true });
    expect(told).toContain(" · **2 applications, 4 resources change (1 created, 2 updated, 1 deleted)**");
    expect(told).not.toContain("--prune");
  });

  test("leads to the page where there is one, and so does each line of the table", () => {
    const links = { ...LINKS, page: PAGE };
    const [comment = ""] = renderPlan(samplePlan([web, payments]), { ...options, links });
    expect(comment).toContain(
      ` · [**2 applications, 4 resources change (1 created, 2 updated, 1 deleted with --prune)**](<${PAGE}>)\n`,
    );
    expect(comment).toContain(` | [1 created, 1 updated](<${PAGE}#application-web>) |  |\n`);
  });

  test("a name of another namespace leads there, and a new application nowhere yet", () => {
    const [comment = ""] = renderPlan(
      samplePlan([sampleApplication("team-a/web", evaluated([])), sampleApplication("fresh", { kind: "new" })]),
      options,
    );
    expect(comment).toContain("| [`team-a/web`](<https://argocd.example.com/applications/team-a/web>) |");
    expect(comment).toContain("| `fresh` | new |");
  });
});
