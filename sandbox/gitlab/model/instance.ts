import type { GitStore } from "../../git/git-store.js";
import { HostClock } from "../../host-clock.js";
import { HookSender } from "../hooks/hook-sender.js";
import { LoginInstance } from "../oauth/login-instance.js";
import { CommitReader } from "./commit-reader.js";
import type { MergeRequest } from "./merge-request.js";
import { People, type Person } from "./people.js";
import type { Pipeline } from "./pipeline.js";
import type { Project } from "./project.js";
import type { Webhook } from "./webhook.js";

/**
 * Decides the format of approvals: the FOSS build, the full build on the Free tier, or Premium with one approval rule.
 */
export type Edition = "ce" | "free" | "premium";

/** A quick action in a note, which GitLab would have run. */
export interface QuickActionSeen {
  readonly by: string;
  readonly repository: string;
  readonly number: number;
  /** Without the slash, in lower case. */
  readonly action: string;
}

export interface InstanceOptions {
  readonly store: GitStore;
  readonly token: string;
  readonly bot?: { readonly id: number; readonly username: string };
  /** Default: `free`. */
  readonly edition?: Edition;
  /** Approvals that the rule of `premium` requires. Default: 1. */
  readonly approvalsRequired?: number;
  /** Reads of a merge request that still see old approvals after a push, on `premium`. Default: 1. */
  readonly approvalsSyncingReads?: number;
}

/** Whose token it is, and what it may do. */
export interface TokenHolder {
  readonly person: Person;
  readonly scopes: readonly string[];
  /** An administrator of the instance. */
  readonly admin: boolean;
}

/** The state of one GitLab. */
export class Instance {
  readonly store: GitStore;
  readonly commits: CommitReader;
  readonly people = new People();
  readonly projects = new Map<string, Project>();
  readonly #renamed = new Map<string, Project>();
  /** Members by group, the full path in lower case. */
  readonly groups = new Map<string, ReadonlySet<Person>>();
  /** Access levels by group (the full path in lower case) and person id, of those who are not Developers. */
  readonly groupLevels = new Map<string, Map<number, number>>();
  /** Access tokens of others than the service. */
  readonly otherTokens = new Map<string, TokenHolder>();
  readonly webhooks: Webhook[] = [];
  /** Webhooks have signing tokens since GitLab 19.1. */
  signsHooks = true;
  /** As `GET /metadata` shows it. Approvals have a time since 18.5. */
  version = "19.5.0-ee";
  /** A day in ISO 8601. */
  tokenExpires = "2030-01-01";
  /** Notes of approvals that wait to be written, as GitLab does in the background; undefined to write each at once. */
  lateNotes: (() => void)[] | undefined;
  readonly login = new LoginInstance();
  readonly clock = new HostClock();
  readonly mergeRequests: MergeRequest[] = [];
  readonly pipelines: Pipeline[] = [];
  readonly hooks: HookSender;
  readonly bot: Person;
  readonly token: string;
  readonly edition: Edition;
  readonly approvalsRequired: number;
  readonly approvalsSyncingReads: number;
  readonly startedAt: Date;
  /** Requests that contradict GitLab's API description. */
  readonly violations: string[] = [];
  readonly quickActions: QuickActionSeen[] = [];
  /** Of the token. */
  scopes: readonly string[] = ["api"];
  /** Root URL without a final slash, set once the server listens. */
  url = "";
  #lastProject = 41;
  #lastId = 5500;

  constructor(options: InstanceOptions) {
    this.store = options.store;
    this.commits = new CommitReader(options.store);
    this.token = options.token;
    this.edition = options.edition ?? "free";
    this.approvalsRequired = options.approvalsRequired ?? 1;
    this.approvalsSyncingReads = options.approvalsSyncingReads ?? 1;
    this.bot = this.people.add(options.bot?.username ?? "project_42_bot_4ffca233d8298ea1", options.bot?.id ?? 900);
    this.hooks = new HookSender();
    this.startedAt = this.now();
  }

  /** Strictly increasing time, so that later events carry later times. */
  now(): Date {
    return this.clock.now();
  }

  holderOf(token: string): TokenHolder | undefined {
    if (token === this.token) return { person: this.bot, scopes: this.scopes, admin: false };
    return this.otherTokens.get(token);
  }

  nextProjectId(): number {
    return (this.#lastProject += 1);
  }

  /** Ids of everything but projects. They differ from iids, so that a mix-up shows. */
  nextId(): number {
    return (this.#lastId += 1);
  }

  /** The project that had this path last, as long as no other has it. */
  renamedFrom(path: string): Project | undefined {
    return this.projects.has(path) ? undefined : this.#renamed.get(path);
  }

  renameProject(from: string, to: string): void {
    const project = this.project(from);
    this.store.rename(from, to);
    this.projects.delete(from);
    this.#renamed.set(from, project);
    this.projects.set(to, Object.assign(project, { path: to }));
  }

  project(path: string): Project {
    const project = this.projects.get(path);
    if (project === undefined) throw new Error(`There is no project ${path}`);
    return project;
  }

  mergeRequest(path: string, iid: number): MergeRequest {
    const project = this.project(path);
    const merge = this.mergeRequests.find((one) => one.project === project && one.iid === iid);
    if (merge === undefined) throw new Error(`There is no merge request !${iid} in ${path}`);
    return merge;
  }
}
