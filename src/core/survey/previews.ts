import { addressesIn, type IsPath, isPathIn, kustomizeEntries, pluginsIn } from "../detect/inputs/input-set.js";
import { isOwnSource, movingPositions, sideOf } from "../detect/inputs/moving-sources.js";
import { isSameSet } from "../detect/scan/application-sets.js";
import { NESTING } from "../detect/scan/generators.js";
import { mayBeAddress, redactUserInfo } from "../detect/tree/repository-url.js";
import type { RenderFacts } from "../diff/diff-task.js";
import {
  type Application,
  type ApplicationSet,
  type ApplicationSpec,
  type LiveApplication,
  projectOf,
  readSource,
  sourcesOf,
} from "../model/application.js";
import type { ApplicationName, Revision } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import type { Member } from "../model/effect.js";
import { safeMessage } from "../model/errors.js";
import { isJsonObject, type Json } from "../model/json.js";
import type { Preview } from "../model/plan/plan.js";
import type { LiveSubject } from "../model/subject.js";
import type { Clock } from "../ports/clock.js";
import type { Commits } from "../ports/context.js";
import type { Deployer } from "../ports/deployer.js";
import { uncheckedPreview } from "../render/check-manifests.js";
import { nothingGoes, type Previewed, previewRemoval, type PreviewSource, renderPreview } from "../render/preview.js";
import { definedHere, projectObstacle, type ProjectClaim } from "./driving-right.js";
import { memberOf } from "./members.js";

export type PreviewOrder =
  | Known
  /** A removed application, read only if there is room for it. `read` returns a sentence if it is not deleted. */
  | {
      readonly kind: "unread";
      readonly name: ApplicationName;
      readonly read: () => Promise<Removed | string>;
    };

export interface Removed {
  readonly kind: "removed";
  readonly live: LiveApplication;
  /** Why its objects are not shown, if so. svc reads them all the same, to know whose rules hold for them. */
  readonly hidden?: string | undefined;
}

type Known =
  | {
      readonly kind: "rendered";
      /** With the definition that takes effect at the merge. */
      readonly application: Application;
      /** With the definition that it replaces; undefined for a new application. */
      readonly replaced: Application | undefined;
    }
  | Removed;

/** A preview of a plan, with what its render says. */
export interface ShownPreview {
  readonly preview: Preview;
  /** With the definition that takes effect; undefined if it is removed, or not rendered. */
  readonly application: Application | undefined;
  readonly facts: RenderFacts | undefined;
}

export interface Previews {
  /** What becomes of the objects of an application that the plan does not deploy. Rejects only if the plan is stopped. */
  preview(order: PreviewOrder): Promise<Previewed>;
  /** Takes the place of one render for something else that is rendered; false if there is none left. */
  take(): boolean;
}

/** Why the approval of the head does not lift what is withheld of an application; undefined if it does. */
type Why = (
  deployed: readonly { readonly application: ApplicationName; readonly members: readonly Member[] }[],
) => Promise<string | undefined>;

interface PreviewsSource extends PreviewSource {
  readonly deployer: PreviewSource["deployer"] & Pick<Deployer, "listApplications">;
  readonly previewLimit: number;
  readonly clock: Clock;
}

/**
 * The previews of one plan: at most `previewLimit` renders, and as many deletions, which a change request cannot crowd out by what it
 * adds: whose rules hold for a deletion depends on what goes with it. A definition that reads more than the applications that this repository
 * defines, and Argo CD runs, is not rendered as long as `why` gives a reason against it: its author would read that in the
 * plan. Several previews of one name wait for each other, since they have the same temporary Application.
 */
export function createPreviews(why: Why, context: PreviewsSource): Previews {
  const last = new Map<ApplicationName, Promise<unknown>>();
  const since = context.clock.now();
  let running: Promise<RunningReads> | undefined;
  let newest: Promise<RunningReads> | undefined;
  const known = () => (running ??= runningHere(context));
  const knownNow = () => (newest ??= runningHere(context, since));
  const left = { rendered: context.previewLimit, deleted: context.previewLimit };

  async function show(asked: PreviewOrder): Promise<Previewed> {
    try {
      const order = asked.kind === "unread" ? await asked.read() : asked;
      if (typeof order === "string") return nothingGoes(order);
      if (order.kind === "removed" && order.hidden !== undefined) {
        return hiddenRemoval(await previewRemoval(order.live, context), order.hidden);
      }
      const obstacle = order.kind === "rendered" ? comesInto(order, context) : undefined;
      // As withheld: no approval lifts it.
      if (obstacle !== undefined) return failed(obstacle, true);
      const beyond = await beyondRunning(order, await known(), context);
      // What Argo CD listed some seconds ago may lack the application that reads as much.
      const reads = beyond.length === 0 ? [] : await beyondRunning(order, await knownNow(), context);
      const reason = await withheld(order, reads, why, context);
      if (reason !== undefined) return failed(reason, true);
      if (order.kind === "removed") return await previewRemoval(order.live, context);
      const head = await sideOf(order.application.spec, context);
      const base = order.replaced && (await sideOf(order.replaced.spec, context));
      const unclear = head.unclear ?? base?.unclear;
      if (unclear !== undefined) return failed(unclear);
      const replaced = order.replaced && base && { application: order.replaced, side: base.side };
      return await renderPreview({ application: order.application, side: head.side }, replaced, context);
    } catch (error) {
      context.signal.throwIfAborted();
      context.log.warn({ application: nameOf(asked), err: error }, "could not preview an application");
      return failed(safeMessage(error));
    }
  }

  function take(what: keyof typeof left): boolean {
    left[what] -= 1;
    return left[what] >= 0;
  }

  return {
    take: () => take("rendered"),
    preview(order) {
      if (!take(order.kind === "rendered" ? "rendered" : "deleted")) {
        const content = { kind: "beyond-limit", limit: context.previewLimit } as const;
        return Promise.resolve(checked(order, { content, facts: undefined }, context));
      }
      const name = nameOf(order);
      const shown = (last.get(name) ?? Promise.resolve()).then(async () => checked(order, await show(order), context));
      // Whoever asked for it handles its rejection; until then it must not end the process as an unhandled one.
      const settled = shown.catch(() => undefined);
      last.set(name, settled);
      return shown;
    },
  };
}

/** Why this change request may not bring the application into its project; undefined if it may, or it is there already. */
function comesInto(
  { application, replaced }: Extract<Known, { kind: "rendered" }>,
  claim: ProjectClaim,
): string | undefined {
  const project = projectOf(application.spec);
  const isThere = replaced !== undefined && projectOf(replaced.spec) === project;
  return isThere ? undefined : projectObstacle(project, claim);
}

/** Counts checks that could not run as failed. A removed application has nothing to check. */
function checked(order: PreviewOrder, shown: Previewed, context: Pick<PreviewsSource, "checks">): Previewed {
  if (order.kind !== "rendered" || shown.content.kind === "compared") return shown;
  return { ...shown, content: uncheckedPreview(order.application.name, shown.content, context) };
}

function nameOf(order: PreviewOrder): ApplicationName {
  switch (order.kind) {
    case "rendered":
      return order.application.name;
    case "removed":
      return order.live.name;
    case "unread":
      return order.name;
  }
}

/** Without facts, which say whose rules hold, a deletion needs an approval, as one does that takes something sensitive along. */
function hiddenRemoval({ content, facts }: Previewed, reason: string): Previewed {
  if (content.kind === "left-behind") return nothingGoes(reason);
  const isSensitive = content.kind === "compared" && content.diff.sensitive !== undefined;
  return { ...failed(reason), facts: isSensitive ? undefined : facts };
}

function failed(reason: string, withheld?: boolean): Previewed {
  return { content: { kind: "failed", reason, ...(withheld === true ? { withheld } : {}) }, facts: undefined };
}

/** What the running applications that this repository defines read. @param since The list must not be older. */
async function runningHere(
  { deployer, change, settings, signal }: Pick<PreviewsSource, "deployer" | "change" | "settings" | "signal">,
  since?: Date,
): Promise<RunningReads> {
  return runningReads(definedHere(await deployer.listApplications(signal, since), change, settings));
}

function definitionsOf(order: Known) {
  return order.kind === "removed"
    ? { head: undefined, before: [order.live.spec] }
    : { head: order.application.spec, before: order.replaced === undefined ? [] : [order.replaced.spec] };
}

/** What an application reads, on either side, beyond the running ones. */
async function beyondRunning(order: Known, running: RunningReads, commits: Commits): Promise<readonly string[]> {
  const { head, before } = definitionsOf(order);
  const { change } = commits;
  const sides = [
    ...(head === undefined ? [] : [[change.headRevision, head] as const]),
    ...before.map((spec) => [change.baseRevision, spec] as const),
  ];
  const found = await Promise.all(
    sides.map(async ([commit, spec]) =>
      readsBeyondRunning(spec, running, change, await pathsAt(commit, spec, commits)),
    ),
  );
  return [...new Set(found.flat())];
}

/** Why an application that reads this beyond the running ones is not previewed yet; undefined if it may be. */
async function withheld(
  order: Known,
  reads: readonly string[],
  why: Why,
  { change }: Pick<Commits, "change">,
): Promise<string | undefined> {
  if (reads.length === 0) return undefined;
  const application = nameOf(order);
  const { head, before } = definitionsOf(order);
  const missing = await why([
    { application, members: [memberOf({ application, head, before, reachedBy: { kind: "direct" }, change })] },
  ]);
  if (missing === undefined) return undefined;
  return (
    "it is not rendered before somebody who may deploy it has approved this commit: " +
    `it uses ${reads.join(", ")}, and no running application that ${change.repository} defines in the same project does. ` +
    missing
  );
}

/**
 * What a render of a definition that Argo CD does not run would read beyond the applications that it runs and this repository
 * defines: a project that none of them is in, and addresses and plugins that none in that project has, this repository aside.
 */
export function readsBeyondRunning(
  spec: ApplicationSpec,
  running: RunningReads,
  { repositoryUrls }: Pick<ChangeRequest, "repositoryUrls">,
  isPath?: IsPath,
): readonly string[] {
  return beyond(spec, running(projectOf(spec)), isPath, repositoryUrls);
}

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

/** What is a path in the sources that get this commit; in another repository, what begins with a dot. */
async function pathsAt(commit: Revision, spec: ApplicationSpec, { change, snapshot }: Commits): Promise<IsPath> {
  const positions = movingPositions(spec, change);
  const isAsked = sourcesOf(spec).some((source) => kustomizeEntries(source).length > 0);
  const tree = positions.length > 0 && isAsked ? await snapshot.tree(commit) : undefined;
  return (entry, { position, path }) =>
    tree !== undefined && positions.includes(position)
      ? isPathIn(tree, path, entry)
      : /^\.{1,2}\//.test(entry) && !mayBeAddress(entry);
}

/** What the applications read that Argo CD runs and this repository defines, by project. */
type RunningReads = (project: string) => Reads;

interface Reads {
  readonly projects: ReadonlySet<string>;
  readonly addresses: ReadonlySet<string>;
  readonly plugins: ReadonlySet<string>;
}

function readsOf(specs: readonly ApplicationSpec[]): Reads {
  return {
    projects: new Set(specs.map(projectOf)),
    addresses: new Set(specs.flatMap((spec) => addressesIn(spec))),
    plugins: new Set(specs.flatMap(pluginsIn)),
  };
}

/** Reads the definitions of a project when it is first asked for. */
export function runningReads(running: readonly Application[]): RunningReads {
  const known = new Map<string, Reads>();
  return (project) => {
    const reads =
      known.get(project) ?? readsOf(running.map(({ spec }) => spec).filter((spec) => projectOf(spec) === project));
    known.set(project, reads);
    return reads;
  };
}

/** What a definition reads that none of the known ones reads; nothing if one of them reads as much. */
function beyondAll(spec: ApplicationSpec, known: readonly ApplicationSpec[], isPath: IsPath): readonly string[] {
  const all = known.map((one) => (one === spec ? [] : beyond(spec, readsOf([one]), isPath)));
  return all.find((reads) => reads.length === 0) ?? all[0] ?? [];
}

/** @param own addresses that count as known. */
function beyond(spec: ApplicationSpec, known: Reads, isPath?: IsPath, own: readonly string[] = []): readonly string[] {
  const more = addressesIn(spec, isPath).filter((one) => !own.includes(one) && !known.addresses.has(one));
  return [
    ...(known.projects.has(projectOf(spec)) ? [] : [`the project ${projectOf(spec)}`]),
    ...new Set(more.map(redactUserInfo)),
    ...(pluginsIn(spec).every((one) => known.plugins.has(one)) ? [] : ["what a plugin makes of other settings"]),
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
  if (set === undefined || !isJsonObject(spec)) return true;
  return readsHere(spec.generators, change, NESTING) || (live !== undefined && isSameSet(set, live));
}

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
