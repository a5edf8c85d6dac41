import { type Branches, followedAside } from "../detect/inputs/moving-sources.js";
import type { ChangedApplicationSet } from "../detect/scan/application-sets.js";
import {
  type Application,
  type ApplicationSpec,
  type Destination,
  destinationOf,
  digestOf,
  isAutoSynced,
  isRollingSync,
  type LiveApplication,
  projectOf,
  sourcesOf,
  specEqual,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { distinct } from "../model/collections.js";
import {
  type BoundIdentity,
  type DefinitionChange,
  definedWith,
  type Effect,
  type Identity,
  type Member,
  type Move,
  movesOf,
  type ReachedBy,
} from "../model/effect.js";
import { isJsonObject } from "../model/json.js";
import { isPlanOf, type Plan, type PlannedFor } from "../model/plan/plan.js";
import { type LiveSubject, pinsOf, type Subject } from "../model/subject.js";
import { type Deployer, isOlder } from "../ports/deployer.js";
import { versionOf } from "../render/live-diff-mode.js";
import type { Previewed } from "../render/preview.js";
import { withoutCredentials } from "../secrets/hide-in-text.js";

type Judged = Branches & Pick<ChangeRequest, "headRevision">;

const direct = new WeakMap<Judged, WeakMap<Subject, Member>>();

/** The member for a planned application itself, without its renders. Worked out once for each subject of a change request. */
export function directMember(subject: Subject, change: Judged): Member {
  const known = direct.get(change) ?? new WeakMap<Subject, Member>();
  direct.set(change, known);
  const member = known.get(subject) ?? definedWith(ownMember(subject, change), subject.definedIn ?? []);
  known.set(subject, member);
  return member;
}

function ownMember(subject: Subject, change: Judged): Member {
  const reachedBy = { kind: "direct" } as const;
  if (subject.kind === "live") return liveMember(subject, change);
  const { name, definition } = subject;
  const unknown = { definition: { kind: "unknown" }, digest: undefined } as const;
  if (definition === undefined) {
    return { ...memberOf({ application: name, head: undefined, before: [], reachedBy }), ...unknown };
  }
  switch (subject.kind) {
    case "new":
      return asChanged(
        memberOf({ application: name, head: definition.spec, before: [], reachedBy, change }),
        operates(definition),
      );
    case "deleted":
      return memberOf({ application: name, head: undefined, before: [definition.spec], reachedBy });
    case "unreadable":
      // Nothing deploys it, so that nothing more is to be required.
      return { ...memberOf({ application: name, head: definition.spec, before: [], reachedBy, change }), ...unknown };
  }
}

function liveMember({ name, head, base, live, operates: begins = false }: LiveSubject, change: Judged): Member {
  const member = memberOf({
    application: name,
    head: head.spec,
    before: [base.spec, live.spec],
    reachedBy: { kind: "direct" },
    change,
  });
  const pins = pinsOf(head, change.headRevision);
  const sources = sourcesOf(head.spec).map(({ repoURL, targetRevision, position }) => ({
    repoURL: withoutCredentials(repoURL, "every"),
    targetRevision,
    commit: pins.find((pin) => pin.position === position)?.revision,
  }));
  return begins ? asChanged({ ...member, sources }, begins) : { ...member, sources };
}

interface Described {
  readonly application: ApplicationName;
  /** The definitions that the head's definition replaces, that of the target branch first; empty for a new application. */
  readonly before: readonly ApplicationSpec[];
  readonly reachedBy: ReachedBy;
}

/** `head` is undefined if the application is removed. */
type MemberRequest = Described &
  (
    | { readonly head: undefined; readonly change?: undefined }
    | { readonly head: ApplicationSpec | undefined; readonly change: Branches }
  );

/** Describes one application of an effect. Argo CD resolves the revisions of its sources. */
export function memberOf({ application, head, before, reachedBy, change }: MemberRequest): Member {
  const spec = head ?? before[0] ?? {};
  const definition: DefinitionChange =
    head === undefined ? { kind: "removed" } : before.length === 0 ? { kind: "new" } : definitionChange(head, before);
  return {
    ...identityOf(application, spec),
    reachedBy,
    definition,
    digest: head === undefined ? undefined : digestOf(head),
    sources: sourcesOf(spec).map(({ repoURL, targetRevision }) => ({
      repoURL: withoutCredentials(repoURL, "every"),
      targetRevision,
      commit: undefined,
    })),
    follows: head === undefined ? [] : comesToFollow(head, before, change),
    boundAs: leftBehind(application, spec, before),
    problem: undefined,
  };
}

/** What only the live application follows was not reviewed: it counts where the target branch has no definition. */
function comesToFollow(head: ApplicationSpec, [base]: readonly ApplicationSpec[], change: Branches): readonly string[] {
  const known = new Set(base === undefined ? [] : followedAside(base, change));
  return followedAside(head, change).filter((name) => !known.has(name));
}

/** A member of which only the name is known. */
export function unknownMember(application: ApplicationName, reachedBy: ReachedBy, problem: string): Member {
  const known = memberOf({ application, head: undefined, before: [], reachedBy });
  return { ...known, definition: { kind: "unknown" }, problem };
}

export function identityOf(application: ApplicationName, spec: Application["spec"]): Identity {
  return { application, project: projectOf(spec), destination: destinationOf(spec), namespaces: [] };
}

/** Earlier places of an application, whose rules also hold for whoever moves it away. */
function leftBehind(
  application: ApplicationName,
  spec: ApplicationSpec,
  before: readonly ApplicationSpec[],
): readonly BoundIdentity[] {
  const own = JSON.stringify(identityOf(application, spec));
  const left = before.map((one) => identityOf(application, one)).filter((one) => JSON.stringify(one) !== own);
  return distinct(left).map((one) => ({ ...one, because: BEFORE }));
}

/** Why the rules of its own earlier place hold for an application. */
export const BEFORE = "it is there before this change";

/** What differs between a definition and the ones that it replaces: the target branch's and the live one. */
export function definitionChange(head: ApplicationSpec, before: readonly ApplicationSpec[]): DefinitionChange {
  const replaced = before.filter((spec) => !specEqual(spec, head));
  if (replaced.length === 0) return { kind: "unchanged" };
  return { kind: "changed", moves: distinct(replaced.flatMap((spec) => movesBetween(spec, head))) };
}

/** A member whose definition counts as changed although its spec is the same. @param operates it comes with an operation. */
export function asChanged(member: Member, operates = false): Member {
  const { kind } = member.definition;
  if (kind === "removed" || kind === "unknown" || (kind === "new" && !operates)) return member;
  const operation = operates ? [{ what: "operation", from: "", to: "" } as const] : [];
  const moves = [...movesOf(member), ...operation];
  return { ...member, definition: { kind: kind === "new" ? "new" : "changed", moves } };
}

/** Whether its file, or its set, gives an application an operation. */
export function operates({ alsoGiven }: Application): boolean {
  return alsoGiven !== undefined && alsoGiven.operation !== null;
}

function movesBetween(from: ApplicationSpec, to: ApplicationSpec): readonly Move[] {
  const known = new Set(sourcesOf(from).map(({ repoURL }) => repoURL));
  const urls = [...new Set(sourcesOf(to).map(({ repoURL }) => repoURL))].filter((url) => !known.has(url));
  const [left, right] = [destinationOf(from), destinationOf(to)];
  const moved = left.cluster !== right.cluster || left.namespace !== right.namespace;
  return [
    ...(urls.length === 0 ? [] : [{ what: "repository", from: addresses([...known]), to: addresses(urls) } as const]),
    ...(projectOf(from) === projectOf(to)
      ? []
      : [{ what: "project", from: projectOf(from), to: projectOf(to) } as const]),
    ...(moved ? [{ what: "destination", from: destinationText(left), to: destinationText(right) } as const] : []),
    ...(startsAutoSync(from, to) ? [{ what: "auto-sync", from: "off", to: "on" } as const] : []),
  ];
}

function addresses(urls: readonly string[]): string {
  return urls.map((url) => withoutCredentials(url, "every")).join(", ");
}

export function destinationText({ cluster, namespace }: Destination): string {
  return [cluster, namespace].filter((part) => part !== "").join("/");
}

/** Servers before v3.1 do not know `enabled: false`: for them a new `automated` switches auto-sync on whatever it holds. */
function startsAutoSync(from: ApplicationSpec, to: ApplicationSpec): boolean {
  return (isAutoSynced(to) && !isAutoSynced(from)) || (isAutomated(to) && !isAutomated(from));
}

/** Tells which of these definitions Argo CD syncs by itself: before 3.1, and if its version is not known, any with `automated`. */
export async function autoSyncAmong(
  specs: readonly ApplicationSpec[],
  deployer: Pick<Deployer, "check">,
): Promise<(spec: ApplicationSpec) => boolean> {
  const isUnclear = specs.some((spec) => isAutomated(spec) && !isAutoSynced(spec));
  const isOld = isUnclear && isOlder(await versionOf(deployer), "3.1") !== false;
  return (spec) => isAutoSynced(spec) || (isOld && isAutomated(spec));
}

function isAutomated({ syncPolicy }: ApplicationSpec): boolean {
  const automated = isJsonObject(syncPolicy) ? syncPolicy.automated : undefined;
  return automated !== undefined && automated !== null;
}

/** What a sync would deploy that the plan of the head does not say. @param live all that Argo CD shows; undefined if it did not answer. */
export function differingFrom(
  plan: Plan | undefined,
  subjects: readonly LiveSubject[],
  live: readonly Application[] | undefined,
  change: Judged & PlannedFor,
): ReadonlyMap<ApplicationName, string> {
  if (!isPlanOf(plan, change)) return new Map();
  const planned = new Map(plan.applications.map(({ application, effect }) => [application, effect]));
  const running = live && new Map(live.map((one) => [one.name, one]));
  const found = subjects.flatMap((subject): readonly (readonly [ApplicationName, string])[] => {
    const effect = planned.get(subject.name);
    const sentence = effect && differsFromPlan(effect, directMember(subject, change), running);
    return sentence === undefined ? [] : [[subject.name, sentence]];
  });
  return new Map(found);
}

function differsFromPlan(
  planned: Effect,
  now: Member,
  running: ReadonlyMap<ApplicationName, Application> | undefined,
): string | undefined {
  const [before] = planned.members;
  if (before === undefined) return "the plan does not say what a sync of it changes";
  return memberDiffers(before, now) ?? (running && childDiffers(planned, running));
}

function memberDiffers(before: Member, now: Member): string | undefined {
  const pairs = [
    ["project", before.project, now.project],
    ["destination", before.destination, now.destination],
    ["sources", before.sources, now.sources],
    ["repository that defines it", before.definedIn ?? [], now.definedIn ?? []],
    ["definition", before.digest, now.digest],
    // A definition that is there by now, because a parent wrote it, replaces nothing.
    ["definition", now.definition.kind === "unchanged" ? now.definition : before.definition, now.definition],
  ] as const;
  const changed = pairs.filter(([, left, right]) => JSON.stringify(left) !== JSON.stringify(right));
  if (changed.length === 0) return undefined;
  return `since the plan, the ${[...new Set(changed.map(([what]) => what))].join(" and ")} of ${now.application} changed in Argo CD or on the base branch`;
}

/** A child that had the head's definition when it was planned must still have it. */
function childDiffers(
  { members, applies }: Effect,
  running: ReadonlyMap<ApplicationName, Application>,
): string | undefined {
  const reached = new Set(members.map(({ application }) => application));
  const drifted = applies.filter(({ application, digest }) => {
    if (reached.has(application)) return false;
    const found = running.get(application);
    return found === undefined || digestOf(found.spec) !== digest;
  });
  if (drifted.length === 0) return undefined;
  return `since the plan, the definition of ${drifted.map(({ application }) => application).join(", ")} changed in Argo CD: a sync would write the one of this branch`;
}

/** The set that syncs the application in steps: as it runs now, or as the change request leaves it at the merge. */
export function syncingSetOf(live: LiveApplication, sets: readonly ChangedApplicationSet[] = []): string | undefined {
  const rolls =
    live.setStrategy === "rolling" ||
    sets.some((set) => set.head !== undefined && isRollingSync(set.head.resource) && isOwnedBy(live, set));
  return rolls ? live.owningSet : undefined;
}

/** A caution for an application whose set could not be read. */
export function unreadSet({ owningSet, setStrategy }: LiveApplication): readonly string[] {
  if (owningSet === undefined || setStrategy !== "unread") return [];
  const what = `its ApplicationSet ${owningSet} could not be read: if its strategy is RollingSync, Argo CD syncs this application by itself and takes out what a sync deployed before the merge`;
  return [`${what}. Give svc's token the permission applicationsets, get`];
}

/** An ApplicationSet owns only applications in its own namespace. */
export function isOwnedBy(
  { namespace, owningSet }: LiveApplication,
  set: Pick<ChangedApplicationSet, "name">,
): boolean {
  return owningSet !== undefined && set.name === (namespace === undefined ? owningSet : `${namespace}/${owningSet}`);
}

const UNSEEN = "the plan cannot show what goes with it";
const BEYOND = `${UNSEEN}, since there are more deletions than argocd.preview_limit`;

/** Marks the deleted applications among these of which nobody knows what goes with them. */
export function noteUnseen(
  previews: readonly (Partial<Previewed> & { readonly application: ApplicationName })[],
): (member: Member) => Member {
  const unseen = new Map(
    previews.flatMap(({ application, content, facts }) => {
      if (content?.kind === "beyond-limit") return [[application, BEYOND]];
      return content?.kind === "failed" && facts === undefined ? [[application, UNSEEN]] : [];
    }),
  );
  return (member) => {
    const problem = member.definition.kind === "removed" ? unseen.get(member.application) : undefined;
    return problem === undefined ? member : { ...member, problem };
  };
}
