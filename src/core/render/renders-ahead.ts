import { LRUCache } from "lru-cache";
import { cleanPath } from "../detect/tree/repository-path.js";
import { type Application, digestOf, type Manifest, renderingSources, specEqual } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { type ChangeRequest, changeRequestKey, type ChangeRequestRef } from "../model/change-request.js";
import { DeployerFailure } from "../model/errors.js";
import { jsonText, type JsonText } from "../model/json.js";
import type { AskingSource, Deployer, RenderRequest, RendersAhead } from "../ports/deployer.js";
import type { Snapshot } from "../ports/snapshot.js";

const MAX_REMEMBERED = 1000;
/**
 * How many times the concurrent renders are requested ahead: a plan of hundreds of applications takes about that long to request
 * its own.
 */
const AHEAD = 3;

/** What the last automatic plan of a change request rendered first. */
interface Remembered extends Pick<ChangeRequest, "headRevision" | "baseRevision"> {
  readonly renders: Map<ApplicationName, RememberedRender>;
}

interface RememberedRender {
  /** Digest of the live definition. */
  readonly definition: string;
  /** 1-based positions of the sources that got the head commit. */
  readonly positions: readonly number[];
}

interface Asked {
  readonly request: RenderRequest;
  /** Undefined if it failed, or was stopped. */
  readonly answer: Promise<JsonText<readonly Manifest[]> | undefined>;
}

interface Asking {
  readonly stop: AbortController;
  /** The renders by application. One that the plan has taken is removed. */
  readonly renders: Promise<Map<ApplicationName, Asked>>;
}

/**
 * Serves only change requests whose target is the default branch. The rules that let a plan render come from those two branches, so
 * the rules of the last plan hold as long as that one branch has not moved.
 */
class RendersOfLastPlan implements RendersAhead {
  readonly #remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  readonly #asking = new Map<string, Asking>();

  constructor(private readonly most: number) {}

  remember({ application, mode, pins, fresh }: RenderRequest, change: ChangeRequest): void {
    const { headRevision, baseRevision } = change;
    const isPlain = mode === "in-place" && !fresh && pins.length > 0;
    if (!isPlain || !followsDefault(change) || pins.some(({ revision }) => revision !== headRevision)) return;
    const key = changeRequestKey(change);
    let known = this.#remembered.get(key);
    if (known?.headRevision !== headRevision || known.baseRevision !== baseRevision) {
      known = { headRevision, baseRevision, renders: new Map() };
      this.#remembered.set(key, known);
    }
    if (known.renders.size >= this.most) return;
    const positions = pins.map(({ position }) => position);
    known.renders.set(application.name, { definition: digestOf(application.spec), positions });
  }

  ask(change: ChangeRequest, source: AskingSource): void {
    const key = changeRequestKey(change);
    const known = this.#remembered.get(key);
    if (known?.baseRevision !== change.baseRevision || !followsDefault(change)) return;
    this.stop(change);
    const stop = new AbortController();
    const signal = AbortSignal.any([source.signal, stop.signal]);
    const renders = askFor(known.renders, change, { ...source, signal });
    this.#asking.set(key, { stop, renders: renders.catch(() => new Map<ApplicationName, Asked>()) });
  }

  async take(request: RenderRequest): Promise<JsonText<readonly Manifest[]> | undefined> {
    const renders = await this.#asking.get(changeRequestKey(request.change))?.renders;
    const asked = renders?.get(request.application.name);
    if (asked === undefined || !isSame(asked.request, request)) return undefined;
    renders?.delete(request.application.name);
    return asked.answer;
  }

  stop(change: ChangeRequestRef): void {
    const key = changeRequestKey(change);
    this.#asking.get(key)?.stop.abort();
    this.#asking.delete(key);
  }
}

function followsDefault({ baseBranch, defaultBranch }: ChangeRequest): boolean {
  return baseBranch === defaultBranch;
}

/** @param atOnce How many renders run at a time. */
export function createRendersAhead(atOnce: number): RendersAhead {
  return new RendersOfLastPlan(AHEAD * atOnce);
}

/** Leaves out what is not locked any more, or has another definition by now, which may read something else. */
async function askFor(
  renders: Remembered["renders"],
  change: ChangeRequest,
  { deployer, locks, signal }: AskingSource,
): Promise<Map<ApplicationName, Asked>> {
  const [held, applications] = await Promise.all([locks.list(change), deployer.listApplications(signal)]);
  signal.throwIfAborted();
  const locked = new Set(held.map(({ application }) => application));
  const listed = new Map(applications.map((one) => [one.name, one]));
  const asked = new Map<ApplicationName, Asked>();
  for (const [name, { definition, positions }] of renders) {
    const application = listed.get(name);
    if (application === undefined || !locked.has(name) || digestOf(application.spec) !== definition) continue;
    const request = requestOf(application, positions, change);
    asked.set(name, { request, answer: deployer.renderManifests(request, signal).catch(() => undefined) });
  }
  return asked;
}

function requestOf(application: Application, positions: readonly number[], change: ChangeRequest): RenderRequest {
  const pins = positions.map((position) => ({ position, revision: change.headRevision }));
  return { application, mode: "in-place", pins, side: "head", change, helmPositions: [], fresh: false };
}

/** Whether Argo CD would be asked the same. The definition may have changed since Argo CD listed it. */
function isSame(asked: RenderRequest, wanted: RenderRequest): boolean {
  return (
    JSON.stringify(wordsOf(asked)) === JSON.stringify(wordsOf(wanted)) &&
    specEqual(asked.application.spec, wanted.application.spec)
  );
}

function wordsOf({ application, mode, pins, fresh }: RenderRequest) {
  const { name, resourceName, namespace, project } = application;
  return [
    name,
    resourceName,
    namespace,
    project,
    mode,
    fresh,
    pins.map(({ position, revision }) => [position, revision]),
  ];
}

interface RenderingSource {
  readonly deployer: Pick<Deployer, "renderManifests">;
  readonly snapshot: Pick<Snapshot, "tree">;
  readonly automatic: boolean;
  readonly signal: AbortSignal;
}

const NOTHING = jsonText<readonly Manifest[]>([]);

/** Renders a side; nothing for a target branch that does not have yet what the application is deployed from. */
export async function renderOrAnew(
  request: RenderRequest,
  context: RenderingSource,
): Promise<JsonText<readonly Manifest[]>> {
  try {
    return await render(request, context);
  } catch (error) {
    context.signal.throwIfAborted();
    if (request.side === "base" && (await isToCome(request, context))) return NOTHING;
    throw error;
  }
}

/** Renders. Argo CD repeats a failure from memory for an hour after three of them: if a person asks, it has to render anew. */
async function render(
  request: RenderRequest,
  { deployer, automatic, signal }: RenderingSource,
): Promise<JsonText<readonly Manifest[]>> {
  try {
    return await deployer.renderManifests(request, signal);
  } catch (error) {
    const isRepeated = error instanceof DeployerFailure && error.message.includes("Manifest generation error (cached)");
    if (automatic || request.fresh || !isRepeated) throw error;
    return deployer.renderManifests({ ...request, fresh: true }, signal);
  }
}

/** Whether these commits lack the folders of all sources that render manifests, so that Argo CD can render none of them. */
async function isToCome(
  { application: { spec }, pins }: RenderRequest,
  { snapshot }: Pick<RenderingSource, "snapshot">,
): Promise<boolean> {
  const lacking = renderingSources(spec).map(async ({ position, chart, path }) => {
    const pin = chart === undefined ? pins.find((one) => one.position === position) : undefined;
    if (pin === undefined) return false;
    const [tree, folder] = [await snapshot.tree(pin.revision), cleanPath(path)];
    return !tree.hasDirectory(folder) && !tree.touchesSubmodule(folder);
  });
  const all = await Promise.all(lacking);
  return all.length > 0 && !all.includes(false);
}
