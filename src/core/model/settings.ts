/** How a host merges a change request. */
export const MERGE_METHODS = ["squash", "merge", "rebase"] as const;
export type MergeMethod = (typeof MERGE_METHODS)[number];

/** A `user` reads the pages; an `admin` can also force-unlock applications and change roles. */
export const ROLES = ["admin", "user"] as const;
export type Role = (typeof ROLES)[number];

/** What becomes of an application that had to get healthy and did not. */
export const ON_FAILURE = ["keep", "rollback"] as const;

/** The commands that rules of a repository can restrict to some people. */
export const ACCESS_COMMANDS = ["plan", "sync", "rollback", "unlock"] as const;
export type AccessCommand = (typeof ACCESS_COMMANDS)[number];

/** Who may give commands: people with write access to the repository, or anyone who can comment. */
export const COMMAND_ACCESS = ["write", "anyone"] as const;

/** What a sync of one application requires. */
export interface Requirements {
  readonly requireApproval: boolean;
  readonly requireUpToDate: boolean;
  /** Undefined if Argo CD's success is enough. */
  readonly health?: HealthRule | undefined;
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
}

/**
 * An application as rules see it. What is undefined is not known, for instance because the application could not be read:
 * a rule that tightens then binds it, and one that loosens does not.
 */
export interface RuledApplication {
  /** `<name>`, or `<namespace>/<name>` outside Argo CD's own namespace. */
  readonly name: string;
  /** The AppProject. */
  readonly project?: string | undefined;
  /** The destination's cluster: its address or its name, whichever the definition has. */
  readonly cluster?: string | undefined;
  /** The destination's namespace, and further ones that its objects name. */
  readonly namespaces?: readonly string[] | undefined;
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
export interface Settings {
  readonly autoplan: boolean;
  readonly skipNoChanges: boolean;
  readonly autoMerge: boolean;
  readonly mergeMethod: MergeMethod;
  readonly deleteSourceBranch: boolean;
  /** Branches that are never deleted. */
  readonly protectedBranches: readonly string[];
  /** An approval counts also if who gave it wrote or pushed commits that nobody else approved. */
  readonly approvalFromCommitters: boolean;
  readonly prune: boolean;
  readonly planDrafts: boolean;
  readonly allowForks: boolean;
  readonly commandAccess: (typeof COMMAND_ACCESS)[number];
  readonly allowedBots: readonly string[];
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
  readonly sensitiveKinds: readonly SensitiveKind[];
  /** What a sync of this application requires: exact entry, else wildcard entry, else repository, else server. */
  requirementsFor(application: RuledApplication): Requirements;
  /** Rules that each must allow a person this command for this application; if none, everyone who may give commands may. */
  accessTo(application: RuledApplication, command: AccessCommand): readonly AccessRule[];
  /** Only an approval by an administrator of the pages counts: no version of a broken file could be read. */
  readonly needsAdministrator: boolean;
  /** Set if the change request changes the repository's file. */
  readonly rulesChange: RulesChange | undefined;
  /** Sentences for a plan: what the change request changes in the repository's file, and when that takes effect. */
  readonly notes: readonly string[];
}
