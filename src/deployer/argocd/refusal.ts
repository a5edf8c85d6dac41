import type { RefusalCause } from "../../core/ports/deployer.js";

/** Why Kubernetes refuses an object, in its own words. */
export interface KubernetesRefusal {
  readonly cause: RefusalCause;
  readonly message: string;
}

/**
 * Reads Argo CD's error about one object that it tried, without the values that it quoted. Undefined if the text does not
 * say that Kubernetes refuses the object: the cluster cannot be reached, a webhook does not answer, or Argo CD itself may
 * not ask. Only forms that are known to be refusals count, since "Kubernetes will refuse this" must be true.
 */
export function readRefusal(
  text: string,
  { kind, name }: { kind: string; name: string },
): KubernetesRefusal | undefined {
  const mark = `in dryrun mode for resource ${kind}/${name}: `;
  const at = text.indexOf(mark);
  if (at === -1) return undefined;
  const said = text.slice(at + mark.length).trim();
  const invalid = /^\S{1,300} "[^"\n]{0,300}" is invalid: ([^]+)$/.exec(said)?.[1];
  if (invalid !== undefined) return { cause: causeOfInvalid(invalid), message: invalid };
  const cause = FORMS.find(([pattern]) => pattern.test(said))?.[1];
  return cause === undefined
    ? undefined
    : { cause, message: said.replace(/^\S{1,300} "[^"\n]{0,300}" is forbidden: /, "") };
}

const IMMUTABLE =
  /\bimmutable\b|may not change once set|updates to \w+ (?:spec for fields other than|are forbidden)|(?:can ?not|may not) (?:be )?(?:changed?|updated?|less than)\b/i;
const EXCLUSIVE =
  /may not be specified when|must not be specified when|may not specify more than|Duplicate value|only one of|at most one/i;

function causeOfInvalid(message: string): RefusalCause {
  if (IMMUTABLE.test(message)) return "immutable";
  return EXCLUSIVE.test(message) ? "conflict" : "invalid";
}

/** The first that matches counts; undefined for what says nothing about the object. */
const FORMS: readonly (readonly [RegExp, RefusalCause | undefined])[] = [
  [/^admission webhook "[^"]{0,300}" denied the request/, "denied"],
  [/ denied request: /, "denied"],
  // Argo CD's API server may have less rights in the cluster than its controller, which syncs.
  [/ is forbidden: User "/, undefined],
  [/ is forbidden: /, "denied"],
  [/^namespaces "[^"]{0,300}" not found/, "no-namespace"],
  // "could not find the requested resource" may as well be about a namespace that the kind does not have.
  [/^no matches for kind |^resource mapping not found /, "no-kind"],
  [/ field not declared in schema|^strict decoding error: unknown field /, "unknown-field"],
  [/: duplicate entries for key /, "conflict"],
];
