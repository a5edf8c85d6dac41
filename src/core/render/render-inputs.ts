import { createHash } from "node:crypto";
import { matchesName, matchesPath } from "../../config/pattern.js";
import { fixedPart, inputFingerprint, readsOnlyPinned } from "../detect/inputs/input-set.js";
import { inputsOf } from "../detect/inputs/inputs.js";
import { specEqual } from "../model/application-spec.js";
import type { Application } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import type { Settings } from "../model/settings.js";
import type { LiveSubject, Side } from "../model/subject.js";
import type { OpenedChange } from "../ports/context.js";
import type { TreeEntry } from "../ports/repositories.js";
import type { OpenedTree } from "../ports/snapshot.js";

/** What one side of an application is rendered from. */
export interface RenderInputs {
  /** Equal for equal content of everything that the side reads of the change request's repository. */
  readonly fingerprint: string;
  /** The render depends on this content and on immutable things only. */
  readonly pinned: boolean;
}

/** Reads the tree of the side's commit and renders nothing. */
export function renderInputs(side: "head" | "base", subject: LiveSubject, source: OpenedChange): Promise<RenderInputs> {
  const { headRevision, baseRevision } = source.change;
  return inputsOfSide(subject.live, subject[side], side === "head" ? headRevision : baseRevision, source);
}

/** What an application is rendered from with the definition and the commits of `side`, where `at` is the tip that it follows. */
export async function inputsOfSide(
  live: Application,
  { spec, positions, fixed }: Side,
  at: Revision,
  { snapshot, settings }: Omit<OpenedChange, "change">,
): Promise<RenderInputs> {
  const tree = await snapshot.tree(at);
  const inputs = await inputsOf({ ...live, spec }, positions, snapshot, at);
  const others = otherPatterns(live, settings).map((pattern) => contentDigest(pattern, tree));
  const commits = fixed.map(({ position, revision }) => `${position}@${revision}`);
  const fingerprint = [inputFingerprint(inputs, tree), ...others, ...commits].join(" ");
  const pinned = [...positions, ...fixed.map(({ position }) => position)];
  return { fingerprint, pinned: readsOnlyPinned(spec, pinned, inputs) };
}

/** Whether both sides have the same definition and read the same content, which proves them equal without a render. */
export function readsTheSame(
  { head, base, ownRecord, foreignRecords, hasChildren }: LiveSubject,
  inputs: { readonly head: RenderInputs; readonly base: RenderInputs },
): boolean {
  // While a change request is deployed and not merged, the target branch does not describe what runs.
  if (ownRecord !== undefined || foreignRecords.length > 0) return false;
  // The renders name the children, one of which may differ in Argo CD.
  if (hasChildren) return false;
  // Its values differ at every commit, and people are told which.
  if (JSON.stringify(head.spec).includes(COMMIT_VARIABLE)) return false;
  return specEqual(head.spec, base.spec) && inputs.head.fingerprint === inputs.base.fingerprint;
}

/** Argo CD puts the commit in its place, also in front of `_SHORT` and `_SHORT_8`. */
const COMMIT_VARIABLE = "ARGOCD_APP_REVISION";
/** They decide what a checkout contains: line ends, filters, origins of submodules. */
const CHECKOUT_FILES = ["**/.gitattributes", "**/.gitmodules", "**/.lfsconfig"];

/** Paths that the repository file maps to the application count besides those of its definition. */
export function otherPatterns({ name }: Pick<Application, "name">, { applications }: Settings): readonly string[] {
  const mapped = applications.filter((entry) => matchesName(entry.name, name)).flatMap(({ paths }) => paths);
  return [...CHECKOUT_FILES, ...mapped];
}

/** Digest of the files that match. Many applications share a pattern. */
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
