import { stripVTControlCharacters } from "node:util";
import { stringify } from "yaml";
import { checksFor } from "../../config/rules/rule-match.js";
import { redact } from "../../config/schema-parts.js";
import { holdingOf } from "../diff/kubernetes-rules.js";
import { identify } from "../diff/manifest-key.js";
import { type Application, destinationOf, type Manifest } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestKey } from "../model/change-request.js";
import { type Check, type CheckOutcome, type CheckResult, definitionOf } from "../model/check.js";
import { type JsonText, readJsonText, withoutLongIntegers } from "../model/json.js";
import type { PreviewContent } from "../model/plan/plan.js";
import type { LiveSubject } from "../model/subject.js";
import { computeIfLarge, type Task, tooMuch } from "../ports/compute.js";
import type { CommandContext, Stoppable } from "../ports/context.js";
import type { RenderedManifests } from "../ports/deployer.js";
import { carriesParameters, EmbeddedTexts, hideParameters, withoutCredentials } from "../secrets/hide-in-text.js";
import { maskValues } from "../secrets/hide-values.js";
import { scrubberOf } from "../secrets/value-scrubber.js";
import type { RenderedSides } from "./render.js";

export type CheckedSides = Exclude<RenderedSides, { readonly kind: "failed" }>;

interface CheckOptions {
  /** Results of the last hour count for equal manifests. */
  readonly reuse: boolean;
}

export type CheckSource = Stoppable & Pick<CommandContext, "change" | "checks" | "checkRunner" | "compute" | "redact">;

/** Milliseconds for one application. */
const WRITING_DEADLINE_MS = 60_000;
/** Characters of the output that a plan keeps. */
const MOST_OUTPUT = 8 * 1024;

/** Runs the server's checks over what the head renders; one that cannot be run has failed. @throws only the signal's reason. */
export async function checkManifests(
  { name, head: { spec } }: LiveSubject,
  sides: CheckedSides,
  options: CheckOptions,
  context: CheckSource,
): Promise<readonly CheckResult[]> {
  const rendered = bothOf(sides);
  if (rendered === undefined) return [];
  const manifests = { head: rendered.head.manifests, base: rendered.base.manifests };
  return runChecks({ name, spec }, manifests, options, context);
}

/** The same for what a definition renders. */
export async function runChecks(
  { name, spec }: Pick<Application, "name" | "spec">,
  manifests: CheckedManifests,
  { reuse }: CheckOptions,
  context: CheckSource,
): Promise<readonly CheckResult[]> {
  const checks = checksFor(context.checks, name);
  if (checks.length === 0) return [];
  const { change, compute, checkRunner, signal, log } = context;
  const owner = changeRequestKey(change);
  const size = manifests.head.length + manifests.base.length;
  const limits = { owner, deadlineMs: WRITING_DEADLINE_MS, signal };
  const written = await computeIfLarge(compute, checkInputTask, manifests, size, limits);
  if (written.kind === "exceeded") {
    return brokenChecks(checks, `writing the manifests for it ${tooMuch(written.limit)}`);
  }
  const { repository, number } = change;
  const { namespace } = destinationOf(spec);
  return Promise.all(
    checks.map(async (check) => {
      const order = { check, application: name, namespace, repository, number, ...written.output, reuse };
      const outcome = shown(await checkRunner.run(order, { owner, signal }), check, context);
      if (outcome.kind === "broken") {
        log.warn(
          { application: name, check: check.name, reason: outcome.reason },
          "a check could not be run to its end",
        );
      }
      return resultOf(check, outcome);
    }),
  );
}

export function brokenChecks(checks: readonly Check[], reason: string, output = ""): readonly CheckResult[] {
  return checks.map((check) => resultOf(check, { kind: "broken", reason, output }));
}

/** The reason of checks that could not run because of a failed render, which the plan explains elsewhere. */
export const NOT_RENDERED = "there are no manifests to check, because it could not be rendered";

export function uncheckedPreview(
  application: ApplicationName,
  content: PreviewContent,
  { checks }: Pick<CommandContext, "checks">,
): PreviewContent {
  const concerned = checksFor(checks, application);
  if (concerned.length === 0) return content;
  const reason = content.kind === "beyond-limit" ? "svc did not preview it: raise argocd.preview_limit" : NOT_RENDERED;
  return { ...content, checks: brokenChecks(concerned, reason) };
}

function bothOf(sides: CheckedSides): Record<"head" | "base", RenderedManifests> | undefined {
  if (sides.kind === "rendered") return sides;
  return sides.manifests && { head: sides.manifests, base: sides.manifests };
}

function resultOf(check: Check, outcome: CheckOutcome): CheckResult {
  const { name, required, overridableBy } = check;
  return { name, required, overridableBy, definition: definitionOf(check), outcome };
}

/** Without colours, values of the check's variables, credentials in addresses, and what the server redacts. */
function shown(outcome: CheckOutcome, { env }: Check, { redact: patterns }: Pick<CheckSource, "redact">): CheckOutcome {
  if (outcome.kind === "passed") return outcome;
  const plain = stripVTControlCharacters(outcome.output.replace(/\r\n?/g, "\n"));
  const scrubbed = scrubberOf(env.map(({ value }) => value))(plain);
  const output = redact(withoutCredentials(scrubbed, "addresses"), patterns).trim();
  if (output.length <= MOST_OUTPUT) return { ...outcome, output };
  const kept = output.slice(0, output.lastIndexOf("\n", MOST_OUTPUT) + 1 || MOST_OUTPUT);
  return { ...outcome, output: `${kept.trimEnd()}\n… the rest is not shown` };
}

interface CheckedManifests {
  readonly head: JsonText<readonly Manifest[]>;
  readonly base: JsonText<readonly Manifest[]>;
}

/** They are written as YAML documents, without values of Secrets. */
export const checkInputTask: Task<CheckedManifests, { readonly head: string; readonly base: string }> = {
  name: "check-input",
  run({ head, base }) {
    const texts = new EmbeddedTexts();
    const written = documents(head, texts);
    return { head: written, base: base === head ? written : documents(base, texts) };
  },
};

function documents(manifests: JsonText<readonly Manifest[]>, texts: EmbeddedTexts): string {
  return readJsonText(manifests)
    .map((manifest) => `---\n${writtenDocument(withoutSecrets(manifest, texts))}`)
    .join("");
}

function withoutSecrets(manifest: Manifest, texts: EmbeddedTexts): Manifest {
  const identity = identify(manifest, "");
  const masked = maskValues(manifest, holdingOf(identity), texts);
  return carriesParameters(identity) ? (hideParameters(undefined, masked).head ?? masked) : masked;
}

/** Line breaks and marks that YAML 1.1 and 1.2 read differently, and code units that are not characters. */
const AMBIGUOUS = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/**
 * One document that every reader of YAML takes for the same: in YAML 1.1 `yes` is a boolean, `<<` a merge and U+2028 a line
 * break. What readers could differ about is written as JSON with escapes, which is YAML as well.
 */
export function writtenDocument(manifest: Manifest): string {
  const json = JSON.stringify(manifest);
  const exact = withoutLongIntegers(json);
  const escaped = exact.replace(AMBIGUOUS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  // Control characters, halves of pairs, and integers that no number of ours holds.
  if (escaped !== json || json.includes("\\u")) return `${escaped}\n`;
  return stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false, compat: "yaml-1.1" });
}
