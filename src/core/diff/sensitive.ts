import { matchesName } from "../../config/pattern.js";
import { isJsonObject, type JsonObject } from "../model/json.js";
import type { ManifestDiff, SecretChange } from "../model/manifest-diff.js";
import type { SensitiveKind } from "../model/settings.js";
import { isSecret } from "../secrets/hide-values.js";
import { secretName } from "../secrets/secret-changes.js";
import type { TwoSides } from "./cautions.js";
import { titleOf } from "./manifest-key.js";
import { meanTheSame } from "./summarise.js";

/**
 * The objects of sensitive kinds that the head creates or changes: `creates Role shop/admin`. Those that are deleted grant
 * nothing. A Secret counts as changed as long as nobody can tell that it is not.
 * @param differing the objects that may differ.
 */
export function sensitiveChanges(
  differing: Iterable<TwoSides>,
  kinds: readonly SensitiveKind[],
  secrets: readonly SecretChange[],
): readonly string[] {
  const changing = new Set(secrets.map(({ name }) => name));
  return [...differing].flatMap((sides) => {
    const { identity, base, head } = sides;
    if (head === undefined || !kinds.some((one) => isOf(one, sides))) return [];
    if (isSecret(identity) && meanTheSame(sides) && !changing.has(secretName(identity.namespace, identity.name))) {
      return [];
    }
    return [`${base === undefined ? "creates" : "changes"} ${titleOf(identity)}`];
  });
}

function isOf({ kind, name, label }: SensitiveKind, { identity, base, head }: TwoSides): boolean {
  const { group, kind: ownKind, name: called, generateName } = identity;
  if (kind !== (group === "" ? ownKind : `${ownKind}.${group}`)) return false;
  if (name !== undefined && !matchesName(name, called || generateName)) return false;
  // Whoever takes the label away changes the object, too.
  return label === undefined || [base, head].some((side) => side !== undefined && isLabelled(side, label));
}

function isLabelled({ metadata }: JsonObject, label: string): boolean {
  const labels = isJsonObject(metadata) && isJsonObject(metadata.labels) ? metadata.labels : {};
  const [key = "", value] = label.split("=");
  if (!Object.hasOwn(labels, key)) return false;
  return value === undefined || labels[key] === value;
}

/** Adds sensitive changes to what a plan warns of, behind the deletions. */
export function withSensitive(diff: ManifestDiff, sensitive: readonly string[]): ManifestDiff {
  if (sensitive.length === 0) return diff;
  const { cautions, dangers } = diff;
  const deletions = dangers.filter(({ pruning }) => pruning).length;
  return {
    ...diff,
    sensitive,
    cautions: [
      ...cautions.slice(0, deletions),
      ...sensitive.map((what) => `${what}: that sets limits or grants rights, and needs an approval`),
      ...cautions.slice(deletions).filter((text) => !sensitive.includes(text)),
    ],
    dangers: [
      ...dangers.slice(0, deletions),
      ...sensitive.map((what) => ({ what, pruning: false })),
      ...dangers.slice(deletions).filter(({ what }) => !sensitive.includes(what)),
    ],
  };
}
