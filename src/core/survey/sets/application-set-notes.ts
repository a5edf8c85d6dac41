import {
  type ChangedApplicationSet,
  firstOf,
  type GeneratedChange,
  gitGenerators,
  hasSameLabels,
  isTemplated,
  mayMove,
  readAside,
  readsFiles,
  twice,
} from "../../detect/scan/application-sets.js";
import { type Application, type ApplicationSet, specEqual } from "../../model/application.js";
import type { ApplicationName } from "../../model/brand.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { withoutReview } from "../../model/effect.js";
import { counted } from "../../model/host-words.js";
import { isJsonObject } from "../../model/json.js";
import { ignoredFieldsNotes } from "../ignored-fields.js";

/** What Argo CD generates from a set on both sides. */
export interface Expansion {
  readonly set: ChangedApplicationSet;
  /** What it generates at the merge base. */
  readonly base: readonly Application[];
  /** What it generates at the head, including duplicate names. */
  readonly head: readonly Application[];
  readonly comparison: GeneratedChange;
  /** The members of its own spec that change, which counts as a change of every application that it owns. */
  readonly settings: readonly string[];
  /** The applications that it owns in Argo CD, if its settings change or it is removed. */
  readonly owned: readonly ApplicationName[];
}

const MAX_NAMED = 10;

export interface NoteSurroundings {
  readonly live: Pick<ReadonlySet<ApplicationName>, "has">;
  readonly change: ChangeRequest;
  /** Paths that changed on the base branch since the head branched off. */
  readonly baseChanges: readonly string[];
}

/** Sentences on what the controller does with the generated applications, and where the preview is inexact. */
export function notesOf(
  { set, base, head, comparison, settings }: Omit<Expansion, "owned">,
  { live, change, baseChanges }: NoteSurroundings,
): readonly string[] {
  const { added, removed, changed } = comparison;
  return [
    ...duplicateNote(set),
    ...settingsNote(settings),
    ...asideNote(set, change),
    ...behindNote(set, change, baseChanges),
    ...removalNotes(set, removed, base),
    ...(changed.length > 0 && set.head !== undefined && !policyOf(set.head).updates
      ? [
          `its policy ${policyOf(set.head).name} leaves existing applications as they are: a changed definition does not reach them`,
        ]
      : []),
    ...about(
      relabelled(base, head),
      "gets other labels, annotations or finalizers, or an operation, and keeps its definition",
    ),
    ...ignoredFieldsNotes(set.base, set.head, changed.length > 0),
    ...about(
      added.filter((name) => live.has(name)),
      "runs in Argo CD already: the ApplicationSet takes it over or fails on it",
    ),
    ...about(
      [...changed, ...removed].filter((name) => !live.has(name)),
      "is not in Argo CD, or svc's token may not see it",
    ),
    ...about(twice(head), "is generated more than once: Argo CD takes the first at most, and reports an error"),
    ...templatedNote(set, change),
  ];
}

function duplicateNote({ alsoIn }: ChangedApplicationSet): readonly string[] {
  if (alsoIn.length === 0) return [];
  return [
    `${alsoIn.slice(0, MAX_NAMED).join(", ")} defines a set of the same name differently: it is unknown which one Argo CD runs, so the applications are gated as if none of them changed`,
  ];
}

/** What it reads besides the base branch before this change already. */
function asideNote({ base, head }: ChangedApplicationSet, change: ChangeRequest): readonly string[] {
  const [before, after] = [base, head].map((side) => (side === undefined ? [] : readAside(side, change)));
  const names = after?.filter((name) => before?.includes(name)) ?? [];
  return names.map((name) => `its generators follow ${withoutReview(name)}: protect it, or name a whole commit id`);
}

function settingsNote(settings: readonly string[]): readonly string[] {
  if (settings.length === 0) return [];
  const named = settings.map((name) => `spec.${name}`).join(", ");
  return [
    `its own settings change (${named}): Argo CD may treat every application that it owns differently, so this change needs the approvals that they need`,
  ];
}

function behindNote(
  { sourceFile, base, head }: ChangedApplicationSet,
  change: ChangeRequest,
  baseChanges: readonly string[],
): readonly string[] {
  const reads = [base, head].some((set) => set !== undefined && readsFiles(set, change, baseChanges));
  if (!reads && (sourceFile === undefined || !baseChanges.includes(sourceFile))) return [];
  return [
    `the base branch ${change.baseBranch} changed what it generates since this branch left it, which the preview does not show: update the branch`,
  ];
}

function removalNotes(
  set: ChangedApplicationSet,
  removed: readonly ApplicationName[],
  base: readonly Application[],
): readonly string[] {
  if (removed.length === 0) return [];
  const resources = keepResources(set, removed, firstOf(base))
    ? "what removed applications have deployed stays in the cluster"
    : "removed applications are deleted, with everything that they have deployed if they have Argo CD's finalizer";
  if (set.head === undefined) return [`when the ApplicationSet is deleted, ${resources}`];
  const { name, deletes } = policyOf(set.head);
  const kept = `its policy ${name} keeps removed applications: they run on and are no longer updated`;
  return [deletes ? resources : `${kept}, ${UNLESS_OVERRULED}`];
}

/** Ends each sentence that says what the policy of a set keeps. The controller's own policy comes first, and svc cannot read it. */
export const UNLESS_OVERRULED = "unless the controller of ApplicationSets has a policy of its own";

/** Whether the set has given none of them the finalizer with which Argo CD deletes what an application has deployed. */
function keepResources(
  set: ChangedApplicationSet,
  removed: readonly ApplicationName[],
  generated: ReadonlyMap<ApplicationName, Application>,
): boolean {
  if (set.base === undefined || !policyOf(set.base).updates) return false;
  return removed.every((name) => {
    const given = generated.get(name)?.alsoGiven;
    return given !== undefined && !given.finalizers.some((one) => one.startsWith(RESOURCES_FINALIZER));
  });
}

function about(names: readonly ApplicationName[], what: string): readonly string[] {
  if (names.length === 0) return [];
  const more = names.length - MAX_NAMED;
  const named = names.slice(0, MAX_NAMED).map((name) => `${name} ${what}`);
  return more > 0 ? [...named, `the same holds for ${counted(more, "more application")}`] : named;
}

function relabelled(base: readonly Application[], head: readonly Application[]): readonly ApplicationName[] {
  const before = firstOf(base);
  const found = [...firstOf(head).values()].filter((one) => {
    const old = before.get(one.name);
    return old !== undefined && specEqual(old.spec, one.spec) && !hasSameLabels(old, one);
  });
  return found.map(({ name }) => name);
}

function templatedNote({ base, head }: ChangedApplicationSet, change: ChangeRequest): readonly string[] {
  const generators = [base, head].flatMap((set) => (set === undefined ? [] : gitGenerators(set)));
  if (!generators.some((git) => isTemplated(git) && mayMove(git, change))) return [];
  return [
    "a git generator has a template as its repository or revision, so it was read where that points at now, not at the head commit: what it generates after the merge may differ",
  ];
}

/** What the controller does with generated applications, by the set's own `spec.syncPolicy`. */
interface ApplicationSetPolicy {
  /** `applicationsSync`; `sync` by default. */
  readonly name: string;
  /** Existing applications get changed definitions. */
  readonly updates: boolean;
  /** Applications that are no longer generated are deleted. */
  readonly deletes: boolean;
}

const RESOURCES_FINALIZER = "resources-finalizer.argocd.argoproj.io";

/**
 * Reads the set's policy
 * (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Controlling-Resource-Modification/).
 * Clients cannot see a policy of the whole controller (`--policy`).
 */
export function policyOf(set: ApplicationSet): ApplicationSetPolicy {
  const { spec } = set.resource;
  const policy = isJsonObject(spec) && isJsonObject(spec.syncPolicy) ? spec.syncPolicy : {};
  const name =
    typeof policy.applicationsSync === "string" && policy.applicationsSync !== "" ? policy.applicationsSync : "sync";
  return {
    name,
    updates: name !== "create-only" && name !== "create-delete",
    deletes: name !== "create-only" && name !== "create-update",
  };
}
