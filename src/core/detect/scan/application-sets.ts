import type { Application, ApplicationSet } from "../../model/application.js";
import type { ApplicationName } from "../../model/brand.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { jsonEqual } from "../../model/json.js";
import type { Naming } from "../../ports/deployer.js";
import type { FoundApplicationSet, ManifestScan } from "../../ports/manifest-scanner.js";
import type { Snapshot } from "../../ports/snapshot.js";
import { readsChanges } from "./git-generators.js";

/** An ApplicationSet whose resource changes, or whose generators read something that does. */
export interface ChangedApplicationSet {
  /** `<name>`, or `<namespace>/<name>` outside of Argo CD's own namespace. */
  readonly name: string;
  /** Undefined if no searched file holds its resource: then the set is the one that Argo CD runs. */
  readonly sourceFile: string | undefined;
  readonly base?: ApplicationSet;
  readonly head?: ApplicationSet;
  /** Other files that define a set of this name differently: it is unknown which of them Argo CD runs. */
  readonly alsoIn: readonly string[];
  /** Why its resource cannot be read on one side, though it may be there. */
  readonly problem: string | undefined;
}

interface SetRequest {
  readonly base: ManifestScan;
  readonly head: ManifestScan;
  /** Every ApplicationSet that Argo CD shows. */
  readonly liveSets: readonly ApplicationSet[];
  readonly changedPaths: readonly string[];
  readonly change: ChangeRequest;
  readonly snapshot: Snapshot;
  readonly nameOf: Naming;
}

/** The sets whose generated applications may differ between the merge base and the head. */
export async function changedApplicationSets(request: SetRequest): Promise<readonly ChangedApplicationSet[]> {
  const { change, snapshot, changedPaths, nameOf } = request;
  const [before, after] = [byName(request.base, nameOf), byName(request.head, nameOf)];
  const trees = await Promise.all([snapshot.tree(change.mergeBase), snapshot.tree(change.headRevision)]);
  const reads = (set: ApplicationSet) => readsChanges(set, change, changedPaths, trees);
  const here = [...new Set([...before.keys(), ...after.keys()])].flatMap((name) =>
    paired(before.get(name) ?? [], after.get(name) ?? []).flatMap(({ base, head, alsoIn }) => {
      const same = base !== undefined && base.content === head?.content;
      if (same && !reads(base.set)) return [];
      const sourceFile = head?.file ?? base?.file ?? "";
      const problem = lost(base, head, request);
      return [{ name, sourceFile, base: base?.set, head: head?.set, alsoIn, problem }];
    }),
  );
  const elsewhere = request.liveSets.filter(reads).flatMap((set) => {
    const name = nameOf(set.namespace, set.name);
    const namesakes = here.filter((one) => one.name === name);
    // A file with a set of this name replaces the live one only if it reads the same: anyone can add such a file.
    if (namesakes.some(({ base }) => base !== undefined && reads(base))) return [];
    const alsoIn = namesakes.map(({ sourceFile }) => sourceFile);
    return [{ name, sourceFile: undefined, base: set, head: set, alsoIn, problem: undefined }];
  });
  return [...here, ...elsewhere].sort(byNameOf);
}

function byNameOf(left: ChangedApplicationSet, right: ChangedApplicationSet): number {
  return left.name < right.name ? -1 : left.name > right.name ? 1 : 0;
}

function byName(scan: ManifestScan, nameOf: Naming): ReadonlyMap<string, readonly FoundApplicationSet[]> {
  const found = new Map<string, FoundApplicationSet[]>();
  for (const one of scan.applicationSets) {
    const name = nameOf(one.set.namespace, one.set.name);
    const known = found.get(name);
    if (known === undefined) found.set(name, [one]);
    else known.push(one);
  }
  return found;
}

interface Pair {
  readonly base: FoundApplicationSet | undefined;
  readonly head: FoundApplicationSet | undefined;
  readonly alsoIn: readonly string[];
}

/** One pair if each side has one definition, in whatever files. Otherwise sets of one name are compared by file. */
function paired(before: readonly FoundApplicationSet[], after: readonly FoundApplicationSet[]): readonly Pair[] {
  const contents = (found: readonly FoundApplicationSet[]) => new Set(found.map(({ content }) => content)).size;
  if (contents(before) <= 1 && contents(after) <= 1) return [{ base: before[0], head: after[0], alsoIn: [] }];
  const files = [...new Set([...before, ...after].map(({ file }) => file))].sort();
  return files.map((file) => ({
    base: before.findLast((one) => one.file === file),
    head: after.findLast((one) => one.file === file),
    alsoIn: files.filter((other) => other !== file),
  }));
}

/** A set is not missing on a side if its file cannot be read there. */
function lost(
  base: FoundApplicationSet | undefined,
  head: FoundApplicationSet | undefined,
  scans: Pick<SetRequest, "base" | "head">,
): string | undefined {
  const [missing, file, side] =
    head === undefined
      ? [scans.head, base?.file, "head"]
      : base === undefined
        ? [scans.base, head.file, "merge base"]
        : [];
  const why = file === undefined ? undefined : missing?.unreadable.get(file);
  return why === undefined
    ? undefined
    : `its resource in ${file ?? ""} cannot be read at the ${side ?? ""}: ${why.reason}`;
}

/** Names of applications that a set generates on one side only or with different specs. */
export interface GeneratedChange {
  readonly added: readonly ApplicationName[];
  readonly removed: readonly ApplicationName[];
  readonly changed: readonly ApplicationName[];
}

/** Compares what a set generates on both sides by name; `changed` means another spec. */
export function compareGenerated(base: readonly Application[], head: readonly Application[]): GeneratedChange {
  const before = new Map(base.map((one) => [one.name, one]));
  const after = new Map(head.map((one) => [one.name, one]));
  const [old, young] = [[...before.keys()].sort(), [...after.keys()].sort()];
  return {
    added: young.filter((name) => !before.has(name)),
    removed: old.filter((name) => !after.has(name)),
    changed: young.filter((name) => before.has(name) && !jsonEqual(before.get(name)?.spec, after.get(name)?.spec)),
  };
}

/** Of one set. Each is looked at, stored with the plan, and asked for its rules. */
const MAX_CHANGES = 5000;

/** Why svc does not evaluate what a set changes; undefined if it does. */
export function tooManyChanges({ added, removed, changed }: GeneratedChange): string | undefined {
  if (added.length + removed.length + changed.length <= MAX_CHANGES) return undefined;
  return (
    `it would add ${added.length} applications, remove ${removed.length} and change ${changed.length}, and svc previews ` +
    `at most ${MAX_CHANGES} of one ApplicationSet: check what its generators yield, or split the change`
  );
}
