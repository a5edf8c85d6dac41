import * as z from "zod";
import { matchesName, patternProblem } from "../../../config/pattern.js";
import type { ApplicationSpec } from "../../model/application.js";
import type { Json } from "../../model/json.js";
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

/** `spec.ignoreDifferences`. */
export interface IgnoreRules {
  readonly rules: readonly Rule[];
  /** Some rules cannot be read, so nobody knows which objects they are about. */
  readonly unread: boolean;
}

/** What the rules say about one object. */
export interface Ignored {
  readonly pointers: readonly string[];
  /** The members of its rules that only Argo CD evaluates: `jqPathExpressions`, `managedFieldsManagers`. */
  readonly byArgoCd: readonly string[];
}

const BY_ARGO_CD = ["jqPathExpressions", "managedFieldsManagers"] as const;

/** Reads the rules of a definition. */
export function readIgnoreRules({ ignoreDifferences }: ApplicationSpec): IgnoreRules {
  const items = Array.isArray(ignoreDifferences) ? (ignoreDifferences as readonly Json[]) : [];
  const parsed = items.map((item) => rule.safeParse(item));
  const rules = parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
  const unread =
    parsed.some(({ success }) => !success) ||
    rules.some((one) => [one.group, one.kind].some((glob) => glob !== "" && patternProblem(glob) !== undefined));
  return { rules, unread };
}

/**
 * The rules that apply to an object. Group and kind are globs; a missing group means the core group only (Argo CD v3,
 * `util/argo/normalizers`).
 */
export function ignoredOf({ rules }: IgnoreRules, { group, kind, name, namespace }: ManifestIdentity): Ignored {
  const own = rules
    .filter((one) => matchesName(one.group, group) && matchesName(one.kind, kind))
    .filter((one) => (one.name === "" || one.name === name) && (one.namespace === "" || one.namespace === namespace));
  return {
    pointers: own.flatMap((one) => one.jsonPointers),
    byArgoCd: BY_ARGO_CD.filter((member) => own.some((one) => one[member].length > 0)),
  };
}
