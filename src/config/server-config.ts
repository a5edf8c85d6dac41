import type { HostId } from "../names.js";
import type { MergeMethod } from "./merge-method.js";

/** The server's file, checked, with every default filled in. Durations are in milliseconds, addresses end without a slash. */
export interface ServerConfig {
  readonly server: ServerSection;
  readonly kvstore: KvstoreSection;
  readonly deployer: DeployerSection;
  /** GitHub; undefined when it is not configured. At least one host is. */
  readonly hosta?: HostaSection;
  /** GitLab; undefined when it is not configured. */
  readonly hostb?: HostbSection;
  readonly defaults: ServerDefaults;
  readonly auth: AuthSection;
  /** Which repositories may drive which applications; both sides are exact names or patterns for `matchesName`. */
  readonly applicationRepositories: readonly ApplicationRepositories[];
}

export interface ApplicationRepositories {
  readonly application: string;
  readonly repositories: readonly string[];
}

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface ServerSection {
  /** Address to listen on. */
  readonly host: string;
  /** Port to listen on; 0 takes a free one. */
  readonly port: number;
  /** Where people reach the service, for links and login callbacks. */
  readonly baseUrl?: string;
  readonly logLevel: LogLevel;
  readonly trustProxy: boolean;
  /** Change requests worked on at the same time. */
  readonly concurrency: number;
  readonly shutdownGrace: number;
  /** Undefined: no metrics port. */
  readonly metricsPort?: number;
  /** Folder for clones; undefined: a temporary one. */
  readonly dataDir?: string;
}

export interface StoreAddress {
  readonly host: string;
  readonly port: number;
}

/** At most one of `address`, `sentinel` and `cluster` is set; with none, the embedded store is used. */
export interface KvstoreSection {
  readonly address?: StoreAddress;
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
  readonly tls: boolean;
  /** Certificate authorities (PEM text) from `ca_file`. */
  readonly caFile?: string;
  readonly sentinel?: {
    readonly master: string;
    readonly addresses: readonly StoreAddress[];
    readonly password?: string;
  };
  readonly cluster?: { readonly addresses: readonly StoreAddress[] };
}

export interface DeployerSection {
  readonly serverUrl: string;
  readonly token: string;
  /** Accept a self-signed certificate. */
  readonly insecure: boolean;
  readonly diffMode: "branch" | "live";
  readonly temporaryApps: "auto" | "always";
  readonly renderConcurrency: number;
  readonly renderTimeout: number;
  readonly syncTimeout: number;
  /** For calls other than renders. */
  readonly requestTimeout: number;
  readonly pollInterval: number;
}

export interface HostaSection {
  readonly appId: number;
  /** PEM text of the App's RSA key. */
  readonly privateKey: string;
  readonly webhookSecret: string;
  readonly apiUrl: string;
  readonly webUrl: string;
  readonly commitStatus: boolean;
  /** Other host names of the same server, lower case, for repository URLs. */
  readonly aliases: readonly string[];
}

export interface HostbSection {
  readonly url: string;
  readonly token: string;
  readonly webhookSecret: string;
  /** With it, a webhook needs a valid signature. */
  readonly signingToken?: string;
  readonly commitStatus: boolean;
  /** Other host names of the same server, lower case, for repository URLs. */
  readonly aliases: readonly string[];
}

/** The server's word on what a repository's file may overrule, and on what it may not. */
export interface ServerDefaults {
  readonly autoplan: boolean;
  /** Exact names or patterns for `matchesName`; empty means every repository. */
  readonly allowedRepos: readonly string[];
  readonly requireApproval: boolean;
  readonly requireUpToDate: boolean;
  readonly autoMerge: boolean;
  readonly mergeMethod: MergeMethod;
  readonly skipNoChanges: boolean;
  readonly deleteSourceBranch: boolean;
  readonly prune: boolean;
  readonly planDrafts: boolean;
  readonly allowForks: boolean;
  readonly commandAccess: "write" | "anyone";
  readonly allowedBots: readonly string[];
  /** Beyond the four names that are never deleted; `Settings.protectedBranches` holds all. */
  readonly protectedBranches: readonly string[];
}

export const ROLES = ["admin", "user"] as const;
/** `user` reads the pages, `admin` may besides force-unlock applications and change roles. */
export type Role = (typeof ROLES)[number];

export interface AuthSection {
  readonly enabled: boolean;
  /** Set whenever `enabled` is true. */
  readonly sessionSecret?: string;
  readonly sessionTtl: number;
  /** Undefined: the host that answers. */
  readonly cookieDomain?: string;
  readonly cookieSecure: boolean;
  readonly defaultRole: Role;
  /** In order; the first match wins. */
  readonly roleAssignments: readonly RoleAssignment[];
  readonly hosta?: OAuthClient & { readonly allowedOrgs: readonly string[]; readonly allowedTeams: readonly string[] };
  readonly hostb?: OAuthClient & { readonly url: string; readonly allowedGroups: readonly string[] };
  readonly oidc?: OidcSection;
  readonly basic?: { readonly users: readonly BasicUser[] };
}

export interface RoleAssignment {
  /** `<email>`, `*@<domain>`, `@<org>/<team>` or `<group>`; `*` matches any run of characters. */
  readonly pattern: string;
  readonly provider?: HostId | "oidc";
  readonly role: Role;
}

export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface OidcSection extends OAuthClient {
  /** Display name on the login button. */
  readonly name: string;
  /** As written: a trailing slash is part of an issuer's name. */
  readonly issuerUrl: string;
  readonly scopes: readonly string[];
  readonly usernameClaim: string;
  readonly emailClaim: string;
  readonly groupsClaim?: string;
  /** Lower case; empty allows all. */
  readonly allowedDomains: readonly string[];
  readonly requireVerifiedEmail: boolean;
}

export interface BasicUser {
  readonly username: string;
  readonly password: string;
  readonly role: Role;
}
