import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { matchesPath, mayMeanName } from "../../config/pattern.js";
import { checksFor } from "../../config/rules/rule-match.js";
import {
  GENERATE_PATHS_ANNOTATION,
  fixedPart,
  inputFingerprint,
  overrideFilesOf,
  readsOnlyPinned,
  unpinnedReads,
} from "../detect/inputs/input-set.js";
import { inputsOf } from "../detect/inputs/inputs.js";
import { hasKustomization } from "../detect/inputs/tool-inputs.js";
import { withParameterOverrides } from "../detect/scan/parameter-overrides.js";
import { cleanPath } from "../detect/tree/repository-path.js";
import {
  type Application,
  type Pin,
  projectOf,
  type Source,
  sourcesOf,
  specEqual,
  specText,
} from "../model/application.js";
import { type Revision, shortRevision } from "../model/brand.js";
import { safeMessage } from "../model/errors.js";
import type { Settings } from "../model/settings.js";
import { type LiveSubject, pinsOf, type Side } from "../model/subject.js";
import type { Clock } from "../ports/clock.js";
import type { CommandContext, Commits, OpenedChange, Stoppable } from "../ports/context.js";
import type { Deployer, RenderCache, RenderedManifests, RenderRequest } from "../ports/deployer.js";
import type { TreeEntry } from "../ports/repositories.js";
import type { OpenedTree, RepositoryTree, Snapshot } from "../ports/snapshot.js";
import type { DeploymentStore } from "../ports/stores.js";
import { renderOrAnew } from "./renders-ahead.js";

/** Both sides of an application. `same`: its inputs are equal; its manifests are rendered only for the server's checks. */
export type RenderedSides =
  | { readonly kind: "same"; readonly manifests?: RenderedManifests }
  | {
      readonly kind: "rendered";
      readonly head: RenderedManifests;
      readonly base: RenderedManifests;
      /** What the head was read from that no content pins. */
      readonly unpinned: readonly string[];
    }
  | { readonly kind: "failed"; readonly reason: string };

interface RenderOrder {
  readonly subject: LiveSubject;
  /** This change request holds its lock, so no other writes the definition while Argo CD renders it. */
  readonly locked: boolean;
}

interface RenderLine {
  /** Starts the render of the head, one after the other. @throws the signal's reason. */
  begin(order: RenderOrder): Promise<void>;
  /** Starts the base sides. The promises never reject; after an abort their values mean nothing. */
  finish(): ReadonlyMap<LiveSubject, Promise<RenderedSides>>;
}

export interface RenderSource
  extends
    OpenedChange,
    Stoppable,
    Pick<CommandContext, "automatic" | "diffMode" | "temporaryApps" | "checks" | "renders" | "rendersAhead" | "clock"> {
  readonly deployer: Pick<Deployer, "renderingSettings" | "renderManifests">;
  readonly deployments: Pick<DeploymentStore, "ofApplication">;
}

/** Requests all heads before the first base: the repo-server runs renders of one revision in parallel and makes others wait. */
export function createRenderLine(context: RenderSource): RenderLine {
  const started: { readonly subject: LiveSubject; readonly sides: Started }[] = [];
  let last: Promise<void> = Promise.resolve();

  async function startNext(order: RenderOrder): Promise<void> {
    context.signal.throwIfAborted();
    const prepared = await prepare(order, await context.deployer.renderingSettings(), context);
    if (prepared.kind === "ready" && prepared.head.key !== undefined && order.locked && context.automatic) {
      context.rendersAhead.remember(prepared.head.request, context.change);
    }
    const sides: Started =
      prepared.kind === "ready"
        ? { base: prepared.base, kind: "started", head: run(prepared.head, context), unpinned: prepared.head.unpinned }
        : prepared;
    started.push({ subject: order.subject, sides });
    // Lets the first renders go out while hundreds of other applications are still being prepared.
    if (started.length % 10 === 1) await setImmediate();
    context.signal.throwIfAborted();
  }

  return {
    begin(order) {
      const mine = last.then(() => startNext(order));
      last = mine.catch(() => undefined);
      return mine;
    },
    finish: () => new Map(started.map(({ subject, sides }) => [subject, finish(sides, context)])),
  };
}

interface Task {
  readonly request: RenderRequest;
  readonly subject: LiveSubject;
  /** Key in the cache; undefined when something besides the request and the content of its inputs decides the render. */
  readonly key: string | undefined;
  readonly keep: boolean;
  /** What it reads that no content pins. */
  readonly unpinned: readonly string[];
}

type Settled = Extract<RenderedSides, { readonly kind: "same" | "failed" }>;
/** Without a base where both sides are the same. */
type Prepared = Settled | { readonly kind: "ready"; readonly head: Task; readonly base: Task | undefined };
type Outcome = { readonly kind: "done"; readonly rendered: RenderedManifests } | Extract<Settled, { kind: "failed" }>;
type Started =
  | Settled
  | {
      readonly kind: "started";
      readonly head: Promise<Outcome>;
      readonly base: Task | undefined;
      readonly unpinned: readonly string[];
    };

async function finish(sides: Started, context: RenderSource): Promise<RenderedSides> {
  if (sides.kind !== "started") return sides;
  const [head, base] = await Promise.all([sides.head, sides.base && run(sides.base, context)]);
  if (head.kind === "failed") return head;
  if (base === undefined) return { kind: "same", manifests: head.rendered };
  if (base.kind === "failed") return base;
  return { kind: "rendered", head: head.rendered, base: base.rendered, unpinned: sides.unpinned };
}

async function prepare(order: RenderOrder, settings: string, context: RenderSource): Promise<Prepared> {
  const { subject } = order;
  try {
    const inputs = {
      head: await renderInputs("head", subject, context),
      base: await renderInputs("base", subject, context),
    };
    // The cluster may differ from both sides.
    // What a sync of unpinned inputs would deploy is compared with a render.
    const isPinned = inputs.head.unpinned.length === 0;
    const same = context.diffMode === "branch" && isPinned && readsTheSame(subject, inputs);
    if (same && checksFor(context.checks, subject.name).length === 0) return { kind: "same" };
    const head = await taskOf("head", order, { inputs: inputs.head, settings }, context);
    if (typeof head === "string") return { kind: "failed", reason: head };
    if (same) return { kind: "ready", head, base: undefined };
    const base = await taskOf("base", order, { inputs: inputs.base, settings }, context);
    return typeof base === "string" ? { kind: "failed", reason: base } : { kind: "ready", head, base };
  } catch (error) {
    return failure(subject, "the repository could not be read", error, context);
  }
}

/** What to request, or why Argo CD would render something else. */
async function taskOf(
  side: "head" | "base",
  { subject, locked }: RenderOrder,
  { inputs, settings }: { readonly inputs: RenderInputs; readonly settings: string },
  context: Commits & Pick<RenderSource, "temporaryApps">,
): Promise<Task | string> {
  const { change } = context;
  const { spec } = subject[side];
  const at = side === "head" ? change.headRevision : change.baseRevision;
  const mode = context.temporaryApps === "always" || !specEqual(spec, subject.live.spec) ? "temporary" : "in-place";
  const written = { ...subject.live, spec, project: projectOf(spec) };
  const pins = pinsOf(subject[side], at);
  const around = { snapshot: context.snapshot, reviewed: change.baseRevision };
  const found = mode === "temporary" ? await withParameterOverrides(written, pins, around) : written;
  if ("problem" in found) return found.problem;
  const application = { ...written, spec: found.spec };
  const request: RenderRequest = {
    application,
    mode,
    pins,
    side,
    change,
    helmPositions: mode === "temporary" ? await helmPositions(application, pins, context) : [],
    fresh: subject.live.annotations[GENERATE_PATHS_ANNOTATION] !== undefined || inputs.unpinned.length > 0,
  };
  const key = isRepeatable(subject, inputs) ? keyOf(request, inputs, settings) : undefined;
  return { request, subject, key, keep: locked, unpinned: inputs.unpinned };
}

/** Renders the head of an application that is locked, past Argo CD's cache if its inputs are not pinned. Never rejects. */
export async function renderHead(subject: LiveSubject, inputs: RenderInputs, context: RenderSource): Promise<Outcome> {
  try {
    const settings = await context.deployer.renderingSettings();
    const task = await taskOf("head", { subject, locked: true }, { inputs, settings }, context);
    return typeof task === "string" ? { kind: "failed", reason: task } : await run(task, context);
  } catch (error) {
    return failure(subject, sideName("head", context), error, context);
  }
}

/** While a change request is deployed and not merged, the live definition may change under a render. */
function isRepeatable({ ownRecord, foreignRecords }: LiveSubject, { pinned }: RenderInputs): boolean {
  return pinned && ownRecord === undefined && foreignRecords.length === 0;
}

/** Digest of everything that the manifests depend on, independent of side and commit. */
function keyOf(request: RenderRequest, { fingerprint }: RenderInputs, settings: string): string {
  const { application, mode, pins, helmPositions: helm } = request;
  const { name, resourceName, namespace, project, spec } = application;
  const positions = pins.map(({ position }) => position);
  const parts = [name, resourceName, namespace, project, specText(spec), mode, positions, helm, fingerprint, settings];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Never rejects. The head will be deployed, so it is always rendered at its own commit. */
async function run({ request, subject, key, keep }: Task, context: RenderSource): Promise<Outcome> {
  const { change, clock, log, renders, automatic } = context;
  const { side, mode } = request;
  const kept = key === undefined || side === "head" || !automatic ? undefined : renders.find(key);
  if (kept !== undefined) {
    log.debug({ application: subject.name, side, renderedAt: kept.renderedAt }, "rendered before");
    return { kind: "done", rendered: kept };
  }
  try {
    const start = clock.now().getTime();
    const manifests = (await context.rendersAhead.take(request)) ?? (await renderOrAnew(request, context));
    log.debug({ application: subject.name, side, mode, ms: clock.now().getTime() - start }, "rendered");
    const rendered = { manifests, renderedAt: side === "head" ? change.headRevision : change.baseRevision };
    if (key !== undefined && keep && (await isUndeployed(subject, context))) renders.keep(key, rendered);
    return { kind: "done", rendered };
  } catch (error) {
    return failure(subject, sideName(side, context), error, context);
  }
}

/** Checks again: a sync that ended before we got the lock may have written another definition than the one that was read. */
async function isUndeployed(
  { name }: LiveSubject,
  { deployments }: Pick<RenderSource, "deployments">,
): Promise<boolean> {
  return (await deployments.ofApplication(name)).length === 0;
}

function failure({ name }: LiveSubject, where: string, error: unknown, { log, signal }: Stoppable) {
  if (!signal.aborted) log.warn({ application: name, where, err: error }, "rendering failed");
  return { kind: "failed", reason: `${where}: ${safeMessage(error)}` } as const;
}

function sideName(side: "head" | "base", { change }: Pick<RenderSource, "change">): string {
  const { headRevision, baseRevision, baseBranch } = change;
  return side === "head"
    ? `at the head commit ${shortRevision(headRevision)}`
    : `at ${baseBranch} (${shortRevision(baseRevision)})`;
}

/** What one side of an application is rendered from. */
export interface RenderInputs {
  /** Equal for equal content of everything that the side reads of the change request's repository. */
  readonly fingerprint: string;
  /** The render depends on this content and on immutable things only. */
  readonly pinned: boolean;
  /** What it reads that may change without a commit; empty only if content pins everything. */
  readonly unpinned: readonly string[];
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
  const commits: string[] = fixed.map(({ position, revision }) => `${position}@${revision}`);
  const overrides = inputs
    .flatMap(({ sourcePath }) => overrideFilesOf(live, sourcePath))
    .filter((file) => tree.hasFile(file));
  const parameters = await Promise.all(overrides.map((file) => tree.readYaml(file)));
  if (JSON.stringify(parameters).includes(COMMIT_VARIABLE)) commits.push(at);
  const fingerprint = [inputFingerprint(inputs, tree), ...others, ...commits, ...tree.leadingOut].join(" ");
  const pinned = [...positions, ...fixed.map(({ position }) => position)];
  return {
    fingerprint,
    pinned: readsOnlyPinned(spec, pinned, inputs),
    unpinned: unpinnedReads(spec, pinned, inputs),
  };
}

/** Whether both sides have the same definition and read the same content, which proves them equal without a render. */
function readsTheSame(
  { head, base, ownRecord, foreignRecords, hasChildren }: LiveSubject,
  inputs: { readonly head: RenderInputs; readonly base: RenderInputs },
): boolean {
  // While a change request is deployed and not merged, the target branch does not describe what runs.
  if (ownRecord !== undefined || foreignRecords.length > 0) return false;
  // The renders name the children, one of which may differ in Argo CD.
  if (hasChildren) return false;
  // Its values differ at every commit, and the plan names the objects.
  if (JSON.stringify(head.spec).includes(COMMIT_VARIABLE)) return false;
  return specEqual(head.spec, base.spec) && inputs.head.fingerprint === inputs.base.fingerprint;
}

/** Argo CD puts the commit in its place, also in front of `_SHORT` and `_SHORT_8`. */
const COMMIT_VARIABLE = "ARGOCD_APP_REVISION";

/** Paths that the repository file maps to the application count besides those of its definition. */
function otherPatterns({ name }: Pick<Application, "name">, { applications }: Settings): readonly string[] {
  return applications.filter((entry) => mayMeanName(entry.name, name)).flatMap(({ paths }) => paths);
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

const MAX_BYTES = 64 * 1024 * 1024;
/** A larger part of that for one render would take the place of hundreds. */
const MAX_SHARE = 1 / 4;
/** Keys lack Argo CD's version, its settings and the cluster's API versions: their changes show after an hour. */
const MAX_AGE_MS = 60 * 60_000;

interface Entry extends RenderedManifests {
  readonly keptAt: number;
}

/** Holds at most 64 MiB, 16 in one entry, and each for at most an hour. */
export function createRenderCache(clock: Clock, maxBytes = MAX_BYTES): RenderCache {
  const entries = new LRUCache<string, Entry>({ maxSize: maxBytes, maxEntrySize: maxBytes * MAX_SHARE });
  return {
    find(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (clock.now().getTime() - entry.keptAt >= MAX_AGE_MS) {
        entries.delete(key);
        return undefined;
      }
      return { manifests: entry.manifests, renderedAt: entry.renderedAt };
    },
    keep(key, { manifests, renderedAt }) {
      const size = 2 * (manifests.length + key.length) + 200;
      entries.set(key, { manifests, renderedAt, keptAt: clock.now().getTime() }, { size });
    },
  };
}

/**
 * 1-based positions of the sources that Helm renders: charts, those with a `helm` block, and directories of the change
 * request's repository with a `Chart.yaml`, unless a kustomization beside it counts instead (v3.5 `Discover` in
 * util/app/discovery) or Argo CD found a plugin for it. For other repositories the live object shows it.
 * @param pins the commits of the sources that are in the change request's repository.
 */
export async function helmPositions(
  application: Application,
  pins: readonly Pin[],
  { snapshot }: { readonly snapshot: Pick<Snapshot, "tree"> },
): Promise<readonly number[]> {
  const trees = new Map<number, RepositoryTree>();
  for (const { position, revision } of pins) trees.set(position, await snapshot.tree(revision));
  return sourcesOf(application.spec)
    .filter((source) => source.role !== "sync" && isHelm(source, trees.get(source.position)))
    .map(({ position }) => position);

  function isHelm(source: Source, ownTree: RepositoryTree | undefined): boolean {
    if (source.kustomize !== undefined || source.directory || source.plugin) return false;
    if (source.chart !== undefined || source.helm !== undefined) return true;
    if (source.ref !== undefined && source.path === "") return false;
    const found = sourceTypeOf(application, source.position);
    if (ownTree === undefined || found === "Plugin") return found === "Helm";
    const path = cleanPath(source.path);
    return ownTree.hasFile(cleanPath(path, "Chart.yaml")) && !hasKustomization(path, ownTree);
  }
}

function sourceTypeOf(application: Application, position: number): unknown {
  if (!("sourceTypes" in application) || !Array.isArray(application.sourceTypes)) return undefined;
  return application.sourceTypes[position - 1];
}
