import { matchesName } from "../../config/pattern.js";
import type { ApplicationSpec, Manifest } from "../model/application.js";
import { isJsonObject, jsonEqual, type JsonObject, type JsonText, readJsonText } from "../model/json.js";
import type { ManifestDiff, SecretChange } from "../model/plan/manifest-diff.js";
import type { SensitiveKind } from "../model/settings.js";
import { kept, type Kept, readFirst, readKept, type Task } from "../ports/compute.js";
import type { LiveState, ObjectAnswer } from "../ports/deployer.js";
import { isSecret } from "../secrets/hide-values.js";
import { type ComparedSecrets, compareSecrets, secretName, type SecretsInGit } from "../secrets/secrets-in-git.js";
import { isNeverPruned, isRecreated, type TwoSides } from "./cautions.js";
import type { FieldPath } from "./kubernetes-rules.js";
import {
  ignoredOf,
  type IgnoreRules,
  type InCluster,
  type ObjectAnswers,
  withAnswer,
  writesIgnored,
} from "./live/live-objects.js";
import {
  type Applying,
  diffBoth,
  diffLive,
  driftedPairs,
  mayBeSkipped,
  outcomeOf,
  pointedAt,
  takesAway,
} from "./live/live-outcome.js";
import { isPolicy, type TrialOrder, trialOrder } from "./live/trial-order.js";
import { differingPairs, diffManifests, type DiffRequest, normalise, pairManifests } from "./manifest-diff.js";
import { byIdentity, isSyncedWith, keyOf, type ManifestIdentity, namespacesOf, titleOf } from "./manifest-key.js";
import { type Marks, meanTheSame, renderedOf, type Sides } from "./summarise.js";
import { isLabelled, takenAlong } from "./taken-along.js";

/** A comparison whose large parts are texts. */
export interface DiffInput extends Omit<DiffRequest, "base" | "head"> {
  readonly base: JsonText<readonly Manifest[]>;
  readonly head: JsonText<readonly Manifest[]>;
  readonly secretsInGit: SecretsInGit;
  readonly sensitiveKinds: readonly SensitiveKind[];
  /** The head may be for another cluster than the base, where a sync creates what it leaves as it is here. */
  readonly mayMove?: boolean;
  readonly ignored: IgnoreRules;
  readonly answers: ObjectAnswers;
  readonly live: { readonly mode: "live" | "both"; readonly state: JsonText<LiveState> } | undefined;
  /** Kubernetes is asked about the changed objects once the diff is shown. Never with `live`, whose diff follows from its answers. */
  readonly asks?: boolean;
}

interface DiffOutput {
  /** Contains no value of a Secret. */
  readonly diff: ManifestDiff;
  readonly facts: RenderFacts;
  /** Undefined unless the input `asks`. */
  readonly question: DiffQuestion | undefined;
}

/** What Kubernetes is asked about a diff, and the sides of these objects, from which their marks follow once it has answered. */
export interface DiffQuestion {
  readonly order: TrialOrder;
  readonly sides: Kept<readonly [key: string, sides: Sides]>;
}

/** What Kubernetes can be asked about the changed objects. */
export const trialOrderTask = readFirst("trial-order", parsed, (input): TrialOrder => {
  const { request, pairs, differing, stayingKeys } = rendersOf(input);
  const { live, ignored, answers } = input;
  const compared = live && { ...request, live: readJsonText(live.state), ignored, answers, stayingKeys };
  return trialOrder(request, differing, compared === undefined ? new Map() : driftedPairs(compared, pairs));
});

export const diffTask = readFirst("diff", parsed, (input): DiffOutput => {
  const renders = rendersOf(input);
  const { request, pairs, differing, secrets } = renders;
  const facts = renderFacts(request, pairs, differing);
  const changed = [...differing.values()].filter(({ base, head }) => {
    return head !== undefined || !isNeverPruned(base, input.syncOptions);
  });
  const sensitive = sensitiveChanges(changed, input.sensitiveKinds, secrets);
  const diff = withSensitive(diffOf(input, renders), sensitive);
  const onlyCommit = input.mayHoldCommit ? differingByCommit(request, pairs, differing) : [];
  const question = input.asks === true ? questionOf(renders, input.characters) : undefined;
  return { diff: { ...diff, secrets, onlyCommit, rendered: renderedOf(pairs, input.leftOver) }, facts, question };
});

function questionOf({ request, differing }: Renders, characters: number): DiffQuestion {
  const order = trialOrder(request, differing, new Map());
  const keys = new Set(order.objects.map(({ object }) => keyOf({ ...object, generateName: "" })));
  return {
    order,
    sides: kept(
      [...differing].filter(([key]) => keys.has(key)),
      characters,
    ),
  };
}

interface MarkInput extends Pick<DiffInput, "answers" | "ignored" | "syncOptions"> {
  readonly sides: DiffQuestion["sides"];
}

/** How the marks of objects change once Kubernetes has answered. */
export const markTask: Task<MarkInput, Marks> = {
  name: "marks",
  run({ sides, answers, ignored, syncOptions }) {
    // Secrets, whose keys may stay, are never asked about.
    const applying = { ignored, syncOptions, stayingKeys: () => undefined };
    const differing = new Map(readKept(sides));
    const before = withMarks(differing, {}, applying);
    return [...withMarks(differing, answers, applying)].map(([key, { identity, mark }]) => {
      return { title: titleOf(identity), before: before.get(key)?.mark, after: mark };
    });
  },
};

interface Parsed extends DiffRequest, Omit<DiffInput, keyof DiffRequest> {
  /** Characters of both renders. */
  readonly characters: number;
  /** Whether an id of the head's commit may be in its render. */
  readonly mayHoldCommit: boolean;
}

function parsed({ base, head, ...rest }: DiffInput): Parsed {
  // Hardly any render has a commit in it, and the texts are searched quickly.
  const mayHoldCommit = head.includes(rest.placeholders.head.slice(0, 7));
  const characters = base.length + head.length;
  return { ...rest, base: readJsonText(base), head: readJsonText(head), characters, mayHoldCommit };
}

interface Renders extends Pick<ComparedSecrets<Sides>, "secrets" | "stayingKeys"> {
  readonly request: DiffRequest;
  readonly pairs: ReadonlyMap<string, Sides>;
  readonly differing: ReadonlyMap<string, Sides>;
}

function rendersOf({ secretsInGit, ...request }: Parsed): Renders {
  const found = pairManifests(request);
  const pairs = request.mayMove === true ? new Map([...found].map(([key, one]) => [key, createdIfSame(one)])) : found;
  const { secrets, stayingKeys, pairs: shown } = compareSecrets(pairs, secretsInGit, renderedTwice(request));
  return { request, pairs, secrets, stayingKeys, differing: differingPairs(shown) };
}

function createdIfSame(sides: Sides): Sides {
  return meanTheSame(sides) ? { ...sides, base: undefined } : sides;
}

function diffOf({ live, ignored, answers }: Parsed, renders: Renders): ManifestDiff {
  const { request, pairs, stayingKeys } = renders;
  const { syncOptions } = request;
  const differing = withMarks(renders.differing, answers, { ignored, syncOptions, stayingKeys });
  if (live === undefined) return diffManifests(request, differing);
  const { mode, state } = live;
  const withCluster = { ...request, live: readJsonText(state), ignored, answers, stayingKeys };
  switch (mode) {
    case "live":
      return diffLive(withCluster, pairs);
    case "both":
      return diffBoth(withCluster, pairs, differing);
  }
}

/** The keys of Secrets that a render has more than once. */
function renderedTwice({ base, head, baseNamespace, destinationNamespace }: DiffRequest): ReadonlySet<string> {
  const ofSecrets = (some: readonly Manifest[]) =>
    some.filter(({ kind }) => typeof kind === "string" && /^Secret$|List$/.test(kind));
  const objects = [...byIdentity(ofSecrets(base), baseNamespace), ...byIdentity(ofSecrets(head), destinationNamespace)];
  return new Set(objects.flatMap(([key, { times }]) => (times > 1 ? [key] : [])));
}

/** Characters of foreign content in a comparison. */
export function sizeOf({ base, head, live, answers, ignored }: DiffInput): number {
  const rules = JSON.stringify(ignored).length;
  return base.length + head.length + rules + (live?.state.length ?? 0) + sizeOfAnswers(answers);
}

export function sizeOfAnswers(answers: ObjectAnswers): number {
  return Object.values(answers).reduce((sum, { before, whole }) => sum + before.length + whole.length, 0);
}

/** What the renders of an application say about others. It stays in memory, since it holds whole definitions. */
export interface RenderFacts {
  /** Child Applications of either render, hooks included: a sync applies those as well. */
  readonly children: readonly RenderedChild[];
  /** ApplicationSets that the two renders do not define in the same way. */
  readonly sets: readonly RenderedSet[];
  /** Those that they define in the same way. */
  readonly sameSets: readonly RenderedSet[];
  /** The objects that differ, as `objectKey` writes them, with and without their namespace. */
  readonly touched: readonly string[];
  readonly namespaces: readonly string[];
}

export interface RenderedChild {
  /** Empty for a generated name. */
  readonly name: string;
  readonly namespace: string;
  /** Undefined if only the target branch has it. What no sync prunes stays as it is there. */
  readonly head: ApplicationSpec | undefined;
  /** For what stays like this: its application's sync options. */
  readonly stays?: readonly string[] | undefined;
  readonly base: ApplicationSpec | undefined;
  /** Anything of the two manifests differs, labels and annotations included. */
  readonly changed: boolean;
  /** Each sync deletes it, and may create it anew. */
  readonly recreated?: boolean;
  /** The head's manifest carries an operation, which Argo CD runs as soon as it is applied. */
  readonly operates: boolean;
  /** The cluster that its parent deploys to has it, where another Argo CD runs it. */
  readonly elsewhere?: true;
}

export interface RenderedSet extends Pick<RenderedChild, "elsewhere" | "stays" | "recreated"> {
  readonly name: string;
  readonly namespace: string;
  readonly head: JsonObject | undefined;
  readonly base: JsonObject | undefined;
}

function objectKey({ group, kind, namespace, name }: Omit<ManifestIdentity, "generateName">): string {
  return `${group}/${kind}/${namespace}/${name}`;
}

function renderFacts(
  request: DiffRequest,
  pairs: ReadonlyMap<string, Sides>,
  differing: ReadonlyMap<string, Sides>,
): RenderFacts {
  const found = [...pairs].filter(([, { identity }]) => identity.group === "argoproj.io");
  // Taken from the renders: pairs have a placeholder in place of the commit.
  const raw = (found.length === 0 ? [] : [request.base, request.head]).map((manifests, side) =>
    byIdentity(manifests, side === 0 ? request.baseNamespace : request.destinationNamespace),
  );
  const ofKind = (kind: string) =>
    found
      .filter(([, { identity }]) => identity.kind === kind)
      .map(([key, { identity, base, head }]) => {
        const { name, namespace } = identity;
        const recreated = isRecreated({ identity, base, head }, request.syncOptions);
        const [before, after] = [base && raw[0]?.get(key)?.manifest, head && raw[1]?.get(key)?.manifest];
        const stays = head === undefined && isNeverPruned(base, request.syncOptions);
        const sides = stays ? { head: before, stays: request.syncOptions } : { head: after, recreated };
        return { name, namespace, base: before, ...sides, changed: differing.has(key) && !stays };
      });
  const identities = [...differing.values()].map(({ identity }) => identity);
  const sets = ofKind("ApplicationSet");
  return {
    children: ofKind("Application").map(({ base, head, ...child }) => ({
      ...child,
      base: specOf(base),
      head: specOf(head),
      operates: (head?.operation ?? null) !== null,
    })),
    sets: sets.filter(({ changed, recreated }) => changed || recreated),
    sameSets: sets.filter(({ changed, recreated }) => !changed && !recreated),
    touched: [...new Set(identities.flatMap((one) => [objectKey(one), objectKey({ ...one, namespace: "" })]))],
    namespaces: namespacesOf(identities),
  };
}

function specOf(manifest: Manifest | undefined): ApplicationSpec | undefined {
  return manifest && (isJsonObject(manifest.spec) ? manifest.spec : {});
}

/**
 * The changes to objects of sensitive kinds, such as `creates Role shop/admin`. Deleted ones that limit something, or take something
 * along, count as well and come first; others grant nothing any more. A Secret counts as changed unless it is known to be unchanged.
 * @param differing the objects that may differ, and those that are deleted.
 */
export function sensitiveChanges(
  differing: readonly TwoSides[],
  kinds: readonly SensitiveKind[],
  secrets: readonly SecretChange[],
): readonly string[] {
  const changing = new Set(secrets.map(({ name }) => name));
  const found = differing.filter((sides) => kinds.some((one) => isOf(one, sides)));
  const goes = found.filter(({ identity, base = {}, head }) => {
    const isLimit = isPolicy(identity) || identity.kind.endsWith("Policy");
    return head === undefined && (isLimit || takenAlong(identity, base) !== undefined);
  });
  const stays = found.filter((sides) => {
    const { identity, head } = sides;
    if (head === undefined || !isSecret(identity) || !meanTheSame(sides)) return head !== undefined;
    return changing.has(secretName(identity.namespace, identity.name));
  });
  const named = ({ identity, base }: TwoSides) => `${base === undefined ? "creates" : "changes"} ${titleOf(identity)}`;
  return [...goes.map(({ identity }) => `${GOES}${titleOf(identity)}`), ...stays.map(named)];
}

const GOES = "deletes ";

function isOf({ kind, name, label }: SensitiveKind, { identity, base, head }: TwoSides): boolean {
  const { group, kind: ownKind, name: called, generateName } = identity;
  if (kind !== (group === "" ? ownKind : `${ownKind}.${group}`)) return false;
  if (name !== undefined && !matchesName(name, called || generateName)) return false;
  // Whoever takes the label away changes the object, too.
  return label === undefined || [base, head].some((side) => side !== undefined && isLabelled(side, label));
}

/** What a plan says of a sensitive change. */
export function sensitiveText(what: string): string {
  return `${what}: that sets limits or grants rights, and needs an approval`;
}

/** Adds sensitive changes to what a plan warns of, behind the deletions. */
function withSensitive(diff: ManifestDiff, sensitive: readonly string[]): ManifestDiff {
  if (sensitive.length === 0) return diff;
  const { cautions, dangers } = diff;
  const deletions = dangers.filter(({ pruning }) => pruning).length;
  return {
    ...diff,
    sensitive,
    cautions: [
      ...cautions.slice(0, deletions),
      ...sensitive.map(sensitiveText),
      ...cautions.slice(deletions).filter((text) => !sensitive.includes(text)),
    ],
    dangers: [
      ...dangers.slice(0, deletions),
      ...sensitive.map((what) => ({ what, pruning: what.startsWith(GOES) })),
      ...dangers.slice(deletions).filter(({ what }) => !sensitive.includes(what)),
    ],
  };
}

/** The changes against the target branch, those marked that a sync does not make, or may not make. */
function withMarks(
  differing: ReadonlyMap<string, Sides>,
  answers: ObjectAnswers,
  applying: Applying,
): ReadonlyMap<string, Sides> {
  return new Map(
    [...differing].map(([key, sides]) => [key, { ...sides, mark: markOf(sides, answers[key], applying) }]),
  );
}

function markOf(sides: Sides, answer: ObjectAnswer | undefined, applying: Applying): Sides["mark"] {
  const { identity, base, head, hook } = sides;
  const { ignored, syncOptions } = applying;
  if (base === undefined || head === undefined || hook || identity.name === "") return undefined;
  const respected = ignored.respected === "yes";
  const written = ignored.respected === "no" && !mayBeSkipped(sides, applying);
  const rules = written ? { pointers: [], byArgoCd: [] } : ignoredOf(ignored, identity);
  // Without an answer the object may be missing in the cluster: a sync creates it with all of its fields.
  const one = answer && !writesIgnored(ignored, identity) ? withAnswer(sides, answer, respected) : undefined;
  const outcome = one && outcomeOf(one, applying);
  const left = outcome?.left ?? [];
  if (one !== undefined && outcome !== undefined && meanTheSame(outcome) && isExact(one, left, syncOptions)) {
    const why = left.length > 0 ? "Ignored by ignoreDifferences" : "The cluster already has what this says";
    return { left: true, text: `${why}: a sync leaves it.` };
  }
  if (left.length > 0) {
    return {
      left: false,
      text: `Ignored by ignoreDifferences: a sync leaves ${listed(left.map(({ text }) => text))}.`,
    };
  }
  const perhaps = [...pointedAt(rules, sides), ...rules.byArgoCd.map((member) => `what its ${member} select`)];
  if (perhaps.length === 0) return undefined;
  return { left: false, text: `Perhaps ignored by ignoreDifferences: a sync may leave ${listed(perhaps)}.` };
}

/**
 * Whether the outcome is what a sync does. Kubernetes' answer keeps what is taken away, a replaced object loses what others
 * wrote, and the commit's id changes although that counts as no change.
 */
function isExact(one: InCluster, left: readonly FieldPath[], syncOptions: readonly string[]): boolean {
  const { base, head } = one;
  return (
    head !== undefined &&
    !isSyncedWith("Replace=true", { base, head }, syncOptions) &&
    !JSON.stringify(head).includes("<commit") &&
    !takesAway(one, left)
  );
}

const MOST_PATHS = 5;
const LONGEST_PATH = 200;

/** In one line, since definitions write these paths. */
function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, MOST_PATHS).map((path) => path.replace(/\s+/g, " ").slice(0, LONGEST_PATH));
  return [...shown, ...(paths.length > MOST_PATHS ? ["others"] : [])].join(" and ");
}

/** Titles of objects that differ only in the commit's id, with the namespace if it is not the application's. */
function differingByCommit(
  request: DiffRequest,
  pairs: ReadonlyMap<string, Sides>,
  differing: ReadonlyMap<string, Sides>,
): readonly string[] {
  const { head, destinationNamespace, placeholders } = request;
  if (placeholders.base === placeholders.head) return [];
  return [...byIdentity(head, destinationNamespace)].flatMap(([key, { identity, manifest }]) => {
    if (pairs.get(key)?.base === undefined || differing.has(key)) return [];
    const isNamed = JSON.stringify(manifest).includes(placeholders.head.slice(0, 7));
    if (!isNamed || jsonEqual(normalise(manifest, placeholders.head), normalise(manifest, undefined))) return [];
    return [titleOf(identity.namespace === destinationNamespace ? { ...identity, namespace: "" } : identity)];
  });
}
