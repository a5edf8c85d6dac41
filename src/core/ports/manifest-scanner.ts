import type { Application, ApplicationSet } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import type { Naming } from "./deployer.js";
import type { RepositorySnapshot } from "./repositories.js";

/** Finds the Application and ApplicationSet resources of a commit. Caches what it parsed. */
export interface ManifestScanner {
  scan(request: ScanRequest): Promise<ManifestScan>;
}

export interface FoundApplication {
  readonly file: string;
  readonly application: Application;
  /** The whole resource without its status, as one text to compare. */
  readonly content: string;
  /** Why it cannot be deployed from this text: it is a patch of another file, for example. */
  readonly problem: string | undefined;
}

export interface FoundApplicationSet {
  readonly file: string;
  readonly set: ApplicationSet;
  readonly content: string;
}

/** Why a file, or a part of it, was not read. */
export interface Unreadable {
  /** Completes "it could not be read: …"; quotes nothing of the file. */
  readonly reason: string;
  /** Argo CD may be able to read it, and find an Application in it. False for templates. */
  readonly mayHide: boolean;
}

/** Every Application and ApplicationSet resource of a commit, in the order of their files. */
export interface ManifestScan {
  readonly applications: readonly FoundApplication[];
  readonly applicationSets: readonly FoundApplicationSet[];
  /** Files that may contain more resources than were found. */
  readonly unreadable: ReadonlyMap<string, Unreadable>;
}

export interface ScanRequest {
  readonly snapshot: RepositorySnapshot;
  readonly revision: Revision;
  /** Glob patterns that limit the scan; empty means all files. */
  readonly crPaths: readonly string[];
  readonly nameOf: Naming;
  /** Whose work it is: see `ComputeLimits`. */
  readonly owner: string;
  /** Only people who may write to the repository wrote this commit; the limits are smaller otherwise. */
  readonly trusted: boolean;
  readonly signal: AbortSignal;
}
