import { type CheckResult, type FailedCheck, isFailed } from "../core/model/check.js";
import { checksOf, type Plan } from "../core/model/plan.js";
import { details, fence, shortened } from "./markdown.js";
import { type Block, block, capitalised } from "./parts.js";

/** The checks of everything that a plan shows. */
export function checksIn({ applications, previews }: Plan): readonly CheckResult[] {
  return [...applications.flatMap(checksOf), ...previews.flatMap(({ content }) => content.checks ?? [])];
}

/** `checks: 3 passed, 1 failed`; empty without checks. */
export function checksText(checks: readonly CheckResult[]): string {
  const counts = countsOf(checks);
  return counts === "" ? "" : `checks: ${counts}`;
}

/** For a page; empty if nothing was checked. */
export function checkSentences(checks: readonly CheckResult[]): readonly string[] {
  const text = checksText(checks);
  return text === "" ? [] : [`${capitalised(text)}.`];
}

/** The number of checks, and each failed one expanded with its output. @param outputs see `outputRoom`. */
export function checkBlocks(
  checks: readonly CheckResult[],
  { section, outputs: room }: { readonly section: string | undefined; readonly outputs: number },
): readonly Block[] {
  if (checks.length === 0) return [];
  const failed = checks.filter(isFailed).map((one) => failureText(one, room));
  return [`**Checks:** ${countsOf(checks)}`, ...failed].map((text) => block(text, section));
}

/** `Required check conftest failed: exit code 1`. Untrusted. */
export function failureTitle({ name, required, outcome: { reason } }: FailedCheck): string {
  return `${required ? "Required check" : "Check"} ${name} failed: ${reason}`;
}

function failureText(failed: FailedCheck, room: number): string {
  const { output } = failed.outcome;
  const said = output === "" ? "It printed nothing." : fence(shortened(output, room));
  return details(`❌ ${failureTitle(failed)}`, said, { open: true });
}

function countsOf(checks: readonly CheckResult[]): string {
  const failed = checks.filter(isFailed).length;
  const passed = checks.length - failed;
  return [...(passed === 0 ? [] : [`${passed} passed`]), ...(failed === 0 ? [] : [`${failed} failed`])].join(", ");
}
