import type { Stage } from "./stage.js";

/** How a host merges a change request. */
export const MERGE_METHODS = ["squash", "merge", "rebase"] as const;
type MergeMethod = (typeof MERGE_METHODS)[number];

/** A `user` reads the pages; an `admin` can also force-unlock applications and change roles. */
export const ROLES = ["admin", "user"] as const;
export type Role = (typeof ROLES)[number];

/** What becomes of an application that had to get healthy and did not. */
export const ON_FAILURE = ["keep", "rollback"] as const;

/** Who has the base branch brought into the head branch of a change request, the strictest first. */
export const UPDATE_BRANCH = ["never", "command", "on_turn"] as const;

/** What starts a sync: a command alone, or also the approval that a change request waited for. The strictest first. */
export const SYNC_ON = ["command", "approval"] as const;

/** The commands that rules of a repository can restrict to some people. */
export const ACCESS_COMMANDS = ["plan", "sync", "rollback", "unlock"] as const;
export type AccessCommand = (typeof ACCESS_COMMANDS)[number];

/** Who may give commands: people with write access to the repository, or anyone who can comment. */
export const COMMAND_ACCESS = ["write", "anyone"] as const;

/** What a sync of one application requires. */
export interface Requirements {
  readonly requireApproval: boolean;
  /** Completes "it requires an approval: ", where no rule of the deploying repository or the server says so. Untrusted. */
  readonly because?: string | undefined;
  readonly requireUpToDate: boolean;
  /** Undefined if Argo CD's success is enough. */
  readonly health?: HealthRule | undefined;
  /** Undefined if only a command starts a sync. */
  readonly onApproval?: true | undefined;
}

/** An application must get healthy after its sync. */
export interface HealthRule {
  readonly timeoutMs: number;
  readonly onFailure: (typeof ON_FAILURE)[number];
}

/** Who may give a command for an application: a person in either list. Nobody may if both are empty. */
export interface AccessRule {
  /** Logins as written; compared ignoring case. */
  readonly users: readonly string[];
  /** Paths of teams, as the code host spells them. */
  readonly teams: readonly string[];
  /** The repository whose rule it is, if that is another one, or `SERVER_RULES`. Untrusted. */
  readonly from?: string | undefined;
}

/** Another repository than the change request's that an application is defined in: its rules hold, too. Untrusted. */
export type DefinedIn =
  /** Without credentials. `follows`: the revision that Argo CD reads the definition at; empty means the default branch. */
  | { readonly kind: "repository"; readonly repoURL: string; readonly follows: string }
  /** A sentence on why nobody knows which one. */
  | { readonly kind: "unknown"; readonly reason: string };

/** An application as rules see it. What is undefined is not known: a rule that tightens then binds it, and one that loosens does not. */
export interface RuledApplication {
  /** `<name>`, or `<namespace>/<name>` outside Argo CD's own namespace. */
  readonly name: string;
  readonly project?: string | undefined;
  /** The destination's cluster: its address or its name, whichever the definition has. */
  readonly cluster?: string | undefined;
  /** The destination's namespace, and further ones that its objects name. */
  readonly namespaces?: readonly string[] | undefined;
  readonly definedIn?: readonly DefinedIn[] | undefined;
}

/** Objects that set limits or grant rights, of which nobody may create or change one without an approval. */
export interface SensitiveKind {
  /** `AppProject.argoproj.io`, and `Secret` without a group. */
  readonly kind: string;
  /** A pattern; undefined if every name counts. */
  readonly name?: string | undefined;
  /** `<key>` or `<key>=<value>`; undefined if it does not matter. */
  readonly label?: string | undefined;
}

/** A change of a repository's file by a change request: svc merges it only with an approval under the rules of before. */
interface RulesChange {
  /** Each of these must allow one of the approvers; if there are none, every approval that counts is enough. */
  readonly lists: readonly AccessRule[];
}

/** What holds for one change request: server defaults, overridden by the repository files of base branch and default branch. */
export interface Settings extends OwnSettings {
  /** The same with the rules of these repositories, without which what they define needs an approval. @param again reads them once more. */
  including(places: readonly DefinedIn[], again?: "again"): Promise<Settings>;
}

/** The part that the server and the change request's own repository decide. */
export interface OwnSettings {
  readonly autoplan: boolean;
  /** Drafts are planned like any other change request. */
  readonly planDrafts: boolean;
  readonly updateBranch: (typeof UPDATE_BRANCH)[number];
  readonly skipNoChanges: boolean;
  readonly autoMerge: boolean;
  readonly mergeMethod: MergeMethod;
  readonly deleteSourceBranch: boolean;
  /** Branches that are never deleted, and never brought up to date. */
  readonly protectedBranches: readonly string[];
  /** An approval counts also if who gave it wrote or pushed commits that nobody else approved. */
  readonly approvalFromCommitters: boolean;
  readonly prune: boolean;
  readonly allowForks: boolean;
  readonly commandAccess: (typeof COMMAND_ACCESS)[number];
  /** Patterns of further files that affect applications: union of base and head. */
  readonly applications: readonly { readonly name: string; readonly paths: readonly string[] }[];
  /** Patterns that narrow the scan for Application resources: union of base and head; empty means all files. */
  readonly crPaths: readonly string[];
  /** Several code hosts are configured, so that a repository's name alone does not say which one is meant. */
  readonly namesNeedHost: boolean;
  /** Which repositories may drive which applications, from the server's file. */
  readonly applicationRepositories: readonly {
    readonly application: string;
    readonly repositories: readonly string[];
  }[];
  /** Which repositories may introduce applications into an AppProject; any may into one that is not listed. */
  readonly projectRepositories: readonly { readonly project: string; readonly repositories: readonly string[] }[];
  readonly sensitiveKinds: readonly SensitiveKind[];
  /** What a sync requires: by exact entry, else wildcard, else repository, else server. @param elsewhere another repository's file requires health */
  requirementsFor(application: RuledApplication, elsewhere?: "healthy"): Requirements;
  /** Rules that each must allow a person this command for this application; if none, everyone who may give commands may. */
  accessTo(application: RuledApplication, command: AccessCommand): readonly AccessRule[];
  /** The stages of each repository file that has some, without those of a file that says the same. */
  readonly stages: readonly (readonly Stage[])[];
  /** Only an approval by an administrator of the pages counts: no version of a broken file could be read. */
  readonly needsAdministrator: boolean;
  /** Set if the change request changes the repository's file. */
  readonly rulesChange: RulesChange | undefined;
  /** Sentences for a plan: what the change request changes in the repository's file, and when that takes effect. */
  readonly notes: readonly string[];
}

const RIGHTS = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/** OpenShift takes the second group for another name of the first. */
const GROUPS_OF_RIGHTS = ["rbac.authorization.k8s.io", "authorization.openshift.io"];

const ADMISSION = ["Mutating", "Validating"].flatMap((kind) =>
  ["AdmissionPolicy", "AdmissionPolicyBinding", "WebhookConfiguration"].map((what) => `${kind}${what}`),
);

/** https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#quick-reference */
const ARGO_CD_CONFIG =
  "{argocd-cm,argocd-cmd-params-cm,argocd-gpg-keys-cm,argocd-rbac-cm,argocd-ssh-known-hosts-cm,argocd-tls-certs-cm}";

/** Argo CD's limits and credentials, Kubernetes' roles, and what admits objects. */
export const DEFAULT_SENSITIVE_KINDS: readonly SensitiveKind[] = [
  { kind: "AppProject.argoproj.io" },
  { kind: "ConfigMap", name: ARGO_CD_CONFIG },
  { kind: "Secret", name: "argocd-secret" },
  { kind: "Secret", label: "argocd.argoproj.io/secret-type" },
  ...GROUPS_OF_RIGHTS.flatMap((group) => RIGHTS.map((kind) => ({ kind: `${kind}.${group}` }))),
  ...ADMISSION.map((kind) => ({ kind: `${kind}.admissionregistration.k8s.io` })),
];
