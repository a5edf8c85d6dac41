import * as z from "zod";
import { matchesName, patternProblem } from "../../../config/pattern.js";
import type { ApplicationSpec } from "../../model/application.js";
import { type Json, jsonEqual } from "../../model/json.js";
import { applicationSyncOptions } from "../hook.js";
import type { ManifestIdentity } from "../manifest-key.js";

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
const texts = z
  .array(z.string())
  .nullish()
  .transform((value) => value ?? []);

const rule = z.object({
  group: text,
  kind: text,
  name: text,
  namespace: text,
  jsonPointers: texts,
  jqPathExpressions: texts,
  managedFieldsManagers: texts,
});
type Rule = z.infer<typeof rule>;

/** Which fields Argo CD ignores when it compares objects with the cluster. */
export interface IgnoreRules {
  readonly rules: readonly Rule[];
  /** Some rules cannot be read, so the objects that they cover are not known. */
  readonly unread: boolean;
  /** Argo CD has compared the live objects by these rules, so that what it left out of them is what they ignore. */
  readonly compared: boolean;
  /** Whether a sync leaves these fields as they are; `unsure` while the change itself has a say in it. */
  readonly respected: "yes" | "unsure" | "no";
}

export interface Ignored {
  readonly pointers: readonly string[];
  /** The members of its rules that only Argo CD evaluates: `jqPathExpressions`, `managedFieldsManagers`. */
  readonly byArgoCd: readonly string[];
}

const BY_ARGO_CD = ["jqPathExpressions", "managedFieldsManagers"] as const;

/** The rules of the head's definition beside the one that Argo CD has now. */
export function readIgnoreRules(head: ApplicationSpec, live: ApplicationSpec): IgnoreRules {
  const { ignoreDifferences } = head;
  const items = Array.isArray(ignoreDifferences) ? (ignoreDifferences as readonly Json[]) : [];
  const parsed = items.map((item) => rule.safeParse(item));
  const rules = parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
  const unread =
    parsed.some(({ success }) => !success) ||
    rules.some((one) => [one.group, one.kind].some((glob) => glob !== "" && patternProblem(glob) !== undefined));
  const compared = jsonEqual(ignoreDifferences, live.ignoreDifferences);
  const [after, before] = [head, live].map((spec) =>
    applicationSyncOptions(spec).includes("RespectIgnoreDifferences=true"),
  );
  const respected = after !== true ? "no" : compared && before === true ? "yes" : "unsure";
  return { rules, unread, compared, respected };
}

/**
 * The rules that apply to an object. Group and kind are globs; a missing group means the core group only (Argo CD v3,
 * `util/argo/normalizers`).
 */
export function ignoredOf(
  { rules }: Pick<IgnoreRules, "rules">,
  { group, kind, name, namespace }: ManifestIdentity,
): Ignored {
  const own = rules
    .filter((one) => matchesName(one.group, group) && matchesName(one.kind, kind))
    .filter((one) => (one.name === "" || one.name === name) && (one.namespace === "" || one.namespace === namespace));
  return {
    pointers: own.flatMap((one) => one.jsonPointers),
    byArgoCd: BY_ARGO_CD.filter((member) => own.some((one) => one[member].length > 0)),
  };
}

/** Whether a sync may write fields of the object that Kubernetes' answer about it lacks, since Argo CD ignores them. */
export function writesIgnored(ignored: IgnoreRules, identity: ManifestIdentity): boolean {
  if (ignored.respected === "yes") return false;
  const { pointers, byArgoCd } = ignoredOf(ignored, identity);
  return !ignored.compared || ignored.unread || pointers.length > 0 || byArgoCd.length > 0;
}
