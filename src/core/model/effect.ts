import type { Destination } from "./application.js";
import type { ApplicationName, Revision } from "./brand.js";
import type { Json, JsonObject } from "./json.js";
import type { DefinedIn, RuledApplication } from "./settings.js";

/** Everything that a deployment changes: its application, and those that it creates, changes or removes in turn. The rules of each count. */
export interface Effect {
  /** The application itself comes first. */
  readonly members: readonly Member[];
  /** The child Applications that it applies, changed or not, with the digests of their definitions. */
  readonly applies: readonly AppliedChild[];
}

/** One application that a deployment reaches. */
export interface Member extends Identity {
  readonly reachedBy: ReachedBy;
  readonly definition: DefinitionChange;
  /** Digest of the definition that takes effect; undefined if there is none. */
  readonly digest: string | undefined;
  readonly sources: readonly MemberSource[];
  /** What it comes to follow of this repository besides the base branch; undefined in older plans. Untrusted. */
  readonly follows?: readonly string[] | undefined;
  /** Other applications whose rules apply too, because it takes or leaves their place. */
  readonly boundAs: readonly BoundIdentity[];
  /** Whether Argo CD deploys it as soon as its definition is applied; undefined in older plans, and of the application itself. */
  readonly deploysItself?: boolean | undefined;
  /** Why it is not known what becomes of it; such a member needs an approval. Untrusted. */
  readonly problem: string | undefined;
}

/** What rules are matched with. */
export interface Identity {
  readonly application: ApplicationName;
  readonly project: string;
  readonly destination: Destination;
  /** Further namespaces, which objects of it name that this change touches. */
  readonly namespaces: readonly string[];
  /** Undefined in older plans. */
  readonly definedIn?: readonly DefinedIn[] | undefined;
}

/** An identity besides a member's own. */
export interface BoundIdentity extends Identity {
  /** Completes `whyBound`. Untrusted. */
  readonly because: string;
}

/** Says whose rules hold, and why, as a clause. Untrusted. */
export function whyBound({ application, because }: BoundIdentity): string {
  return `the rules of ${application} hold, because ${because}`;
}

/** How a deployment reaches an application. */
export type ReachedBy =
  | { readonly kind: "direct" }
  /** Its definition is among the manifests of this application. */
  | { readonly kind: "child"; readonly of: ApplicationName }
  /** This ApplicationSet generates it. */
  | { readonly kind: "generated"; readonly by: string };

export type DefinitionChange =
  | { readonly kind: "unchanged" | "unknown" }
  /**
   * `mayStay`: the policy of its set keeps it, unless the controller of ApplicationSets has one of its own, or it is created anew.
   * `atOnce`: also by a sync that does not prune.
   */
  | { readonly kind: "removed"; readonly mayStay?: boolean; readonly atOnce?: boolean }
  | { readonly kind: "new"; readonly moves?: readonly Move[] }
  /** `moves` is empty if only other members of it change. */
  | { readonly kind: "changed"; readonly moves: readonly Move[] };

/** What a sync deletes before it creates it anew. */
export const GONE_FIRST = { kind: "removed", atOnce: true, mayStay: true } as const;

/** A change that nobody may make without an approval, whatever the rules say. Both texts are untrusted. */
export interface Move {
  readonly what: "repository" | "project" | "destination" | "auto-sync" | "operation";
  readonly from: string;
  readonly to: string;
}

interface MemberSource {
  /** Without credentials. */
  readonly repoURL: string;
  /** As configured; empty means the default branch, or the newest version of a chart. */
  readonly targetRevision: string;
  /** The commit that is deployed; undefined if Argo CD resolves the revision. */
  readonly commit: Revision | undefined;
}

/** A child Application among the rendered manifests. */
interface AppliedChild {
  readonly application: ApplicationName;
  readonly digest: string;
}

/** An identity as rules see it; what could not be read is not known to them. */
export function ruledAs({ application, project, destination, namespaces, definedIn }: Identity): RuledApplication {
  const { cluster, namespace } = destination;
  return {
    name: application,
    project,
    ...(cluster === "" ? {} : { cluster }),
    namespaces: [...new Set([namespace, ...namespaces])].filter((one) => one !== ""),
    ...(definedIn === undefined || definedIn.length === 0 ? {} : { definedIn }),
  };
}

/** The member with the other repositories that define it, whose rules hold in its earlier places as well. */
export function definedWith(member: Member, definedIn: readonly DefinedIn[]): Member {
  if (definedIn.length === 0) return member;
  const boundAs = member.boundAs.map((one) => (one.application === member.application ? { ...one, definedIn } : one));
  return { ...member, definedIn, boundAs };
}

/** The effect of applications that are not planned. */
export const NO_EFFECT: Effect = { members: [], applies: [] };

/** What an approval is required for whatever the rules say. */
export function movesOf({ definition }: Member): readonly Move[] {
  return definition.kind === "changed" || definition.kind === "new" ? (definition.moves ?? []) : [];
}

/** Completes "follows". */
export function withoutReview(name: string): string {
  return `${name} of this repository, which a push can change without a review`;
}

/** Says as a clause what a definition starts with that Argo CD then runs by itself; undefined of the other moves. */
export function startOf({ what }: Move): string | undefined {
  if (what === "operation") return "comes with an operation, which Argo CD runs at once, whatever the plan shows";
  return what === "auto-sync" ? "turns auto-sync on" : undefined;
}

/** The own member of this name, so that `constructor` and the like from foreign input find nothing inherited. */
export function ownMember(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** A copy of an object with each member mapped. */
export function mapMembers(object: JsonObject, change: (member: Json, name: string) => Json): JsonObject {
  const members: (readonly [string, Json])[] = [];
  for (const [name, member] of Object.entries(object)) {
    if (member !== undefined) members.push([name, change(member, name)]);
  }
  return Object.fromEntries(members);
}

/** Whether a cluster is written as its address, and not as its name. */
export function isUrl(cluster: string): boolean {
  return /^https?:\/\//i.test(cluster);
}

/** Whether two destinations are in one cluster. It has an address and a name, and svc cannot see which belong together. */
export function sameCluster({ cluster: left }: Destination, { cluster: right }: Destination): "yes" | "perhaps" | "no" {
  if (left === right) return "yes";
  return isUrl(left) === isUrl(right) ? "no" : "perhaps";
}
