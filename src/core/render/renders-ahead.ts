import { LRUCache } from "lru-cache";
import { type Application, type Manifest, specEqual } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { type ChangeRequest, changeRequestKey, type ChangeRequestRef } from "../model/change-request.js";
import type { JsonText } from "../model/json.js";
import type { AskingSource, RenderRequest, RendersAhead } from "../ports/deployer.js";

const MAX_REMEMBERED = 1000;
/** How many renders in a row each free place gets: a plan of hundreds of applications takes as long to ask for its own. */
const AHEAD = 3;

type PlannedCommits = Pick<ChangeRequest, "headRevision" | "baseBranch" | "baseRevision">;

/** What the last automatic plan of a change request rendered first, at which commits. */
interface Remembered extends PlannedCommits {
  /** The 1-based positions of the sources that got the head commit, by application. */
  readonly positions: Map<ApplicationName, readonly number[]>;
}

interface Asked {
  readonly request: RenderRequest;
  /** Undefined if it failed, or was stopped. */
  readonly answer: Promise<JsonText<readonly Manifest[]> | undefined>;
}

interface Asking {
  readonly stop: AbortController;
  /** By application; what the plan took is no longer there. */
  readonly renders: Promise<Map<ApplicationName, Asked>>;
}

/** The rules that let the last plan render still hold while the default branch, which it was made for, is at the same commit. */
class RendersOfLastPlan implements RendersAhead {
  readonly #remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  readonly #asking = new Map<string, Asking>();

  constructor(private readonly most: number) {}

  remember({ application, mode, pins, fresh }: RenderRequest, change: ChangeRequest): void {
    const { headRevision, baseBranch, baseRevision } = change;
    const isPlain = mode === "in-place" && !fresh && pins.length > 0;
    if (!isPlain || pins.some(({ revision }) => revision !== headRevision)) return;
    const key = changeRequestKey(change);
    let known = this.#remembered.get(key);
    const commits = { headRevision, baseBranch, baseRevision };
    if (known === undefined || !sameCommits(known, commits)) {
      known = { ...commits, positions: new Map() };
      this.#remembered.set(key, known);
    }
    if (known.positions.size >= this.most) return;
    known.positions.set(
      application.name,
      pins.map(({ position }) => position),
    );
  }

  ask(change: ChangeRequest, source: AskingSource): void {
    const key = changeRequestKey(change);
    const known = this.#remembered.get(key);
    const { baseBranch, baseRevision, defaultBranch } = change;
    if (known?.baseBranch !== baseBranch || known.baseRevision !== baseRevision) return;
    // Rules are read from the default branch as well, and it is not known whether that has moved.
    if (baseBranch !== defaultBranch) return;
    this.stop(change);
    const stop = new AbortController();
    const signal = AbortSignal.any([source.signal, stop.signal]);
    const renders = askFor(known.positions, change, { ...source, signal });
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

function sameCommits(left: PlannedCommits, right: PlannedCommits): boolean {
  const { headRevision, baseBranch, baseRevision } = right;
  return left.headRevision === headRevision && left.baseBranch === baseBranch && left.baseRevision === baseRevision;
}

/** @param atOnce How many renders run at a time. */
export function createRendersAhead(atOnce: number): RendersAhead {
  return new RendersOfLastPlan(AHEAD * atOnce);
}

/** Leaves out what the change request has not locked any more: another one may write its definition meanwhile. */
async function askFor(
  positions: Remembered["positions"],
  change: ChangeRequest,
  { deployer, locks, signal }: AskingSource,
): Promise<Map<ApplicationName, Asked>> {
  const [held, applications] = await Promise.all([locks.list(change), deployer.listApplications(signal)]);
  signal.throwIfAborted();
  const locked = new Set(held.map(({ application }) => application));
  const listed = new Map(applications.map((one) => [one.name, one]));
  const asked = new Map<ApplicationName, Asked>();
  for (const [name, some] of positions) {
    const application = listed.get(name);
    if (application === undefined || !locked.has(name)) continue;
    const request = requestOf(application, some, change);
    asked.set(name, { request, answer: deployer.renderManifests(request, signal).catch(() => undefined) });
  }
  return asked;
}

function requestOf(application: Application, positions: readonly number[], change: ChangeRequest): RenderRequest {
  const pins = positions.map((position) => ({ position, revision: change.headRevision }));
  return { application, mode: "in-place", pins, side: "head", change, helmPositions: [], fresh: false };
}

/** Whether Argo CD would be asked the same. A definition that changed since gets another render. */
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
