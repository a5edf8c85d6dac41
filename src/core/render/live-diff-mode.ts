import {
  type DiffInput,
  type DiffQuestion,
  diffTask,
  markTask,
  type RenderFacts,
  sizeOf,
  sizeOfAnswers,
  trialOrderTask,
} from "../diff/diff-task.js";
import { type ObjectAnswers, readIgnoreRules, withManagedNamespace } from "../diff/live/live-objects.js";
import { askedAbout, type TrialOrder, withTrials } from "../diff/live/trial-order.js";
import { applicationSyncOptions, keyOf } from "../diff/manifest-key.js";
import { remarked } from "../diff/summarise.js";
import { type ApplicationSpec, destinationOf, digestOf, type Manifest, specEqual } from "../model/application.js";
import { changeRequestKey } from "../model/change-request.js";
import { nextTurn } from "../model/collections.js";
import { sameCluster } from "../model/effect.js";
import { DeployerFailure, only, safeMessage } from "../model/errors.js";
import { type AllHostWords, type HostWords, listed } from "../model/host-words.js";
import { type JsonText, jsonText } from "../model/json.js";
import type { Danger, ManifestDiff } from "../model/plan/manifest-diff.js";
import type { Evaluated, Unevaluated } from "../model/plan/plan.js";
import { isLeftAlone, LEFT_ALONE, type LiveSubject, plannedSources } from "../model/subject.js";
import { type Compute, type Computed, computeIfLarge, type ComputeLimits, tooMuch } from "../ports/compute.js";
import type { CommandContext, OpenedChange, Stoppable } from "../ports/context.js";
import { type Deployer, isOlder, type LiveState, type Trial } from "../ports/deployer.js";
import { secretsInGit } from "../secrets/secrets-in-git.js";
import type { RenderedSides } from "./render.js";

/** What differs, and what the renders say about other applications; undefined if they could not be compared. */
interface Compared {
  readonly planned: Evaluated | Unevaluated;
  readonly facts: RenderFacts | undefined;
  /** Undefined if Kubernetes is not asked, or was asked before. */
  readonly question?: Question | undefined;
}

/** What to ask Kubernetes about an application. Its plan does not wait for the answer. */
export interface Question {
  /** @throws the signal's reason, or an unexpected error. */
  readonly ask: (signal: AbortSignal) => Promise<Told>;
}

/** Adds Kubernetes' answers about an application to its plan. */
export type Told = (planned: Evaluated) => Evaluated;

/** How many characters of renders a plan may still keep for its questions to Kubernetes. */
interface QuestionRoom {
  questions: number;
}

export interface ComparisonSource
  extends OpenedChange, Stoppable, Pick<CommandContext, "diffMode" | "serverDryRun" | "redact"> {
  readonly deployer: Pick<Deployer, "check" | "liveResources" | "tryObjects">;
  readonly compute: Compute;
  readonly hostWords: AllHostWords;
}

type BothSides = Extract<RenderedSides, { readonly kind: "rendered" }>;

/** Compares in the configured way; where the cluster cannot be read, the renders alone, which hides nothing, and the result says so. */
export async function compareRenders(
  subject: LiveSubject,
  sides: BothSides,
  room: QuestionRoom,
  context: ComparisonSource,
): Promise<Compared> {
  const { deployer, diffMode, redact, settings, signal, log } = context;
  // Renders often end together. The next ones are asked for first, in the place of each of them.
  await nextTurn();
  const branch: DiffInput = {
    ...inputOf(subject, sides, redact),
    syncOptions: await syncOptionsOf(subject.head.spec, deployer),
    sensitiveKinds: settings.sensitiveKinds,
    secretsInGit: rendersSecrets(sides) ? await secretsInGit(subject, context) : { changed: [], files: [] },
  };
  // Argo CD shows live objects of the current cluster only, not of the one that the application moves to.
  const mode = staysInCluster(subject) === "yes" ? diffMode : "branch";
  switch (mode) {
    case "branch":
      return compared(askedLater(branch, subject, room, context), subject, context);
    case "live":
    case "both": {
      if (isLeftAlone(subject.live)) return compared(branch, subject, context, LEFT_ALONE);
      let state: JsonText<LiveState>;
      try {
        state = await deployer.liveResources(subject.live, signal);
      } catch (error) {
        signal.throwIfAborted();
        log.warn({ application: subject.name, err: error }, "could not read the live cluster");
        return compared(askedLater(branch, subject, room, context), subject, context, safeMessage(error));
      }
      return compared({ ...branch, live: { mode, state } }, subject, context);
    }
  }
}

/** Whether Kubernetes is asked once the plan is shown, which need not keep whole renders for it. */
function askedLater(
  input: DiffInput,
  subject: LiveSubject,
  room: QuestionRoom,
  context: Pick<ComparisonSource, "serverDryRun">,
): DiffInput {
  const size = sizeOf(input);
  const asks = isTried(subject, context) && size <= room.questions;
  if (asks) room.questions -= size;
  return { ...input, asks };
}

async function compared(
  input: DiffInput,
  subject: LiveSubject,
  context: ComparisonSource,
  failed?: string,
): Promise<Compared> {
  const { compute, change, hostWords, signal, log, redact } = context;
  const planned = {
    writesDefinition: !specEqual(subject.head.spec, subject.live.spec),
    sources: plannedSources(subject, change.headRevision),
  };
  const limits = { owner: changeRequestKey(change), deadlineMs: DEADLINE_MS, signal };
  const stopped = (limit: "time" | "memory"): Compared => {
    log.warn({ application: subject.name, limit }, "comparing the renders of an application was stopped");
    return { planned: unevaluated(limit, hostWords[change.host]), facts: undefined };
  };
  const tried =
    isTried(subject, context) && input.asks !== true
      ? await triedInCluster(input, limits, subject, context)
      : NOT_TRIED;
  if (tried.kind === "exceeded") return stopped(tried.limit);
  const answered = { ...input, answers: tried.answers };
  const computed = await computeIfLarge(compute, diffTask, answered, sizeOf(answered), limits);
  if (computed.kind === "exceeded") return stopped(computed.limit);
  const { diff: found, facts, question } = computed.output;
  const diff: ManifestDiff =
    failed === undefined ? found : { ...found, basis: { kind: "live-failed", reason: failed } };
  const checked = tried.found && withTrials(diff, { ...tried.found, spec: subject.head.spec, redact });
  const evaluated: Evaluated = { ...planned, kind: "evaluated", verdict: verdictOf(diff), diff, ...checked };
  const cluster = question && askedAbout(question.order);
  if (question === undefined || cluster === undefined) return { planned: evaluated, facts };
  const { ignored, syncOptions } = input;
  const asking = questionAbout(question, { ignored, syncOptions, characters: sizeOf(input) }, subject, context);
  return { planned: { ...evaluated, cluster }, facts, question: asking };
}

/** What is asked about an application later. Its parameters hold only objects that changed, so that the whole renders can be freed. */
function questionAbout(
  { order, sides }: DiffQuestion,
  { characters, ...input }: Pick<DiffInput, "ignored" | "syncOptions"> & { readonly characters: number },
  subject: LiveSubject,
  context: ComparisonSource,
): Question {
  return {
    async ask(signal) {
      const { compute, change, redact } = context;
      const tried = await tryInOrder(order, subject, { ...context, signal });
      const answers = answersOf(tried);
      const limits = { owner: changeRequestKey(change), deadlineMs: DEADLINE_MS, signal };
      const marks = { ...input, sides, answers };
      const computed = await computeIfLarge(compute, markTask, marks, characters + sizeOfAnswers(answers), limits);
      const found = { ...withoutAnswered(tried), spec: subject.head.spec, redact };
      return (planned) => {
        const diff = computed.kind === "done" ? remarked(planned.diff, computed.output) : planned.diff;
        return { ...planned, ...withTrials(diff, found) };
      };
    },
  };
}

/** What Kubernetes makes of objects that the cluster has, but for those with nulls: a sync reads these otherwise than server-side apply. */
function answersOf(tried: TriedInOrder | undefined): ObjectAnswers {
  const found = (tried?.order.objects ?? []).flatMap(({ object }, index) => {
    const trial = tried?.trials[index];
    const answer = trial?.kind === "accepted" ? trial.answer : undefined;
    return answer === undefined || JSON.stringify(object.manifest).includes(":null")
      ? []
      : [[keyOf({ ...object, generateName: "" }), answer] as const];
  });
  return Object.fromEntries(found);
}

function rendersSecrets({ base, head }: BothSides): boolean {
  return [base, head].some(({ manifests }) => manifests.includes('"Secret'));
}

/** Argo CD asks the cluster that the application runs in. */
function isTried({ head, live }: LiveSubject, { serverDryRun }: Pick<ComparisonSource, "serverDryRun">): boolean {
  return serverDryRun === "auto" && destinationOf(head.spec).cluster === destinationOf(live.spec).cluster;
}

interface TriedObjects {
  readonly kind: "tried";
  readonly answers: ObjectAnswers;
  /** What Kubernetes is asked about; undefined if that is nothing. */
  readonly found: TriedInOrder | undefined;
}

const NOT_TRIED: TriedObjects = { kind: "tried", answers: {}, found: undefined };

/** What Kubernetes says. */
async function triedInCluster(
  input: DiffInput,
  limits: ComputeLimits,
  subject: LiveSubject,
  context: Pick<ComparisonSource, "change" | "deployer" | "signal" | "compute">,
): Promise<TriedObjects | Extract<Computed<never>, { readonly kind: "exceeded" }>> {
  const ordered = await computeIfLarge(context.compute, trialOrderTask, input, sizeOf(input), limits);
  if (ordered.kind === "exceeded") return ordered;
  const order = ordered.output;
  if (order.objects.length === 0) return NOT_TRIED;
  const tried = await tryInOrder(order, subject, context);
  return { kind: "tried", answers: answersOf(tried), found: withoutAnswered(tried) };
}

interface TriedInOrder {
  readonly order: TrialOrder;
  readonly trials: readonly Trial[];
}

/** Once the answers are read, only the manifests of refused objects are looked at. All may be as large as the whole render. */
function withoutAnswered({ order, trials }: TriedInOrder): TriedInOrder {
  const objects = order.objects.map((one, at) =>
    trials[at]?.kind === "refused" ? one : { ...one, object: { ...one.object, manifest: {} } },
  );
  return {
    order: { ...order, objects },
    trials: trials.map((one) => (one.kind === "accepted" ? { kind: "accepted" } : one)),
  };
}

async function tryInOrder(
  order: TrialOrder,
  { live: application }: LiveSubject,
  { change, deployer, signal }: Pick<ComparisonSource, "change" | "deployer" | "signal">,
): Promise<TriedInOrder> {
  const objects = order.objects.map(({ object }) => object);
  const trials: readonly Trial[] = isLeftAlone(application)
    ? objects.map(() => ({ kind: "untried", reason: LEFT_ALONE }))
    : await deployer.tryObjects({ application, objects, change }, signal);
  return { order, trials };
}

/** Milliseconds for one application. What the diff shows is limited, so that usual machines need some seconds at most. */
const DEADLINE_MS = 60_000;

function unevaluated(limit: "time" | "memory", { changeRequest }: HostWords): Unevaluated {
  const reason =
    `comparing what the head commit and the target branch render ${tooMuch(limit)}, since they are very large: ` +
    `split the application, or change its large objects in ${changeRequest}s of their own`;
  return { kind: "unevaluated", reason };
}

function inputOf(
  subject: LiveSubject,
  sides: BothSides,
  redact: readonly string[],
): Omit<DiffInput, "secretsInGit" | "sensitiveKinds" | "syncOptions"> {
  const { head, base, live } = subject;
  const stays = staysInCluster(subject);
  const renders = {
    base: stays === "no" ? jsonText<readonly Manifest[]>([]) : sides.base.manifests,
    head: sides.head.manifests,
  };
  return {
    ...withManagedNamespace(renders, { from: stays === "no" ? undefined : base.spec, to: head.spec }),
    mayMove: stays === "perhaps",
    destinationNamespace: destinationOf(head.spec).namespace,
    baseNamespace: destinationOf(base.spec).namespace,
    placeholders: { base: sides.base.renderedAt, head: sides.head.renderedAt },
    redact,
    leftOver: live.leftOver,
    ignored: readIgnoreRules(head.spec, live.spec),
    answers: {},
    live: undefined,
  };
}

/**
 * The sync options of a definition that Argo CD reads: `Prune` and `Delete` of a whole application since 3.4 alone. Before, it
 * deletes all the same (argo-cd pull request 23370).
 */
export async function syncOptionsOf(
  spec: ApplicationSpec,
  deployer: Pick<Deployer, "check">,
): Promise<readonly string[]> {
  const options = applicationSyncOptions(spec);
  const isDeletion = (option: string) => /^(?:Prune|Delete)=/.test(option);
  if (!options.some(isDeletion)) return options;
  return isOlder(await versionOf(deployer), "3.4") === false
    ? options
    : options.filter((option) => !isDeletion(option));
}

const VERSIONS = new WeakMap<Pick<Deployer, "check">, Promise<string>>();

/** The version of Argo CD; `unknown` if it does not answer. It is asked once in a run. */
export function versionOf(deployer: Pick<Deployer, "check">): Promise<string> {
  const version = VERSIONS.get(deployer) ?? askVersion(deployer);
  VERSIONS.set(deployer, version);
  return version;
}

async function askVersion(deployer: Pick<Deployer, "check">): Promise<string> {
  const { version } = await deployer.check().catch(only(DeployerFailure, () => ({ version: "unknown" })));
  return version;
}

/** Whether head and base name the same cluster. In another cluster a sync creates everything, and the old objects go on running. */
export function staysInCluster({ head, base }: LiveSubject): ReturnType<typeof sameCluster> {
  return sameCluster(destinationOf(base.spec), destinationOf(head.spec));
}

const WHOLE = {
  what: "overwrites every object",
  how: " whole, also those that do not change (Replace=true): what others wrote into them is lost",
};
const IGNORED = {
  what: "overwrites ignored fields",
  how: ", also of objects that do not change: its definition has syncs leave fewer fields alone (ignoreDifferences, RespectIgnoreDifferences, ApplyOutOfSyncOnly)",
};

/** The plan with what a changed definition has a sync do to all objects. The diff knows only those that change. */
export function withOptions(found: Evaluated | Unevaluated, { head, live }: LiveSubject): Evaluated | Unevaluated {
  if (found.kind === "unevaluated") return found;
  const [now, before] = [optionsOf(head), optionsOf(live)];
  const overwritten = [
    ...(now.replaces && !before.replaces ? [WHOLE] : []),
    ...([...before.left].every((field) => now.left.has(field)) ? [] : [IGNORED]),
  ];
  const cautions = [...found.diff.cautions, ...overwritten.map(({ what, how }) => `${what}${how}`)];
  const dangers = [...found.diff.dangers, ...overwritten.map(({ what }): Danger => ({ what, pruning: false }))];
  return { ...found, diff: { ...found.diff, cautions, dangers } };
}

/** Whether a definition has all objects replaced, and the fields that a sync leaves as they are: of every object, or of those that do not change. */
function optionsOf({ spec }: { readonly spec: ApplicationSpec }) {
  const options = applicationSyncOptions(spec);
  const skips = options.includes("ApplyOutOfSyncOnly=true");
  const respects = options.includes("RespectIgnoreDifferences=true");
  const rules = skips || respects ? readIgnoreRules(spec, spec).rules : [];
  const fields = rules.flatMap(({ jsonPointers, jqPathExpressions, managedFieldsManagers, ...objects }) => {
    // A rule may have a long name and many fields.
    const digest = digestOf(objects);
    return Object.entries({ jsonPointers, jqPathExpressions, managedFieldsManagers }).flatMap(([member, named]) =>
      named.map((field) => `${digest} ${member} ${field}`),
    );
  });
  const left = new Set(respects ? [...fields, ...fields.map((one) => `respected ${one}`)] : fields);
  return { replaces: options.includes("Replace=true") && !skips, left };
}

/**
 * What only the cluster has, where a plan compares two renders: these do not show that a sync which prunes deletes it. Argo CD does
 * not tell here what Prune=false keeps.
 */
export function leftInCluster(
  { diff }: Evaluated,
  { live: { leftOver = [], spec }, head, autoSynced, notDriven }: LiveSubject,
  { settings: { prune }, change: { baseBranch } }: Pick<OpenedChange, "settings" | "change">,
): readonly string[] {
  if (autoSynced || notDriven !== undefined || diff.basis.kind === "live" || diff.basis.kind === "both") return [];
  if (sameCluster(destinationOf(spec), destinationOf(head.spec)) === "no") return [];
  // A hook keeps nothing that is there without being one. A render does not tell that a custom kind has no namespace.
  const objects = diff.resources.filter(({ hook }) => !hook);
  const shown = new Set(objects.flatMap(({ title }) => [title, title.replace(/ [^ /]+\//, " ")]));
  const left = leftOver.filter((one) => !shown.has(one) && diff.rendered?.includes(one) !== true);
  if (left.length === 0) return [];
  const what = `the cluster has objects that neither ${baseBranch} nor this commit contains, and a sync${prune ? "" : " with --prune"} deletes them`;
  return [`${what}, except those with the sync option Prune=false: ${listed(left, MOST_LEFT)}`];
}

const MOST_LEFT = 10;

/** "Unchanged" needs proof, since an unchanged application is neither locked nor synced. */
function verdictOf(diff: Evaluated["diff"]): Evaluated["verdict"] {
  const { basis, resources, hiddenSecrets } = diff;
  switch (basis.kind) {
    case "branch":
    case "live-failed":
      return resources.length > 0 ? "changed" : hiddenSecrets ? "unknown" : "unchanged";
    case "live":
    case "both": {
      // A sync undoes drift as well.
      if (resources.length > 0 || (basis.kind === "both" && basis.drift.length > 0)) return "changed";
      const untold = hiddenSecrets || basis.alreadyThere.length > 0 || basis.kept.length > 0;
      return untold ? "unknown" : "unchanged";
    }
  }
}
