import { createHash } from "node:crypto";
import { matchesName, matchesPath } from "../../config/pattern.js";
import type { Settings } from "../../config/settings.js";
import { inputFingerprint } from "../detect/inputs/input-fingerprint.js";
import { fixedPart } from "../detect/inputs/input-set.js";
import { inputsOf } from "../detect/inputs/inputs.js";
import { readsOnlyPinned } from "../detect/inputs/pinned-reads.js";
import { specEqual } from "../model/spec-equality.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import type { TreeEntry } from "../ports/repositories.js";
import type { OpenedTree } from "../ports/snapshot.js";

/** What one side of an application is rendered from. */
export interface RenderInputs {
  /** Equal texts: the same content of everything that it reads of the change request's repository. */
  readonly fingerprint: string;
  /** Nothing but this content, and what never changes, decides what is rendered. */
  readonly pinned: boolean;
}

/** Looks at the tree of the side's commit; nothing is rendered. */
export async function renderInputs(
  side: "head" | "base",
  subject: LiveSubject,
  { change, snapshot, settings }: CommandContext,
): Promise<RenderInputs> {
  const { spec, positions } = subject[side];
  const at = side === "head" ? change.headRevision : change.baseRevision;
  const tree = await snapshot.tree(at);
  const inputs = await inputsOf({ ...subject.live, spec }, positions, snapshot, at);
  const others = otherPatterns(subject, settings).map((pattern) => contentDigest(pattern, tree));
  const fingerprint = [inputFingerprint(inputs, tree), ...others].join(" ");
  return { fingerprint, pinned: readsOnlyPinned(spec, positions, inputs) };
}

/** Proves without a render that both sides are the same: one definition that reads the same content at both commits. */
export function readsTheSame(
  { head, base, ownRecord, foreignRecords }: LiveSubject,
  inputs: { readonly head: RenderInputs; readonly base: RenderInputs },
): boolean {
  // Where a change request is deployed and not merged, the target branch does not tell what runs: that is looked at.
  if (ownRecord !== undefined || foreignRecords.length > 0) return false;
  return specEqual(head.spec, base.spec) && inputs.head.fingerprint === inputs.base.fingerprint;
}

/** They decide what a checkout of the whole repository holds: line ends, filters, where submodules come from. */
const CHECKOUT_FILES = ["**/.gitattributes", "**/.gitmodules", "**/.lfsconfig"];

/** What people say in the repository file that the application reads counts beside what its definition says. */
function otherPatterns({ name }: LiveSubject, { applications }: Settings): readonly string[] {
  const mapped = applications.filter((entry) => matchesName(entry.name, name)).flatMap(({ paths }) => paths);
  return [...CHECKOUT_FILES, ...mapped];
}

/** Of the files that match; many applications have the same patterns. */
function contentDigest(pattern: string, tree: OpenedTree): string {
  return tree.digest(`pattern ${pattern}`, () => digestOf(tree.entriesIn(fixedPart(pattern)), pattern));
}

function digestOf(entries: readonly TreeEntry[], pattern: string): string {
  const hash = createHash("sha256");
  for (const { path, kind, blob } of entries) {
    if (matchesPath(pattern, path)) hash.update(`${JSON.stringify([path, kind, blob])}\n`);
  }
  return hash.digest("hex");
}
