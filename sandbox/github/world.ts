import type { Background } from "../background.js";
import type { AccessLevel } from "../forge.js";
import type { GitStore, MergeMethod } from "../git/git-store.js";
import { loginOf } from "../git/write-commit.js";
import { HostClock, wholeSecond } from "../host-clock.js";
import type { Delivery } from "./deliveries.js";
import { LoginWorld } from "./oauth/login-world.js";
import type { Activity, BaseChange, Comment, Deployment, Person, Review, Status } from "./records.js";
import { Registrations } from "./registrations.js";

export type { Activity, Comment, Person, Reaction, Review, Status } from "./records.js";

/** An issue, or the part of a pull request that it shares with issues. */
export interface Issue {
  readonly id: number;
  readonly repository: Repository;
  readonly number: number;
  readonly author: Person;
  readonly createdAt: string;
  readonly comments: Comment[];
  readonly labels: string[];
  title: string;
  state: "open" | "closed";
  updatedAt: string;
  closedAt: string | undefined;
}

export interface Pull extends Issue {
  readonly headRepository: Repository;
  readonly headBranch: string;
  readonly reviews: Review[];
  /** Oldest first. */
  readonly baseChanges: BaseChange[];
  /** People who were asked for a review and have not reviewed. */
  readonly reviewRequests: Set<Person>;
  body: string;
  lastEditedAt: string | null;
  draft: boolean;
  /** Does not move while the pull request is closed. */
  headSha: string;
  baseBranch: string;
  /** The base branch's tip when the pull request last changed; it may be outdated. */
  baseSha: string;
  merged: { readonly at: string; readonly by: Person; readonly commit: string } | undefined;
  /** The branch that its stack is merged into; undefined if it belongs to none. */
  stackBase: string | undefined;
  /** How many more reads find the mergeability pending. */
  pendingReads: number;
  /** The newest update of its branch. */
  updating: Background | undefined;
}

/** https://docs.github.com/graphql/reference/objects#mergequeueentry */
export interface QueueEntry {
  readonly pull: Pull;
  readonly baseSha: string;
  readonly headSha: string;
}

export interface Repository {
  readonly id: number;
  fullName: string;
  name: string;
  owner: Person;
  readonly defaultBranch: string;
  private: boolean;
  readonly parent: Repository | undefined;
  /** Whether the App is installed: webhooks are sent, and installation tokens cover the repository. */
  readonly installed: boolean;
  readonly createdAt: string;
  readonly access: Map<string, AccessLevel>;
  readonly issues: Map<number, Issue>;
  readonly pulls: Map<number, Pull>;
  /** Whose pull requests were merged. */
  readonly contributors: Set<Person>;
  /** How many of them are closed. */
  closed: number;
  readonly protectedBranches: Set<string>;
  /** Every status ever set, by commit, oldest first. */
  readonly statuses: Map<string, Status[]>;
  /** Oldest first. */
  readonly deployments: Deployment[];
  /** Oldest first. */
  readonly activities: Activity[];
  /** One of them must approve pull requests into the default branch; empty for no such rule. */
  codeOwners: readonly Person[];
  mergeMethods: ReadonlySet<MergeMethod>;
  /** By base branch: what waits to be merged, in order. A branch without one has no merge queue. */
  readonly mergeQueues: Map<string, QueueEntry[]>;
  /** Whether an App needs "Merge queues: write" to put something into them, which GitHub does not document. */
  queueNeedsWrite: boolean;
  /** Approvals that the base branch requires; 0 for none. */
  requiredReviews: number;
}

export interface AppFacts {
  readonly id: number;
  readonly slug: string;
  /** PEM; given away to whoever registers an App, which is always this one. */
  readonly privateKey: string | undefined;
  permissions: Readonly<Record<string, "read" | "write">>;
}

/** The state of this GitHub. */
export class World {
  /** As the header `x-github-enterprise-version` shows it. */
  version = "3.19.1";
  readonly repositories = new Map<string, Repository>();
  /** Members by team, `org/slug` in lower case. */
  readonly teams = new Map<string, ReadonlySet<Person>>();
  readonly login = new LoginWorld();
  readonly clock = new HostClock();
  readonly registrations = new Registrations();
  /** What became of the webhooks that were sent, oldest first. */
  delivered: readonly Delivery[] = [];
  readonly #people = new Map<string, Person>();
  readonly #renamed = new Map<string, Repository>();
  readonly #installations = new Map<string, number>();
  #lastId = 1_500_000_000;
  /** Where each comment was made. */
  readonly #commented = new Map<number, Issue | Pull>();
  #changing: Promise<unknown> = Promise.resolve();

  constructor(
    /** Root of the web pages and of git. */
    readonly url: string,
    readonly app: AppFacts,
    readonly store: GitStore,
  ) {}

  get apiUrl(): string {
    return `${this.url}/api/v3`;
  }

  /** The App's bot account. */
  get bot(): Person {
    return this.person(`${this.app.slug}[bot]`);
  }

  newId(): number {
    return ++this.#lastId;
  }

  /** The account of a login, in any case, created on first use. */
  person(login: string, type?: Person["type"]): Person {
    const key = login.toLowerCase();
    const known = this.#people.get(key);
    if (known !== undefined) return known;
    const kind = type ?? (login.endsWith("[bot]") ? "Bot" : "User");
    const person: Person = { id: 1000 + this.#people.size, login, type: kind };
    this.#people.set(key, person);
    return person;
  }

  /** The account that an e-mail address belongs to. */
  accountOf(email: string): Person | undefined {
    return this.#people.get(loginOf(email) ?? "");
  }

  repository(fullName: string): Repository {
    const repository = this.repositories.get(fullName);
    if (repository === undefined) throw new Error(`There is no repository ${fullName}`);
    return repository;
  }

  pull(repository: string, number: number): Pull {
    const pull = this.repository(repository).pulls.get(number);
    if (pull === undefined) throw new Error(`There is no pull request ${repository}#${number}`);
    return pull;
  }

  /** The repository that had this name last, as long as no other has it. */
  renamedFrom(fullName: string): Repository | undefined {
    return this.repositories.has(fullName) ? undefined : this.#renamed.get(fullName);
  }

  renameRepository(from: string, to: string): Repository {
    const repository = this.repository(from);
    const [owner = "", name = ""] = to.split("/");
    this.store.rename(from, to);
    this.repositories.delete(from);
    this.#renamed.set(from, repository);
    this.repositories.set(
      to,
      Object.assign(repository, { fullName: to, name, owner: this.person(owner, "Organization") }),
    );
    this.installationOf(repository.owner);
    return repository;
  }

  addRepository(fullName: string, facts: Partial<Repository>): Repository {
    const [owner = "", name = ""] = fullName.split("/");
    const parent = facts.parent;
    const repository: Repository = {
      id: this.newId(),
      fullName,
      name,
      owner: this.person(owner, parent === undefined ? "Organization" : "User"),
      defaultBranch: "main",
      private: false,
      parent,
      installed: parent === undefined,
      createdAt: this.now(),
      access: new Map(),
      issues: new Map(),
      pulls: new Map(),
      contributors: new Set(),
      closed: 0,
      protectedBranches: new Set(),
      statuses: new Map(),
      deployments: [],
      activities: [],
      codeOwners: [],
      mergeQueues: new Map(),
      queueNeedsWrite: false,
      mergeMethods: new Set(["merge", "squash", "rebase"]),
      requiredReviews: 0,
      ...facts,
    };
    this.repositories.set(fullName, repository);
    return repository;
  }

  /** Strangers may read public repositories. */
  access(repository: Repository, login: string): AccessLevel {
    const level = repository.access.get(login.toLowerCase());
    if (level !== undefined && level !== "none") return level;
    const { owner } = repository;
    if (owner.type === "User" && owner.login.toLowerCase() === login.toLowerCase()) return "admin";
    return repository.private ? "none" : "read";
  }

  mayWrite(repository: Repository, person: Person): boolean {
    return ["write", "admin"].includes(this.access(repository, person.login));
  }

  /** The installation of an account; each owner of repositories has one. */
  installationOf(owner: Person): number {
    const known = this.#installations.get(owner.login);
    if (known !== undefined) return known;
    const id = 5_000_000 + this.#installations.size;
    this.#installations.set(owner.login, id);
    return id;
  }

  installations(): readonly { readonly id: number; readonly owner: Person }[] {
    return [...this.#installations].map(([login, id]) => ({ id, owner: this.person(login) }));
  }

  /** Serialises merges and pushes, which check before they act. */
  oneAfterTheOther<T>(change: () => Promise<T>): Promise<T> {
    const mine = this.#changing.then(change, change);
    this.#changing = mine.catch(() => undefined);
    return mine;
  }

  /** What the host's clock shows. */
  now(): string {
    return wholeSecond(this.clock.now());
  }

  addComment(issue: Issue | Pull, said: Pick<Comment, "author" | "viaApp" | "body">): Comment {
    const at = this.now();
    const more = { createdAt: at, updatedAt: at, edited: false, minimizedReason: undefined, reactions: [] };
    const comment = { id: this.newId(), ...said, ...more };
    issue.comments.push(comment);
    issue.updatedAt = at;
    this.#commented.set(comment.id, issue);
    return comment;
  }

  /** The comment with its issue or pull request. */
  comment(repository: Repository, id: number): { issue: Issue | Pull; comment: Comment } | undefined {
    const issue = this.#commented.get(id);
    const comment = issue?.comments.find((candidate) => candidate.id === id);
    return issue?.repository === repository && comment !== undefined ? { issue, comment } : undefined;
  }
}

export function isPull(issue: Issue | Pull): issue is Pull {
  return "headSha" in issue;
}

export function now(): string {
  return wholeSecond(new Date());
}

/** An opaque global id, as in GraphQL and in `node_id`. */
export function nodeId(prefix: string, id: number | string): string {
  return `${prefix}_${Buffer.from(`${prefix}:${id}`).toString("base64url")}`;
}
