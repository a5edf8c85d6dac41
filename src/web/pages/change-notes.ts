import type { ChangeNote, ChangeRequestRef } from "../../core/model/change-request.js";
import { type PageParts, type Reader, shownChange } from "./page.js";

/** Repositories that one page asks their host about, at most: each that is not known yet costs a call. */
const MOST_ASKED = 20;

/**
 * How a page names each of these change requests: with title and state, as the host told them last, for whoever may read the
 * repository. Others see its name alone.
 */
export async function nameChanges(
  changes: readonly ChangeRequestRef[],
  reader: Reader,
  { marks, readers, hostPageOf }: Pick<PageParts, "marks" | "readers" | "hostPageOf">,
) {
  const repositories = new Map(changes.map((one) => [repositoryOf(one), one] as const));
  const rights = await Promise.all(
    [...repositories].slice(0, MOST_ASKED).map(async ([name, one]) => {
      return (await readers.ask(reader, one)).kind === "shown" ? [name] : [];
    }),
  );
  const readable = new Set(rights.flat());
  const named = changes.filter((one) => readable.has(repositoryOf(one)));
  const notes = await marks.described(named);
  const known = new Map(named.map((one, index) => [keyOf(one), notes[index]] as const));
  return (change: ChangeRequestRef) => {
    const note = known.get(keyOf(change));
    return { ...shownChange(change, hostPageOf), title: note?.title, state: note && changeState(note) };
  };
}

/** The id tells a repository from an earlier one of the same name. */
function repositoryOf({ host, repository, repositoryId }: ChangeRequestRef): string {
  return JSON.stringify([host, repository, repositoryId]);
}

function keyOf(change: ChangeRequestRef): string {
  return `${repositoryOf(change)} ${change.number}`;
}

/** The state of a change request in a word, and the tone to show it in. */
export function changeState({ state, draft }: Pick<ChangeNote, "state" | "draft">) {
  switch (state) {
    case "open":
      return draft ? { tone: "attention", text: "draft" } : { tone: "good", text: "open" };
    case "merged":
      return { tone: "", text: "merged" };
    case "closed":
      return { tone: "bad", text: "closed" };
  }
}
