import { expect, test } from "@jest/globals";
import { renderProgress } from "../../src/comments/progress-comment.js";
import type { Phase } from "../../src/core/model/progress.js";
import { expectGolden } from "./golden.js";
import { LINKS, sampleChange } from "./samples.js";

const PHASES: readonly (readonly [string, Phase])[] = [
  ["api", { kind: "waiting" }],
  ["cache", { kind: "running", done: 0, total: 0, message: "" }],
  [
    "db",
    { kind: "running", done: 3, total: 7, message: "waiting for healthy state of apps/StatefulSet/db `@all`\n/close" },
  ],
  [
    "rollout",
    {
      kind: "running",
      done: 7,
      total: 7,
      message: "Pod shop/web-1: Degraded: Back-off pulling image `@all`",
      health: "Progressing",
    },
  ],
  ["shop", { kind: "ended", outcome: "failed" }],
  ["slow", { kind: "ended", outcome: "unknown" }],
  ["web", { kind: "ended", outcome: "succeeded" }],
];

test("a line with a bar per application", () => {
  expectGolden("progress-sync", (host) => [renderProgress("sync", new Map(PHASES), sampleChange(host), LINKS)]);
});

test("a rollback, and no more lines than a person reads", () => {
  const many = Array.from({ length: 120 }, (_, index) => [`app-${index}`, { kind: "waiting" }] as const);
  const text = renderProgress("rollback", new Map(many), sampleChange(), LINKS);
  expect(text).toContain("## svc Rollback (running)\n\nDeploying `main`.");
  expect(text.match(/^- \[`app-/gm)).toHaveLength(60);
  expect(text).toMatch(/\n- and 60 more$/);
});
