import type { ApplicationName } from "../core/model/brand.js";
import type { ApplicationSetPreview } from "../core/model/plan.js";
import { code, codes, fence, sentence, shortened } from "./markdown.js";

const MAX_REASON = 4000;
const MAX_NAMED = 100;

/** What a plan says of one ApplicationSet: the applications that come, go and change, or why that cannot be told. */
export function applicationSetText(set: ApplicationSetPreview): string {
  const heading = `### ApplicationSet: ${code(set.name)}`;
  const file =
    set.sourceFile === undefined
      ? "**Source file:** none in this repository; the ApplicationSet reads files of it"
      : `**Source file:** ${code(set.sourceFile)}`;
  if (set.problem !== undefined) {
    const owned = set.owned.length === 0 ? [] : [`It owns these applications now: ${named(set.owned)}.`];
    const reason = fence(shortened(set.problem, MAX_REASON));
    return [heading, "**Changes:** could not be previewed", reason, ...owned, file].join("\n\n");
  }
  const lines = [
    ...(set.added.length === 0 ? [] : [`- adds ${named(set.added)}`]),
    ...(set.removed.length === 0 ? [] : [`- removes ${named(set.removed)}`]),
    ...(set.changed.length === 0 ? [] : [`- changes ${named(set.changed)}`]),
  ];
  const changes = lines.length === 0 ? "It generates the same applications on both sides." : lines.join("\n");
  const notes = set.notes.length === 0 ? [] : [set.notes.map((note) => `- ℹ️ ${sentence(note)}`).join("\n")];
  const when = set.sourceFile === undefined ? "some minutes after the merge" : "when the ApplicationSet is applied";
  const end = `${file}\n\nArgo CD applies this ${when}; a sync here does not.`;
  return [heading, changes, ...notes, end].join("\n\n");
}

function named(names: readonly ApplicationName[]): string {
  const more = names.length - MAX_NAMED;
  const first = codes(names.slice(0, MAX_NAMED));
  return more > 0 ? `${first} and ${more} more` : first;
}
