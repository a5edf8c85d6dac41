import { setImmediate } from "node:timers/promises";
import type { Application } from "../../model/application.js";
import type { ApplicationName } from "../../model/brand.js";
import { jsonEqual } from "../../model/json.js";
import type { FoundApplication, ManifestScan } from "../../ports/manifest-scanner.js";

/** How one application's resource changed between the merge base and the head. */
export interface ResourceChange {
  readonly name: ApplicationName;
  readonly kind: "new" | "deleted" | "modified" | "unchanged";
  /** The resource at the merge base; undefined if there is none or files disagree. */
  readonly base: Application | undefined;
  /** The same at the head. */
  readonly head: Application | undefined;
  /** Everything found under this name: several if files disagree. */
  readonly found: readonly Application[];
  /** The file at the head, or at the merge base when there is none at the head. */
  readonly sourceFile: string;
  /** More than labels and annotations differ. */
  readonly specChanged: boolean;
  /** Why the resource at the head cannot be used, though there is one; undefined when it can. */
  readonly problem: string | undefined;
}

/** Compares by application name: a resource that is moved to another file or reformatted is unchanged. */
export async function compareResources(base: ManifestScan, head: ManifestScan): Promise<readonly ResourceChange[]> {
  const [before, after] = [byName(base), byName(head)];
  const changes: ResourceChange[] = [];
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [old, young] = [before.get(name) ?? [], after.get(name) ?? []];
    changes.push(compareOne(name, { found: old, scan: base }, { found: young, scan: head }));
    if (changes.length % 200 === 0) await setImmediate();
  }
  return changes;
}

interface Side {
  readonly found: readonly FoundApplication[];
  readonly scan: ManifestScan;
}

function compareOne(name: ApplicationName, base: Side, head: Side): ResourceChange {
  const kind = kindOf(base, head);
  const [old, young] = [usable(base, head), usable(head, base)];
  const specChanged =
    kind !== "unchanged" &&
    !(old.application && young.application && jsonEqual(old.application.spec, young.application.spec));
  return {
    name,
    kind,
    base: old.application,
    head: young.application,
    found: [...base.found, ...head.found].map(({ application }) => application),
    sourceFile: young.file ?? old.file ?? "",
    specChanged,
    problem: kind === "deleted" ? undefined : young.problem,
  };
}

function kindOf(base: Side, head: Side): ResourceChange["kind"] {
  if (base.found.length === 0) return lostIn(base, head) === undefined ? "new" : "modified";
  if (head.found.length === 0) return lostIn(head, base) === undefined ? "deleted" : "modified";
  return contentsOf(base.found).join("\n") === contentsOf(head.found).join("\n") ? "unchanged" : "modified";
}

/** A file that holds the resource on the other side and cannot be (fully) read on this one: it may still be in there. */
function lostIn(side: Side, other: Side): string | undefined {
  return other.found.map(({ file }) => file).find((file) => side.scan.unreadable.has(file));
}

function contentsOf(found: readonly FoundApplication[]): readonly string[] {
  return [...new Set(found.map(({ content }) => content))].sort();
}

interface Usable {
  readonly application: Application | undefined;
  readonly file: string | undefined;
  readonly problem: string | undefined;
}

function usable(side: Side, other: Side): Usable {
  const known = new Set(other.found.map(({ content }) => content));
  const changed = side.found.find(({ content }) => !known.has(content)) ?? side.found[0];
  if (changed === undefined) {
    const file = lostIn(side, other);
    if (file === undefined) return { application: undefined, file, problem: undefined };
    const why = side.scan.unreadable.get(file)?.reason ?? "";
    return { application: undefined, file, problem: `its Application resource in ${file} cannot be read: ${why}` };
  }
  const { file } = changed;
  if (contentsOf(side.found).length > 1) {
    const files = [...new Set(side.found.map((one) => one.file))].join(", ");
    return {
      application: undefined,
      file,
      problem: `it is defined more than once and differently (${files}), so its definition cannot be told`,
    };
  }
  if (changed.problem !== undefined) {
    return {
      application: undefined,
      file,
      problem: `its Application resource in ${file} is not complete: ${changed.problem}`,
    };
  }
  return { application: changed.application, file, problem: undefined };
}

/** The resources of a scan by application name, in the order of their files. */
export function byName(scan: ManifestScan): ReadonlyMap<ApplicationName, readonly FoundApplication[]> {
  const found = new Map<ApplicationName, FoundApplication[]>();
  for (const one of scan.applications) {
    const known = found.get(one.application.name);
    if (known === undefined) found.set(one.application.name, [one]);
    else known.push(one);
  }
  return found;
}
