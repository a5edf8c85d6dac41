import type { RepositoryName, Revision } from "../../src/core/model/brand.js";
import type {
  Authorship,
  ChangeRequest,
  ChangeRequestRef,
  HeadRef,
  Mergeability,
  Reviews,
  User,
} from "../../src/core/model/change-request.js";
import { HostFailure } from "../../src/core/model/errors.js";
import type { MergeIntent } from "../../src/core/model/result.js";
import type {
  CloneSource,
  CodeHost,
  CommitStatus,
  DeploymentState,
  MergeOutcome,
  RevertOutcome,
  UpdateOutcome,
  OpenWithHead,
  OwnComment,
  Reaction,
  RecentActivity,
  ShownDeployment,
} from "../../src/core/ports/code-host.js";
import type { HostId } from "../../src/names.js";
import type { Delay } from "./delay.js";
import { withChanges, type FileChanges, type MemoryRepositories } from "./memory-repositories.js";

export interface MemoryHostOptions {
  readonly id: HostId;
  readonly repository: RepositoryName;
  readonly repositories: MemoryRepositories;
  readonly delay: Delay;
  /** Told when the service merged a change request, as a webhook tells it. */
  readonly onMerge?: (change: ChangeRequestRef) => void;
}

interface Held {
  state: ChangeRequest["state"];
  readonly author: User;
  mergeBase: Revision;
  readonly comments: OwnComment[];
  readonly reactions: SeenReaction[];
  /** Ids of the comments that are folded away as outdated. */
  readonly minimised: Set<string>;
  readonly statuses: SeenStatus[];
  /** Logins of those who approved the present head. */
  approvers: readonly string[];
  approvedAt?: string;
}

interface SeenDeployment extends Pick<ShownDeployment, "command" | "application" | "revision" | "runId"> {
  /** Oldest first. */
  readonly states: DeploymentState[];
}

interface SeenReaction {
  readonly commentId: string;
  readonly reaction: Reaction;
}

interface SeenStatus extends CommitStatus {
  readonly revision: Revision;
}

/** One repository's change requests on a code host, held in memory; its base branch is `main`. */
export class MemoryHost implements CodeHost {
  readonly id: HostId;
  readonly url: string;
  readonly #options: MemoryHostOptions;
  readonly #changes: Held[] = [];
  /** Logins by lower-case name of a team or group. */
  #seconds = 0;
  readonly #teams = new Map<string, ReadonlySet<string>>();

  constructor(options: MemoryHostOptions) {
    this.#options = options;
    this.id = options.id;
    this.url = `https://git.example.com/${options.repository}.git`;
  }

  /** Opens a change request from the tip of `main`. */
  open(changes: FileChanges, author: User): ChangeRequestRef {
    const mergeBase = this.#options.repositories.tip("main");
    this.#changes.push({
      state: "open",
      author,
      mergeBase,
      comments: [],
      reactions: [],
      minimised: new Set(),
      statuses: [],
      approvers: [],
    });
    const number = this.#changes.length;
    this.push(number, changes);
    return this.ref(number);
  }

  /** Replaces the head: the merge base with these changes. */
  push(number: number, changes: FileChanges): Revision {
    const { repositories } = this.#options;
    const held = this.#held(number);
    held.approvers = [];
    return repositories.commit(headRef(number), withChanges(repositories.filesAt(held.mergeBase), changes));
  }

  /** Brings the branch up to date with `main`, and replaces the head as `push` does. */
  update(number: number, changes: FileChanges): Revision {
    this.#held(number).mergeBase = this.#options.repositories.tip("main");
    return this.push(number, changes);
  }

  approve(number: number, ...logins: readonly string[]): void {
    this.#seconds += 1;
    const held = this.#held(number);
    held.approvers = logins;
    held.approvedAt = new Date(this.#seconds * 1000).toISOString();
  }

  setTeam(team: string, ...logins: readonly string[]): void {
    this.#teams.set(team.toLowerCase(), new Set(logins));
  }

  /** False when it is not open, or not closed, or cannot be merged. */
  setState(number: number, state: ChangeRequest["state"]): boolean {
    const held = this.#held(number);
    if (held.state === state || held.state === "merged") return false;
    if (state === "merged") {
      if (held.state !== "open" || this.#conflicting(number).length > 0) return false;
      this.#mergeIntoMain(number);
    }
    held.state = state;
    return true;
  }

  stateOf(number: number): ChangeRequest["state"] {
    return this.#held(number).state;
  }

  commentsOf(number: number): readonly string[] {
    return this.#held(number).comments.map(({ body }) => body);
  }

  reactionsOf(number: number): readonly SeenReaction[] {
    return this.#held(number).reactions;
  }

  isMinimised(number: number, commentId: string): boolean {
    return this.#held(number).minimised.has(commentId);
  }

  /** Every status that was set, oldest first. */
  statusesOf(number: number): readonly SeenStatus[] {
    return this.#held(number).statuses;
  }

  ref(number: number): ChangeRequestRef {
    return { host: this.id, repository: this.#options.repository, number };
  }

  async self(): Promise<User> {
    return { id: "1000", login: "svc-bot", bot: true };
  }

  /** Its clock counts reviews and questions for the time. */
  async reach(): Promise<Date> {
    await this.#options.delay();
    this.#seconds += 1;
    return new Date(this.#seconds * 1000);
  }

  async getChangeRequest({ number }: ChangeRequestRef, signal?: AbortSignal): Promise<ChangeRequest> {
    await this.#options.delay();
    signal?.throwIfAborted();
    const facts = this.facts(number);
    await this.#options.delay();
    return facts;
  }

  /** Webhooks of this host are never lost, and it keeps no times. */
  async recentActivity(): Promise<RecentActivity> {
    await this.#options.delay();
    return { at: undefined, heads: [], closed: [], comments: [] };
  }

  async repositories(): Promise<readonly RepositoryName[]> {
    await this.#options.delay();
    return [this.ref(1).repository];
  }

  async state({ number }: ChangeRequestRef): Promise<ChangeRequest["state"]> {
    await this.#options.delay();
    return this.facts(number).state;
  }

  /** What the host says now, without a pause. */
  facts(number: number): ChangeRequest {
    const { repositories } = this.#options;
    const { state, author, mergeBase } = this.#held(number);
    return {
      ...this.ref(number),
      title: `Change ${number}`,
      webUrl: `${this.url}/${number}`,
      author,
      state,
      draft: false,
      fork: false,
      headBranch: `change-${number}`,
      baseBranch: "main",
      defaultBranch: "main",
      headRevision: repositories.tip(headRef(number)),
      baseRevision: repositories.tip("main"),
      mergeBase,
      mergeability: this.#conflicting(number).length > 0 ? "conflicts" : "mergeable",
      repositoryUrls: [this.url],
    };
  }

  async mergeability({ number }: ChangeRequestRef): Promise<Mergeability> {
    await this.#options.delay();
    return this.#conflicting(number).length > 0 ? "conflicts" : "mergeable";
  }

  async reviews({ number, headRevision }: ChangeRequest): Promise<Reviews> {
    await this.#options.delay();
    const { approvers, approvedAt: at } = this.#held(number);
    const approved = approvers.length > 0 && headRevision === this.facts(number).headRevision;
    const missing = approved ? undefined : "nobody approved it yet";
    const people = (approved ? approvers : []).map((login) => ({ id: login, login, bot: false, at }));
    const looks = people.map((by) => ({ by, saw: headRevision, from: undefined }));
    return { approved, approvers: people.map(({ login }) => login), people, missing, looks };
  }

  /** Everything is the author's. */
  async authorship({ author, headRevision, mergeBase }: ChangeRequest): Promise<Authorship> {
    await this.#options.delay();
    const people = author === undefined ? [] : [author];
    return {
      accounts: new Map([[headRevision, { people, unknown: false }]]),
      pushes: [{ by: author, before: mergeBase, after: headRevision }],
      opened: headRevision,
    };
  }

  isProgram(user: User): Promise<boolean> {
    return Promise.resolve(user.bot);
  }

  async mayCommand(): Promise<boolean> {
    await this.#options.delay();
    return true;
  }

  async mayRead(): Promise<boolean> {
    await this.#options.delay();
    return true;
  }

  /** It has no other repositories. */
  async readFile(): Promise<undefined> {
    await this.#options.delay();
    return undefined;
  }

  async cloneSource({ number }: ChangeRequestRef): Promise<CloneSource> {
    await this.#options.delay();
    return { url: this.url, authorization: undefined, headRef: headRef(number) };
  }

  async listOwnComments({ number }: ChangeRequestRef): Promise<readonly OwnComment[]> {
    await this.#options.delay();
    return [...this.#held(number).comments];
  }

  async postComment({ number }: ChangeRequestRef, body: string): Promise<string> {
    await this.#options.delay();
    const { comments } = this.#held(number);
    const id = String(comments.length + 1);
    comments.push({ id, body });
    return id;
  }

  async editComment({ number }: ChangeRequestRef, commentId: string, body: string): Promise<void> {
    await this.#options.delay();
    const { comments } = this.#held(number);
    const index = comments.findIndex(({ id }) => id === commentId);
    if (index === -1) throw new HostFailure("not-found", "the comment does not exist");
    comments[index] = { id: commentId, body };
  }

  commentUrl(change: ChangeRequest, commentId: string): string {
    return `${change.webUrl}#note_${commentId}`;
  }

  commitUrl(change: ChangeRequest, commit: Revision): string {
    return `${change.webUrl}/commits/${commit}`;
  }

  async react({ number }: ChangeRequestRef, commentId: string, reaction: Reaction): Promise<void> {
    await this.#options.delay();
    const { reactions } = this.#held(number);
    const known = reactions.some((one) => one.commentId === commentId && one.reaction === reaction);
    if (!known) reactions.push({ commentId, reaction });
  }

  async minimise({ number }: ChangeRequestRef, commentId: string): Promise<void> {
    await this.#options.delay();
    this.#held(number).minimised.add(commentId);
  }

  readonly statusPerChange = false;

  async openWithHead({ headRevision }: HeadRef): Promise<OpenWithHead> {
    await this.#options.delay();
    const numbers = this.#changes.map((_, index) => index + 1);
    const { repositories } = this.#options;
    return {
      numbers: numbers.filter(
        (number) => this.#held(number).state === "open" && repositories.tip(headRef(number)) === headRevision,
      ),
      cutOff: undefined,
    };
  }

  mergeGroup(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async setStatus({ number, headRevision }: HeadRef, status: CommitStatus): Promise<boolean> {
    await this.#options.delay();
    this.#held(number).statuses.push({ ...status, revision: headRevision });
    return true;
  }

  async belongsToAny(_change: ChangeRequestRef, user: User, teams: readonly string[]): Promise<boolean> {
    await this.#options.delay();
    return teams.some((team) => this.#teams.get(team.toLowerCase())?.has(user.login));
  }

  showsDeployments = false;
  /** Every deployment that was shown, oldest first. */
  readonly shown: SeenDeployment[] = [];

  async showDeployment(
    _change: ChangeRequest,
    { command, application, revision, runId }: ShownDeployment,
    state: DeploymentState,
    id: string | undefined,
  ): Promise<string> {
    await this.#options.delay();
    if (id === undefined) return String(this.shown.push({ command, application, revision, runId, states: [state] }));
    this.shown[Number(id) - 1]?.states.push(state);
    return id;
  }

  async shownDeployment(
    _change: ChangeRequest,
    { application, runId }: ShownDeployment,
  ): Promise<{ readonly id: string; readonly state: DeploymentState } | undefined> {
    await this.#options.delay();
    const at = this.shown.findIndex((one) => one.application === application && one.runId === runId);
    const state = this.shown[at]?.states.at(-1);
    return state === undefined ? undefined : { id: String(at + 1), state };
  }

  async version(): Promise<string | undefined> {
    return undefined;
  }

  scarceUntil: CodeHost["scarceUntil"] = () => undefined;

  async tokenExpires(): Promise<Date | undefined> {
    return undefined;
  }

  async installedOn(): Promise<readonly string[]> {
    return [];
  }

  async webhookProblems(): Promise<readonly string[]> {
    return [];
  }

  async queueProblems(): Promise<readonly string[]> {
    return [];
  }

  async missingPermissions(): Promise<readonly string[]> {
    return [];
  }

  async merge(change: ChangeRequest, confirm: () => Promise<MergeIntent | undefined>): Promise<MergeOutcome> {
    if ((await confirm()) === undefined) return { kind: "barred" };
    await this.#options.delay();
    if (this.facts(change.number).headRevision !== change.headRevision) {
      return { kind: "refused", reason: "head moved" };
    }
    if (!this.setState(change.number, "merged")) return { kind: "refused", reason: "it cannot be merged now" };
    this.#options.onMerge?.(this.ref(change.number));
    await this.#options.delay();
    return { kind: "merged", note: undefined };
  }

  updateBranch(): Promise<UpdateOutcome> {
    return Promise.resolve({ kind: "refused", reason: "this host has no such thing" });
  }

  revert(): Promise<RevertOutcome> {
    return Promise.resolve({ kind: "refused", reason: "this host has no such thing" });
  }

  #held(number: number): Held {
    const held = this.#changes[number - 1];
    if (held === undefined) throw new HostFailure("not-found", `change request ${number} does not exist`);
    return held;
  }

  /** Paths that changed on both sides since the merge base, and not to the same text. */
  #conflicting(number: number): readonly string[] {
    const { repositories } = this.#options;
    const { mergeBase } = this.#held(number);
    const [headRevision, baseRevision] = [repositories.tip(headRef(number)), repositories.tip("main")];
    const ours = new Set(repositories.changed(headRevision, baseRevision));
    const theirs = new Set(repositories.changed(mergeBase, baseRevision));
    return repositories.changed(mergeBase, headRevision).filter((path) => theirs.has(path) && ours.has(path));
  }

  #mergeIntoMain(number: number): void {
    const { repositories } = this.#options;
    const { mergeBase, headRevision, baseRevision } = this.facts(number);
    const head = repositories.filesAt(headRevision);
    const changes = repositories.changed(mergeBase, headRevision).map((path) => [path, head[path] ?? null] as const);
    repositories.commit("main", withChanges(repositories.filesAt(baseRevision), Object.fromEntries(changes)));
  }
}

function headRef(number: number): string {
  return `refs/change/${number}/head`;
}
