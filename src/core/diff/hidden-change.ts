import { listed } from "../model/host-words.js";
import type { ManifestDiff, NameChanges, SecretChange } from "../model/manifest-diff.js";

/** Quotes an untrusted name for use in a sentence. */
type Shown = (name: string) => string;

const MAX_LINES = 20;
const MAX_NAMES = 5;
const MAX_FILES = 3;

/** A sentence for each Secret whose values change or may change. */
export function secretSentences({ secrets }: Pick<ManifestDiff, "secrets">, shown: Shown): readonly string[] {
  const more = secrets.length - MAX_LINES;
  const lines = secrets.slice(0, MAX_LINES).map((one) => secretSentence(one, shown));
  return more > 0 ? [...lines, `${more} more Secrets change or may change`] : lines;
}

function secretSentence({ name, keys, files }: SecretChange, shown: Shown): string {
  const others = files.length > MAX_FILES ? " and others" : "";
  const where = files.length === 0 ? "" : ` (${files.slice(0, MAX_FILES).map(shown).join(", ")}${others})`;
  const what = keys === undefined ? "cannot tell whether its values changed" : keysText(keys, shown);
  return `Secret ${shown(name)}: ${what}${where}; values are hidden`;
}

function keysText({ created, changed, deleted }: NameChanges, shown: Shown): string {
  return [
    ...(changed.length === 0 ? [] : [`changes ${listed(changed.map(shown), MAX_NAMES)}`]),
    ...(created.length === 0 ? [] : [`adds ${listed(created.map(shown), MAX_NAMES)}`]),
    ...(deleted.length === 0 ? [] : [`removes ${listed(deleted.map(shown), MAX_NAMES)}`]),
  ].join("; ");
}

/** Where the commit's id differs; undefined if it does nowhere. Without `shown` it names nothing. */
export function commitSentence({ onlyCommit }: Pick<ManifestDiff, "onlyCommit">, shown?: Shown): string | undefined {
  if (onlyCommit.length === 0) return undefined;
  return `No changes but the commit id${shown === undefined ? "" : `, in ${listed(onlyCommit.map(shown), MAX_NAMES)}`}.`;
}

/** Where the commit's id is all that differs, beside other changes; undefined if that is nowhere. */
export function besidesSentence({ onlyCommit }: Pick<ManifestDiff, "onlyCommit">, shown: Shown): string | undefined {
  return onlyCommit.length === 0 ? undefined : `The commit id only: ${listed(onlyCommit.map(shown), MAX_NAMES)}.`;
}
