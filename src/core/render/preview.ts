import { withParameterOverrides } from "../detect/scan/parameter-overrides.js";
import {
  type DiffInput,
  diffTask,
  type RenderedChild,
  type RenderFacts,
  sensitiveChanges,
  sensitiveText,
  sizeOf,
} from "../diff/diff-task.js";
import { normaliseLive, readIgnoreRules, withEqualMasks, withManagedNamespace } from "../diff/live/live-objects.js";
import { hasSyncOption, isHook, type ManifestIdentity, namespacesOf, titleOf, valuesIn } from "../diff/manifest-key.js";
import { summarise, type Sides } from "../diff/summarise.js";
import { CRD, takenAlong, typeOf } from "../diff/taken-along.js";
import {
  type Application,
  destinationOf,
  isHydrated,
  type LiveApplication,
  type Manifest,
} from "../model/application.js";
import { changeRequestKey } from "../model/change-request.js";
import { sameCluster } from "../model/effect.js";
import { DeployerFailure, safeMessage } from "../model/errors.js";
import { jsonText, type JsonText, readJsonText } from "../model/json.js";
import type { Danger } from "../model/plan/manifest-diff.js";
import type { PreviewContent } from "../model/plan/plan.js";
import { isLeftAlone, LEFT_ALONE, pinsOf, type Side } from "../model/subject.js";
import { type Computed, computeIfLarge, type Task, tooMuch } from "../ports/compute.js";
import type { OpenedChange, Stoppable } from "../ports/context.js";
import type { Deployer, LiveState } from "../ports/deployer.js";
import { type CheckSource, runChecks } from "./check-manifests.js";
import { syncOptionsOf } from "./live-diff-mode.js";
import { helmPositions } from "./render.js";
import { renderOrAnew } from "./renders-ahead.js";

/** A definition, with the commits of its sources in this repository. */
interface PreviewSide {
  readonly application: Application;
  readonly side: Side;
}

export interface Previewed {
  readonly content: PreviewContent;
  readonly facts: RenderFacts | undefined;
}

export interface PreviewSource extends CheckSource, OpenedChange {
  readonly deployer: Pick<Deployer, "check" | "renderManifests" | "liveResources">;
  readonly automatic: boolean;
}

const NOTHING = jsonText<readonly Manifest[]>([]);

/** Renders a definition and the one that it replaces, under temporary names that disturb no plan. @throws only the signal's reason. */
export async function renderPreview(
  head: PreviewSide,
  base: PreviewSide | undefined,
  context: PreviewSource,
): Promise<Previewed> {
  const { name } = head.application;
  // Both are waited for, so that no temporary Application is left when the plan ends.
  const [after, before] = await Promise.allSettled([
    rendered("head", head, context),
    base === undefined ? NOTHING : rendered("base", base, context),
  ]);
  if (after.status === "rejected") return failed(name, after.reason, context);
  if (before.status === "rejected") return failed(name, before.reason, context);
  const [from, to] = [destinationOf((base ?? head).application.spec), destinationOf(head.application.spec)];
  const { change, settings, compute, redact } = context;
  const stays = sameCluster(from, to);
  // In another cluster everything is created.
  const replaced = stays === "no" ? undefined : base?.application.spec;
  const renders = { base: stays === "no" ? NOTHING : before.value, head: after.value };
  const input: DiffInput = {
    ...withManagedNamespace(renders, { from: replaced, to: head.application.spec }),
    mayMove: stays === "perhaps",
    destinationNamespace: to.namespace,
    baseNamespace: from.namespace,
    syncOptions: await syncOptionsOf(head.application.spec, context.deployer),
    placeholders: { base: change.baseRevision, head: change.headRevision },
    redact,
    ignored: readIgnoreRules({}, {}),
    answers: {},
    live: undefined,
    secretsInGit: { changed: undefined, files: [] },
    sensitiveKinds: settings.sensitiveKinds,
  };
  const { application } = head;
  const [computed, checks] = await Promise.all([
    computeIfLarge(compute, diffTask, input, sizeOf(input), limitsOf(context)),
    runChecks(application, { head: after.value, base: before.value }, { reuse: context.automatic }, context),
  ]);
  if (computed.kind === "exceeded") return failed(name, tooLarge(computed), context);
  const checked = checks.length === 0 ? {} : { checks };
  return { content: { kind: "compared", diff: computed.output.diff, ...checked }, facts: computed.output.facts };
}

/** The preview of a removal that deletes nothing. */
export function nothingGoes(reason: string): Previewed {
  const facts = { children: [], sets: [], sameSets: [], touched: [], namespaces: [] };
  return { content: { kind: "failed", reason }, facts };
}

/** What goes with a deleted application, or stays behind without an owner. @throws only the signal's reason. */
export async function previewRemoval(live: LiveApplication, context: PreviewSource): Promise<Previewed> {
  const { deployer, compute, redact, signal, settings } = context;
  const { cascades, hooksAtDeletion } = live;
  if (isLeftAlone(live)) return nothingGoes(LEFT_ALONE);
  try {
    const state = await deployer.liveResources(live, signal);
    const { sensitiveKinds } = settings;
    const syncOptions = await syncOptionsOf(live.spec, deployer);
    const input = { state, cascades, hooksAtDeletion, syncOptions, redact, sensitiveKinds };
    const computed = await computeIfLarge(compute, removalTask, input, input.state.length, limitsOf(context));
    if (computed.kind === "exceeded") throw tooLarge(computed);
    return computed.output;
  } catch (error) {
    return failed(live.name, error, context, hooksAtDeletion === true ? `. ${RUNS_HOOKS}` : "");
  }
}

async function rendered(
  side: "head" | "base",
  { application: written, side: { spec, positions, fixed } }: PreviewSide,
  context: Pick<PreviewSource, "automatic" | "change" | "deployer" | "snapshot" | "signal">,
): Promise<JsonText<readonly Manifest[]>> {
  const { change, snapshot } = context;
  if (isHydrated(spec)) throw new NotPreviewed("it uses Argo CD's source hydrator, which is not previewed");
  const pins = pinsOf({ spec, positions, fixed }, side === "head" ? change.headRevision : change.baseRevision);
  const found = await withParameterOverrides(written, pins, { snapshot, reviewed: change.baseRevision });
  if ("problem" in found) throw new NotPreviewed(found.problem);
  const application = { ...written, spec: found.spec };
  const helm = await helmPositions(application, pins, context);
  const request = { application, mode: "temporary", pins, side, change, helmPositions: helm, fresh: false } as const;
  return renderOrAnew({ ...request, preview: true }, context);
}

class NotPreviewed extends Error {}

function failed(application: string, error: unknown, { log, signal }: Stoppable, more = ""): Previewed {
  signal.throwIfAborted();
  log.warn({ application, err: error }, "could not preview an application");
  const message = error instanceof NotPreviewed ? error.message : safeMessage(error);
  const denied = error instanceof DeployerFailure && error.reason === "forbidden";
  const reason = denied ? `${message}. ${PERMISSIONS}` : message;
  return { content: { kind: "failed", reason: reason + more }, facts: undefined };
}

const PERMISSIONS =
  "Previews need `applications, get`, `create` and `delete` in the application's project: give them to svc's token";

const DEADLINE_MS = 60_000;

function limitsOf({ change, signal }: Pick<PreviewSource, "change" | "signal">) {
  return { owner: changeRequestKey(change), deadlineMs: DEADLINE_MS, signal };
}

function tooLarge({ limit }: Extract<Computed<never>, { kind: "exceeded" }>): NotPreviewed {
  return new NotPreviewed(`comparing its objects ${tooMuch(limit)}`);
}

interface RemovalInput
  extends Pick<DiffInput, "redact" | "sensitiveKinds">, Pick<LiveApplication, "cascades" | "hooksAtDeletion"> {
  readonly state: JsonText<LiveState>;
  /** The application's sync options, as far as Argo CD reads them. */
  readonly syncOptions: readonly string[];
}

/** What the deletion of an application does to its objects. */
export const removalTask: Task<RemovalInput, Previewed> = {
  name: "removal",
  run({ state, cascades, hooksAtDeletion, syncOptions, redact, sensitiveKinds }) {
    const live = readJsonText(state);
    const objects = liveObjects(live);
    const titles = objects.map(({ identity }) => titleOf(identity)).sort();
    const hooks = hooksAtDeletion === true ? RUNS_HOOKS : undefined;
    if (!cascades) return { content: { kind: "left-behind", objects: titles, caution: hooks }, facts: undefined };
    const judged = objects.map((one) => ({ ...one, kept: whyKept(one, syncOptions) }));
    const gone = judged.filter(({ kept }) => kept === undefined);
    const diff = summarise(gone, { syncOptions: [], redact, basis: { kind: "branch" }, all: true });
    const sensitive = sensitiveChanges(gone, sensitiveKinds, []);
    const found = [
      ...sensitive.map((what): Remark => ({ text: sensitiveText(what), danger: { what, pruning: false } })),
      ...gone.flatMap(danger),
      ...gone.flatMap((one) => confirmed(one, syncOptions)),
      ...judged.flatMap(keeping),
      ...[hooks, live.stale].flatMap((text) => (text === undefined ? [] : [{ text, danger: undefined }])),
    ];
    const removed = {
      ...diff,
      ...(sensitive.length > 0 && { sensitive }),
      cautions: found.map(({ text }) => text),
      dangers: found.flatMap((one) => (one.danger === undefined ? [] : [one.danger])),
    };
    const namespaces = namespacesOf(gone.map(({ identity }) => identity));
    const applied = (kind: string) => gone.filter(({ identity }) => typeOf(identity) === `argoproj.io/${kind}`);
    const children = applied("Application").map(({ identity: { name, namespace } }): RenderedChild => {
      return { name, namespace, base: undefined, head: undefined, changed: true, operates: false };
    });
    const sets = applied("ApplicationSet").map(({ identity: { name, namespace }, base }) => {
      return { name, namespace, base, head: undefined };
    });
    const facts = { children, sets, sameSets: [], touched: [], namespaces };
    return { content: { kind: "compared", diff: removed }, facts };
  },
};

const RUNS_HOOKS = "Argo CD runs hooks of it when it is deleted (PreDelete, PostDelete), which are not shown";

interface LiveObject extends Sides {
  readonly base: NonNullable<Sides["base"]>;
}

function liveObjects({ resources }: LiveState): readonly LiveObject[] {
  return resources.flatMap(({ group, kind, namespace, name, live, hook }) => {
    if (live === undefined || hook || isHook(live)) return [];
    const identity: ManifestIdentity = { group, kind, namespace, name, generateName: "" };
    return [{ identity, base: withEqualMasks(identity, normaliseLive(live)), head: undefined, hook: false }];
  });
}

/**
 * Why the object stays although Argo CD deletes those of the application (v3.5 `shouldBeDeleted` in
 * `controller/appcontroller.go`).
 */
function whyKept({ identity, base }: LiveObject, ofApplication: readonly string[]): string | undefined {
  if (typeOf(identity) === CRD) return "Argo CD deletes no definition of custom resources with an application";
  if (hasSyncOption(base, "Delete=false", ofApplication)) return "because of Delete=false";
  return valuesIn(base, "helm.sh/resource-policy").includes("keep")
    ? "because of helm.sh/resource-policy: keep"
    : undefined;
}

interface Remark {
  readonly text: string;
  readonly danger: Danger | undefined;
}

function danger({ identity, base }: LiveObject): readonly Remark[] {
  const taken = takenAlong(identity, base);
  if (taken === undefined) return [];
  const what = `deletes ${titleOf(identity)}`;
  return [{ text: `${what}: ${taken}`, danger: { what, pruning: false } }];
}

/** Since v3.4, Argo CD waits for a confirmation of the deletion with `Prune=confirm` as well (`isObjRequiresDeletionConfirmation`). */
function confirmed({ identity, base }: LiveObject, ofApplication: readonly string[]): readonly Remark[] {
  const options = ["Delete=confirm", "Prune=confirm"].filter((one) => hasSyncOption(base, one, ofApplication));
  if (options.length === 0) return [];
  const why = `${options.join(", ")}, from version ${options.includes("Delete=confirm") ? "2.14" : "3.4"} on`;
  const text = `waits with ${titleOf(identity)} until somebody confirms its deletion in Argo CD (${why})`;
  return [{ text, danger: undefined }];
}

function keeping({ identity, kept }: LiveObject & { readonly kept: string | undefined }): readonly Remark[] {
  if (kept === undefined) return [];
  const text = `keeps ${titleOf(identity)} in the cluster, ${kept}: delete it by hand if it is to go`;
  return [{ text, danger: undefined }];
}
