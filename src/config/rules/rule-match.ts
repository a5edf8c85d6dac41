import type { Check } from "../../core/model/check.js";
import type { RuledApplication } from "../../core/model/settings.js";
import { matchesName, mayMeanName } from "../pattern.js";

/** Selects applications that match everything it names. All values are patterns. */
interface RuleSelectors {
  readonly name?: string | undefined;
  readonly project?: string | undefined;
  readonly destination?: { readonly cluster?: string | undefined; readonly namespace?: string | undefined } | undefined;
}

export const SELECTORS = ["name", "project", "destination"] as const;

/** Describes an entry's selectors for people. */
export function describeSelectors({ name, project, destination }: RuleSelectors): string {
  const asked = [
    ...(project === undefined ? [] : [`project ${project}`]),
    ...(destination?.cluster === undefined ? [] : [`cluster ${destination.cluster}`]),
    ...(destination?.namespace === undefined ? [] : [`namespace ${destination.namespace}`]),
  ];
  return name === undefined ? asked.join(", ") : [name, ...asked].join(", ");
}

export function checksFor(checks: readonly Check[], application: string): readonly Check[] {
  return checks.filter((check) => mayMeanName(check.applications, application));
}

/** The place of an application among stages: the first pattern that matches, or else the last stage. */
export function placeOf(application: string, stages: readonly { readonly applications: string }[]): number {
  const found = stages.findIndex(({ applications }) => matchesName(applications, application));
  return found < 0 ? stages.length - 1 : found;
}

/**
 * `possible` means that it matches as far as is known, or matches only the bare name. Such rules may tighten but never
 * loosen: whoever can create an application of any name in their own namespace must not lift a rule.
 */
type RuleMatch = "certain" | "possible" | "none";

export function matchOf({ name, project, destination }: RuleSelectors, application: RuledApplication): RuleMatch {
  const matches: readonly RuleMatch[] = [
    name === undefined ? "certain" : nameMatch(name, application.name),
    project === undefined ? "certain" : textMatch(project, application.project),
    destination?.cluster === undefined ? "certain" : clusterMatch(destination.cluster, application.cluster),
    destination?.namespace === undefined ? "certain" : namespaceMatch(destination.namespace, application.namespaces),
  ];
  if (matches.includes("none")) return "none";
  return matches.includes("possible") ? "possible" : "certain";
}

function nameMatch(pattern: string, name: string): RuleMatch {
  const reaches = pattern.includes("/") || !name.includes("/");
  if (reaches && matchesName(pattern, name)) return "certain";
  const bareName = name.slice(name.lastIndexOf("/") + 1);
  return mayMeanName(pattern, name) || matchesName(pattern, bareName) ? "possible" : "none";
}

function textMatch(pattern: string, text: string | undefined): RuleMatch {
  if (text === undefined) return "possible";
  return matchesName(pattern, text) ? "certain" : "none";
}

function namespaceMatch(pattern: string, namespaces: readonly string[] | undefined): RuleMatch {
  if (namespaces === undefined || namespaces.length === 0) return "possible";
  const matching = namespaces.filter((namespace) => matchesName(pattern, namespace));
  if (matching.length === 0) return "none";
  return matching.length === namespaces.length ? "certain" : "possible";
}

const SCHEME = /^https?:\/\//i;
/** Argo CD's own cluster: https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters */
const OWN_CLUSTER = ["https://kubernetes.default.svc", "in-cluster"];

/** Compares a pattern with a cluster's address or name, which are both known only of Argo CD's own cluster. */
function clusterMatch(pattern: string, cluster: string | undefined): RuleMatch {
  if (cluster === undefined || cluster === "") return "possible";
  const text = cluster.replace(/\/+$/, "");
  const own = OWN_CLUSTER.includes(text.toLowerCase());
  const names = own ? OWN_CLUSTER : [text];
  const isAlike = (one: string) => SCHEME.test(pattern) === SCHEME.test(one);
  const matching = names.filter((one) => matchesName(bareCluster(pattern), bareCluster(one)));
  // A name like this cluster's address may be that of another cluster; only stars mean both.
  if (matching.some((one) => isAlike(one) || /^\*+$/.test(pattern))) return "certain";
  return matching.length === 0 && (own || isAlike(text)) ? "none" : "possible";
}

/** Strips the scheme, which a pattern cannot contain; host names ignore case. */
export function bareCluster(text: string): string {
  return SCHEME.test(text) ? text.replace(SCHEME, "").toLowerCase() : text;
}
