import { besidesSentence, commitSentence, secretSentences } from "../../core/diff/hidden-change.js";
import type { AgainstCluster, DiffBasis, ObjectNote } from "../../core/model/manifest-diff.js";
import type { Evaluated } from "../../core/model/plan.js";

/** How certain the diff of an application is. */
export function verdictSentences({ verdict, diff, writesDefinition }: Evaluated, withDiff: boolean): readonly string[] {
  const { basis } = diff;
  const cluster = basis.kind === "live" || basis.kind === "both" ? basis : undefined;
  const besides = withDiff ? besidesSentence(diff, (name) => name) : undefined;
  const secrets = [
    ...(withDiff ? secretSentences(diff, (name) => name) : []),
    ...(diff.hiddenSecrets && cluster !== undefined
      ? ["Argo CD hides the values of Secrets, so those of the cluster are not compared."]
      : []),
  ];
  switch (verdict) {
    case "changed":
      return [
        ...(diff.resources.length === 0 ? ["Both sides render the same: a sync changes only what drifted."] : []),
        ...secrets,
        ...(besides === undefined ? [] : [besides]),
      ];
    case "unchanged":
      return [
        commitSentence(diff, withDiff ? (name) => name : undefined) ?? "No changes: both sides render the same.",
        ...(writesDefinition ? ["The definition of the application still changes; a sync writes it."] : []),
      ];
    case "unknown":
      return [
        ...(diff.hiddenSecrets ? ["No visible changes.", ...secrets] : []),
        ...(diff.hiddenSecrets || cluster === undefined ? [] : [unseenSentence(cluster)]),
        ...(besides === undefined ? [] : [besides]),
      ];
  }
}

/** What a plan was compared with. */
export function basisSentences(basis: DiffBasis): readonly string[] {
  switch (basis.kind) {
    case "branch":
      return [];
    case "live-failed":
      return [`The live cluster could not be read, so this is the diff against the target branch: ${basis.reason}`];
    case "live":
      return [
        "Diff against the live cluster.",
        ...(basis.drifted.length === 0
          ? []
          : [`Already differs from the target branch in the cluster: ${basis.drifted.join(", ")}`]),
        ...clusterSentences(basis),
      ];
    case "both":
      return [
        "Diff against the target branch. What the live cluster already differs by is shown as drift.",
        ...clusterSentences(basis),
      ];
  }
}

/** Why a change of the renders is in no diff. */
function unseenSentence({ kept }: AgainstCluster): string {
  return kept.length > 0
    ? "The two sides render differently, but a sync leaves this as it is in the cluster."
    : "The two sides render differently, but the cluster is already in this state.";
}

function clusterSentences({ approximate, alreadyThere, kept }: AgainstCluster): readonly string[] {
  const noted = (heading: string, notes: readonly ObjectNote[]) =>
    notes.map(({ what, objects }) => `${heading}${objects.length === 0 ? "" : ` for ${objects.join(", ")}`}: ${what}`);
  return [
    ...(alreadyThere.length === 0 ? [] : [`Already in this state in the cluster: ${alreadyThere.join(", ")}`]),
    ...noted("Not changed by a sync", kept),
    ...noted("Approximate", approximate),
  ];
}
