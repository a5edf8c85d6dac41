import { addressesIn, type IsPath, isPathIn, kustomizeEntries, pluginsIn } from "../detect/inputs/input-set.js";
import { isOwnSource, movingPositions } from "../detect/inputs/moving-sources.js";
import { mayBeAddress, redactUserInfo } from "../detect/tree/repository-url.js";
import {
  type Application,
  type ApplicationSet,
  type ApplicationSpec,
  projectOf,
  readSource,
  sourcesOf,
  specEqual,
} from "../model/application.js";
import type { Revision } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { isJsonObject, type Json } from "../model/json.js";
import type { LiveSubject } from "../model/subject.js";
import type { Commits } from "../ports/context.js";

/**
 * What a render of the application would read that its live definition does not: another AppProject, which may permit
 * private repositories, other addresses, and settings of plugins. The author could then read them in the diff. Addresses
 * are compared as written: no rule of ours decides that two of them are the same. A definition from before a deployment
 * of a change request counts as live.
 */
export async function newReadsOf(
  { live, head, base, ownRecord, foreignRecords }: LiveSubject,
  commits: Commits,
): Promise<readonly string[]> {
  const own = ownRecord === undefined ? [] : [ownRecord];
  const known = [live.spec, ...[...own, ...foreignRecords].map(({ specBefore }) => specBefore)];
  const { headRevision, baseRevision } = commits.change;
  const more = await Promise.all([
    pathsAt(headRevision, head.spec, commits).then((isPath) => beyondAll(head.spec, known, isPath)),
    pathsAt(baseRevision, base.spec, commits).then((isPath) => beyondAll(base.spec, known, isPath)),
  ]);
  return [...new Set(more.flat())];
}

/**
 * What is a path in the sources that get this commit. Of another repository svc sees no tree: there only what begins with a
 * dot is a path for certain.
 */
export async function pathsAt(commit: Revision, spec: ApplicationSpec, { change, snapshot }: Commits): Promise<IsPath> {
  const positions = movingPositions(spec, change);
  const isAsked = sourcesOf(spec).some((source) => kustomizeEntries(source).length > 0);
  const tree = positions.length > 0 && isAsked ? await snapshot.tree(commit) : undefined;
  return (entry, { position, path }) =>
    tree !== undefined && positions.includes(position)
      ? isPathIn(tree, path, entry)
      : /^\.{1,2}\//.test(entry) && !mayBeAddress(entry);
}

/** What the applications read that Argo CD runs and this repository defines, by project; undefined if none is in it. */
export type RunningReads = (project: string) => Reads | undefined;

interface Reads {
  readonly addresses: ReadonlySet<string>;
  readonly plugins: ReadonlySet<string>;
}

/** Reads the definitions of a project when it is first asked for. */
export function runningReads(running: readonly Application[]): RunningReads {
  const known = new Map<string, Reads | undefined>();
  return (project) => {
    if (known.has(project)) return known.get(project);
    const specs = running.flatMap(({ spec }) => (projectOf(spec) === project ? [spec] : []));
    const reads = {
      addresses: new Set(specs.flatMap((spec) => addressesIn(spec))),
      plugins: new Set(specs.flatMap(pluginsIn)),
    };
    known.set(project, specs.length === 0 ? undefined : reads);
    return known.get(project);
  };
}

/** What a definition reads beyond the known ones; nothing if one of them reads as much. */
function beyondAll(spec: ApplicationSpec, known: readonly ApplicationSpec[], isPath: IsPath): readonly string[] {
  const all = known.map((one) => beyond(spec, one, isPath));
  return all.find((reads) => reads.length === 0) ?? all[0] ?? [];
}

function beyond(spec: ApplicationSpec, known: ApplicationSpec, isPath: IsPath): readonly string[] {
  if (spec === known) return [];
  const addresses = new Set(addressesIn(known));
  const more = addressesIn(spec, isPath).filter((address) => !addresses.has(address));
  const plugins = new Set(pluginsIn(known));
  return [
    ...(projectOf(spec) === projectOf(known) ? [] : [`the project ${projectOf(spec)}`]),
    ...more.map(redactUserInfo),
    ...(pluginsIn(spec).every((plugin) => plugins.has(plugin)) ? [] : ["what a plugin makes of other settings"]),
  ];
}

/**
 * Whether a preview of the set shows its author only what they may read: it is generated from lists and from this
 * repository, or the set is the one that Argo CD runs. Other generators read clusters, code hosts and other repositories,
 * and the template decides what of that stands in a name.
 */
export function readsOnlyKnown(
  set: ApplicationSet | undefined,
  live: ApplicationSet | undefined,
  change: ChangeRequest,
): boolean {
  const spec = set?.resource.spec;
  if (!isJsonObject(spec)) return true;
  const running = live?.resource.spec;
  return readsHere(spec.generators, change, NESTING) || (isJsonObject(running) && specEqual(spec, running));
}

/** Argo CD allows two levels of matrix and merge generators. */
const NESTING = 3;

function readsHere(generators: Json | undefined, change: ChangeRequest, levels: number): boolean {
  if (generators === undefined || generators === null) return true;
  if (!Array.isArray(generators) || levels === 0) return false;
  return (generators as readonly Json[]).every(
    (generator) =>
      isJsonObject(generator) &&
      Object.entries(generator).every(([kind, options]) => {
        switch (kind) {
          case "list":
          case "selector":
            return true;
          case "git":
            return isJsonObject(options) && isOwnSource(readSource(options, 1, "plain"), change);
          case "matrix":
          case "merge":
            return isJsonObject(options) && readsHere(options.generators, change, levels - 1);
          default:
            return false;
        }
      }),
  );
}
