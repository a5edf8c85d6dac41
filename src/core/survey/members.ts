import { type Branches, followedAside } from "../detect/inputs/moving-sources.js";
import {
  type Application,
  type ApplicationSpec,
  type Destination,
  destinationOf,
  digestOf,
  isAutoSynced,
  projectOf,
  sourcesOf,
  specEqual,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import {
  type BoundIdentity,
  type DefinitionChange,
  definedWith,
  type Identity,
  type Member,
  type Move,
  type ReachedBy,
} from "../model/effect.js";
import { isJsonObject } from "../model/json.js";
import { type LiveSubject, pinsOf, type Subject } from "../model/subject.js";
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
      return memberOf({ application: name, head: definition.spec, before: [], reachedBy, change });
    case "deleted":
      return memberOf({ application: name, head: undefined, before: [definition.spec], reachedBy });
    case "unreadable":
      // Nothing deploys it, so that nothing more is to be required.
      return { ...memberOf({ application: name, head: definition.spec, before: [], reachedBy, change }), ...unknown };
  }
}

function liveMember({ name, head, base, live }: LiveSubject, change: Judged): Member {
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
  return { ...member, sources };
}

interface Described {
  readonly application: ApplicationName;
  /** The definitions that the head's replaces, the target branch's first; empty for a new application. */
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
  const distinct = new Map(left.map((one) => [JSON.stringify(one), one]));
  return [...distinct.values()].map((one) => ({ ...one, because: BEFORE }));
}

/** Why the rules of its own earlier place hold for an application. */
export const BEFORE = "it is there before this change";

/** What differs between a definition and the ones that it replaces: the target branch's and the live one. */
export function definitionChange(head: ApplicationSpec, before: readonly ApplicationSpec[]): DefinitionChange {
  const replaced = before.filter((spec) => !specEqual(spec, head));
  if (replaced.length === 0) return { kind: "unchanged" };
  const moves = replaced.flatMap((spec) => movesBetween(spec, head));
  return { kind: "changed", moves: [...new Map(moves.map((move) => [JSON.stringify(move), move])).values()] };
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

function isAutomated({ syncPolicy }: ApplicationSpec): boolean {
  const automated = isJsonObject(syncPolicy) ? syncPolicy.automated : undefined;
  return automated !== undefined && automated !== null;
}
