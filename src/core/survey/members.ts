import { projectOf, sourcesOf } from "../model/application-spec.js";
import type { Application, ApplicationSpec } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { destinationOf } from "../model/destination.js";
import type { BoundIdentity, DefinitionChange, Identity, Member, ReachedBy } from "../model/effect.js";
import { pinsOf, type LiveSubject, type Subject } from "../model/subject.js";
import { withoutCredentials } from "../secrets/hide-in-text.js";
import { definitionChange, digestOf } from "./definition-change.js";

/** The member that a planned application itself is, from a survey alone. */
export function directMember(subject: Subject, change: Pick<ChangeRequest, "headRevision">): Member {
  const reachedBy = { kind: "direct" } as const;
  if (subject.kind === "live") return liveMember(subject, change);
  const { name, definition } = subject;
  const unknown = { definition: { kind: "unknown" }, digest: undefined } as const;
  if (definition === undefined) {
    return { ...memberOf({ application: name, head: undefined, before: [], reachedBy }), ...unknown };
  }
  switch (subject.kind) {
    case "new":
      return memberOf({ application: name, head: definition.spec, before: [], reachedBy });
    case "deleted":
      return memberOf({ application: name, head: undefined, before: [definition.spec], reachedBy });
    case "unreadable":
      // Nothing deploys it, so that nothing more is to be required.
      return { ...memberOf({ application: name, head: definition.spec, before: [], reachedBy }), ...unknown };
  }
}

function liveMember(
  { name, head, base, live }: LiveSubject,
  { headRevision }: Pick<ChangeRequest, "headRevision">,
): Member {
  const member = memberOf({
    application: name,
    head: head.spec,
    before: [base.spec, live.spec],
    reachedBy: { kind: "direct" },
  });
  const pins = pinsOf(head, headRevision);
  const sources = sourcesOf(head.spec).map(({ repoURL, targetRevision, position }) => ({
    repoURL: withoutCredentials(repoURL, "every"),
    targetRevision,
    commit: pins.find((pin) => pin.position === position)?.revision,
  }));
  return { ...member, sources };
}

/** One application of an effect, before and after. */
export interface MemberRequest {
  readonly application: ApplicationName;
  /** Undefined if it is removed. */
  readonly head: ApplicationSpec | undefined;
  /** The definitions that the head's replaces; empty for a new application. */
  readonly before: readonly ApplicationSpec[];
  readonly reachedBy: ReachedBy;
}

/** Describes one application of an effect. Argo CD resolves the revisions of its sources. */
export function memberOf({ application, head, before, reachedBy }: MemberRequest): Member {
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
    boundAs: leftBehind(application, spec, before),
    problem: undefined,
  };
}

/** A member of which nothing but its name is known. */
export function unknownMember(application: ApplicationName, reachedBy: ReachedBy, problem: string): Member {
  const known = memberOf({ application, head: undefined, before: [], reachedBy });
  return { ...known, definition: { kind: "unknown" }, problem };
}

export function identityOf(application: ApplicationName, spec: Application["spec"]): Identity {
  return { application, project: projectOf(spec), destination: destinationOf(spec), namespaces: [] };
}

/** Rules by project and destination also bind whoever takes an application out of them. */
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
