import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { renderBarredMerge, renderMergeRefusal } from "../../src/comments/merge.js";
import { renderProgress } from "../../src/comments/progress-comment.js";
import { renderResult } from "../../src/comments/render.js";
import { applicationName } from "../../src/core/model/brand.js";
import { HOST_IDS } from "../../src/names.js";
import { LINKS, sampleChange, WORDS } from "../comments/samples.js";
import { fuzz } from "./fuzz.js";
import { hostileResult } from "./hostile-result.js";
import { hostileName, hostileText } from "./hostile-text.js";
import { expectHarmless } from "./read-comment.js";

const phase = fc.oneof(
  fc.constant({ kind: "waiting" as const }),
  fc.record({ kind: fc.constant("running" as const), done: fc.nat(9), total: fc.nat(9), message: hostileText() }),
  fc.record({ kind: fc.constant("ended" as const), outcome: fc.constantFrom("succeeded", "failed", "unknown") }),
);
const phases = fc
  .array(fc.tuple(hostileName(), phase), { maxLength: 3 })
  .map((list) => new Map(list.map(([name, one]) => [applicationName(name), one])));
const input = fc.record({
  result: hostileResult,
  branch: hostileName(),
  reason: hostileText(),
  phases,
  host: fc.constantFrom(...HOST_IDS),
});

test("no text from outside breaks out of an answer, and every part of it is whole and fits", () => {
  fuzz("answer-comment", input, ({ result, branch, reason, phases: reached, host }) => {
    const change = { ...sampleChange(host), baseBranch: branch };
    const command = { name: "sync", applications: [], dryRun: false, prune: false } as const;
    const parts = renderResult(result, { change, words: WORDS[host], links: LINKS, comments: "all", command });
    expect(parts.length > 0 || result.kind === "closed").toBe(true);
    for (const part of parts) expectHarmless(part, host, result.kind === "refused" ? "refused" : "result");
    expectHarmless(renderMergeRefusal(reason, change, WORDS[host]), host, "merge");
    const barred = {
      notMerged: [{ application: applicationName(branch), reason }],
      next: { kind: "later", because: reason },
    } as const;
    expectHarmless(renderBarredMerge(barred, change, WORDS[host], LINKS), host, "merge");
    for (const command of ["sync", "rollback"] as const) {
      expectHarmless(renderProgress(command, reached, change, LINKS), host, "progress");
    }
  });
});
