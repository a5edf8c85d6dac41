/** One Kubernetes object that a sync would create, update or delete. */
export interface ResourceChange {
  readonly action: "create" | "update" | "delete";
  /** `apps/Deployment guestbook/web`: group, kind, namespace and name for people. */
  readonly title: string;
  readonly kind: string;
  /** Unified hunks over YAML without a file header. Never contains values of Secrets. */
  readonly diff: string;
  readonly hook: boolean;
  /** A sync leaves the object as it is, as the diff says, so that it is not counted. */
  readonly left?: boolean | undefined;
  /** The hunks show everything that changes: nothing is hidden, redacted or cut. Only such diffs can be compared. */
  readonly whole: boolean;
  /** What the diff leaves out, for a page; undefined if it leaves out nothing, or where there was no room. */
  readonly sides?: BothSides | undefined;
}

/** An object on both sides as YAML, empty where it does not exist. Never contains values of Secrets. */
export interface BothSides {
  readonly before: string;
  readonly after: string;
}

/** What differs between two renders, or between the cluster before and after a sync. The counts leave out hooks and what a sync leaves. */
export interface ManifestDiff {
  readonly created: number;
  readonly updated: number;
  /** Without those that stay. */
  readonly deleted: number;
  /** Objects that leave git and that no sync deletes (`Prune=false`), if there are any. */
  readonly stay?: number | undefined;
  readonly hooksChanged: number;
  readonly resources: readonly ResourceChange[];
  /** A rendered Secret has values that Argo CD hides: an empty diff proves nothing if inputs changed. */
  readonly hiddenSecrets: boolean;
  /** Secrets on both sides whose values change, or may change for all that can be known. */
  readonly secrets: readonly SecretChange[];
  /** Objects that differ only in the commit's id, which does not count as a change: `ConfigMap web-cfg`. Untrusted. */
  readonly onlyCommit: readonly string[];
  /** Objects of the head that Argo CD takes for left over, since it has not compared with the newest target branch yet. Untrusted. */
  readonly rendered?: readonly string[] | undefined;
  /** Sentences about dangerous changes, the most dangerous first. They contain untrusted names. */
  readonly cautions: readonly string[];
  /** The changes that endanger something, in a few words and in the order of the cautions. */
  readonly dangers: readonly Danger[];
  /** What the head creates or changes of kinds that set limits or grant rights: `creates Role shop/admin`. Untrusted. */
  readonly sensitive?: readonly string[] | undefined;
  /** Applications among the manifests (app of apps). */
  readonly children: NameChanges;
  /** ApplicationSets among the manifests. */
  readonly sets: NameChanges;
  readonly basis: DiffBasis;
}

/** What a sync may break or lose, in a few words with untrusted names: `deletes PersistentVolumeClaim shop/data`. */
export interface Danger {
  readonly what: string;
  /** Only a sync that prunes does it. */
  readonly pruning: boolean;
  /** `lost`: what is deleted does not come back. `refused`: Kubernetes does not take it, so that the sync fails. */
  readonly effect?: "lost" | "refused" | undefined;
}

/** A Secret by name. It says nothing about values, and names are untrusted. */
export interface SecretChange {
  /** `shop/payments`. */
  readonly name: string;
  /** The keys that change; undefined if svc cannot tell whether the values changed. */
  readonly keys: NameChanges | undefined;
  /** The first changed files that it may be rendered from; empty if they are not known. */
  readonly files: readonly string[];
}

/** Names of objects by what happens to them. */
export interface NameChanges {
  readonly created: readonly string[];
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
}

/** What the head was compared with. */
export type DiffBasis =
  /** The render of the target branch. */
  | { readonly kind: "branch" }
  /** The live cluster; the lists name objects as `ResourceChange.title` does. */
  | ({
      readonly kind: "live";
      /** What differs from the target branch in the cluster, regardless of this change request. */
      readonly drifted: readonly string[];
    } & AgainstCluster)
  /** Both the render of the target branch and the cluster. */
  | ({
      readonly kind: "both";
      /** What a sync changes besides, because the cluster already differs from the target branch. It is not counted. */
      readonly drift: readonly ResourceChange[];
    } & AgainstCluster)
  /** The cluster could not be read, so this is against the target branch. The reason is untrusted. */
  | { readonly kind: "live-failed"; readonly reason: string };

/** How a comparison with the cluster has to be read. */
export interface AgainstCluster {
  /** Why details of it may be wrong. */
  readonly approximate: readonly ObjectNote[];
  /** What the change request changes and the cluster already has. */
  readonly alreadyThere: readonly string[];
  /** What the change request changes and a sync leaves as it is in the cluster. */
  readonly kept: readonly ObjectNote[];
}

/** What holds for some objects of an application. */
export interface ObjectNote {
  /** In words for people, without a full stop. */
  readonly what: string;
  /** As `ResourceChange.title` names them; empty for all of the application. Untrusted. */
  readonly objects: readonly string[];
}

/** How many changed objects a sync leaves as they are. */
export function leftIn({ resources }: Pick<ManifestDiff, "resources">): number {
  return resources.filter(({ left }) => left === true).length;
}

/** What the cluster already differs by from the target branch, where a plan shows it beside the change. */
export function driftOf({ basis }: Pick<ManifestDiff, "basis">): readonly ResourceChange[] {
  return basis.kind === "both" ? basis.drift : [];
}
