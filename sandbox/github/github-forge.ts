import type { FaultSwitch } from "../faults.js";
import type { AccessLevel, FileChanges, Forge, OpenRequest, Push, SeenChangeRequest, SeenStatus } from "../forge.js";
import type { MergeMethod } from "../git/git-store.js";
import { wholeSecond } from "../host-clock.js";
import type { RequestLog } from "../request-log.js";
import type { Deliveries, Receiver } from "./deliveries.js";
import { Discussion } from "./discussion.js";
import { dequeue, endGroup, enqueue } from "./merge-queue.js";
import { mergeByButton } from "./merge.js";
import { mergePushPayload, pullPayload, renamedPayload, type PullAction } from "./payloads.js";
import { closePull, openPull, pushTo, reopenPull, retargetPull, seen, seenStatuses } from "./pull-acts.js";
import { pushAndTell, tellGroup, updateOf, type PushBy } from "./pushes.js";
import { seenDeployments } from "./seen-deployments.js";
import type { Person, Pull, QueueEntry, World } from "./world.js";

export interface GitHubForgeParts {
  readonly world: World;
  readonly webhooks: Deliveries;
  readonly faults: FaultSwitch;
  readonly requests: RequestLog;
  readonly violations: readonly string[];
  readonly stop: () => Promise<void>;
}

/** What an event of a merge group says that is not so. */
interface GroupLie {
  /** The pull request that the group's branch is named after. */
  readonly named?: number;
  /** The queue has been emptied meanwhile. */
  readonly hidden?: boolean;
}

const verdicts = { approve: "APPROVED", "request-changes": "CHANGES_REQUESTED", comment: "COMMENTED" } as const;

/** A miniature GitHub Enterprise Server: REST under `/api/v3`, GraphQL under `/api/graphql`, and git. */
export class GitHubForge implements Forge {
  readonly title = "GitHub";
  readonly faults: FaultSwitch;
  readonly requests: Forge["requests"];
  readonly subscribe: Forge["subscribe"];
  readonly violations: readonly string[];
  readonly login: World["login"];
  readonly deployments: Forge["deployments"];
  readonly #world: World;
  readonly #discussion: Discussion;
  readonly #parts: GitHubForgeParts;

  constructor(parts: GitHubForgeParts) {
    this.#parts = parts;
    this.#world = parts.world;
    this.#discussion = new Discussion(parts.world, parts.webhooks);
    this.faults = parts.faults;
    this.login = parts.world.login;
    this.deployments = seenDeployments(parts.world);
    this.requests = parts.requests.requests;
    this.subscribe = (onAnswer) => parts.requests.subscribe(onAnswer);
    this.violations = parts.violations;
  }

  get url(): string {
    return this.#world.url;
  }

  /** Of another version than the newest. */
  setVersion(version: string): void {
    this.#world.version = version;
  }

  get apiUrl(): string {
    return this.#world.apiUrl;
  }

  get deliveries(): Forge["deliveries"] {
    return this.#parts.webhooks.answers;
  }

  connect(receiver: Receiver): void {
    this.#parts.webhooks.connect(receiver);
  }

  redeliver(id: string): Promise<void> {
    return this.#parts.webhooks.redeliver(id);
  }

  idle(): Promise<void> {
    return this.#parts.webhooks.idle();
  }

  async createRepository(
    name: string,
    files: FileChanges,
    options: { readonly defaultBranch?: string; readonly private?: boolean } = {},
  ): Promise<void> {
    const { defaultBranch = "main" } = options;
    await this.#world.store.createRepository(name, files, { defaultBranch });
    const { owner } = this.#world.addRepository(name, { defaultBranch, private: options.private ?? false });
    this.#world.installationOf(owner);
  }

  async renameRepository(from: string, to: string): Promise<void> {
    const repository = this.#world.renameRepository(from, to);
    await this.#parts.webhooks.send("repository", () => renamedPayload(this.#world, repository, from));
  }

  repositoryId(repository: string): string {
    return String(this.#world.repository(repository).id);
  }

  cloneUrl(repository: string): string {
    return `${this.url}/${this.#world.repository(repository).fullName}.git`;
  }

  setAccess(repository: string, login: string, level: AccessLevel): void {
    this.#world.repository(repository).access.set(login.toLowerCase(), level);
  }

  setVisibility(repository: string, visibility: "public" | "private"): void {
    this.#world.repository(repository).private = visibility === "private";
  }

  setTeam(team: string, logins: readonly string[]): void {
    this.#world.teams.set(team.toLowerCase(), new Set(logins.map((login) => this.#world.person(login))));
  }

  setCodeOwners(repository: string, logins: readonly string[]): void {
    this.#world.repository(repository).codeOwners = logins.map((login) => this.#world.person(login));
  }

  requestReviews(repository: string, number: number, logins: readonly string[]): void {
    for (const login of logins) this.#pull(repository, number).reviewRequests.add(this.#world.person(login));
  }

  /** Does nothing: GitHub's statuses need no pipeline. */
  runPipeline(): void {
    return;
  }

  requireReviews(repository: string, count: number): void {
    this.#world.repository(repository).requiredReviews = count;
  }

  allowMergeMethods(repository: string, ...methods: readonly MergeMethod[]): void {
    this.#world.repository(repository).mergeMethods = new Set(methods);
  }

  protectBranch(repository: string, branch: string): void {
    this.#world.repository(repository).protectedBranches.add(branch);
  }

  async open(request: OpenRequest): Promise<number> {
    const pull = await openPull(this.#world, request);
    await this.#announce(pull, { action: "opened" }, pull.author);
    return pull.number;
  }

  async push(repository: string, number: number, changes: FileChanges, push: Push = {}): Promise<string> {
    const { headRepository, headBranch, author } = this.#pull(repository, number);
    return this.#pushed(headRepository.fullName, headBranch, changes, { by: author.login, ...push });
  }

  async updateBranch(repository: string, number: number, by: string): Promise<string> {
    return this.push(repository, number, {}, await updateOf(this.#world, this.#pull(repository, number), by));
  }

  async pushToBranch(repository: string, branch: string, changes: FileChanges): Promise<string> {
    return this.#pushed(repository, branch, changes, { by: "sandbox" });
  }

  async pushSilently(repository: string, number: number, changes: FileChanges): Promise<string> {
    const { headRepository, headBranch, author } = this.#pull(repository, number);
    return (await pushTo(this.#world, headRepository, headBranch, changes, { by: author.login })).commit;
  }

  comment(repository: string, number: number, by: string, body: string): Promise<string> {
    return this.#discussion.comment(this.#pull(repository, number), by, body);
  }

  editComment(repository: string, number: number, commentId: string, by: string, body: string): Promise<void> {
    return this.#discussion.edit(this.#pull(repository, number), commentId, by, body);
  }

  react(repository: string, number: number, commentId: string, by: string): void {
    this.#discussion.react(this.#pull(repository, number), commentId, by);
  }

  deleteComment(repository: string, number: number, commentId: string): void {
    const { comments } = this.#pull(repository, number);
    comments.splice(0, comments.length, ...comments.filter(({ id }) => String(id) !== commentId));
  }

  commentOnIssue(repository: string, by: string, body: string): Promise<void> {
    return this.#discussion.commentOnIssue(repository, by, body);
  }

  review(repository: string, number: number, by: string, verdict: keyof typeof verdicts): Promise<void> {
    return this.#discussion.review(this.#pull(repository, number), by, verdicts[verdict]);
  }

  freezeClock(): void {
    this.#world.clock.freeze();
  }

  passTime(ms: number): void {
    this.#world.clock.pass(ms);
  }

  async close(repository: string, number: number): Promise<void> {
    const pull = closePull(this.#world, this.#pull(repository, number));
    await this.#announce(pull, { action: "closed" }, pull.author);
  }

  async reopen(repository: string, number: number): Promise<void> {
    const pull = await reopenPull(this.#world, this.#pull(repository, number));
    await this.#announce(pull, { action: "reopened" }, pull.author);
  }

  async markDraft(repository: string, number: number, draft: boolean): Promise<void> {
    const pull = this.#pull(repository, number);
    pull.draft = draft;
    await this.#announce(pull, { action: draft ? "converted_to_draft" : "ready_for_review" }, pull.author);
  }

  async retarget(repository: string, number: number, base: string): Promise<void> {
    const pull = this.#pull(repository, number);
    const changes = { base: { ref: { from: pull.baseBranch }, sha: { from: pull.baseSha } } };
    await retargetPull(this.#world, pull, base);
    await this.#announce(pull, { action: "edited", changes }, pull.author);
  }

  async rename(repository: string, number: number, title: string): Promise<void> {
    const pull = this.#pull(repository, number);
    const changes = { title: { from: pull.title } };
    pull.title = title;
    await this.#announce(pull, { action: "edited", changes }, pull.author);
  }

  async label(repository: string, number: number, label: string): Promise<void> {
    const pull = this.#pull(repository, number);
    pull.labels.push(label);
    await this.#announce(pull, { action: "labeled", label }, pull.author);
  }

  describe(repository: string, number: number, text: string): void {
    Object.assign(this.#pull(repository, number), { body: text, lastEditedAt: wholeSecond(this.#world.clock.now()) });
  }

  async mergeByHand(repository: string, number: number, by: string): Promise<void> {
    const pull = this.#pull(repository, number);
    const person = this.#world.person(by);
    await mergeByButton(this.#world, pull, person);
    await this.#parts.webhooks.send("push", () => mergePushPayload(this.#world, pull, person));
    await this.#announce(pull, { action: "closed" }, person);
  }

  /** Somebody dissolves their stack, of which GitHub tells nobody. */
  unstack(repository: string, numbers: readonly number[]): void {
    for (const number of numbers) this.#pull(repository, number).stackBase = undefined;
  }

  /** Somebody makes a stack of them, the lowest first. */
  async stack(repository: string, numbers: readonly number[], base = "main"): Promise<void> {
    for (const pull of numbers.map((number) => this.#pull(repository, number))) {
      pull.stackBase = base;
      await this.#announce(pull, { action: "stacked" }, pull.author);
    }
  }

  useMergeQueue(repository: string, branch = "main", needsWrite = false): void {
    const place = this.#world.repository(repository);
    place.mergeQueues.set(branch, []);
    place.queueNeedsWrite = needsWrite;
  }

  /** The App was registered before it asked for merge queues. */
  forbidMergeQueues(): void {
    const left = Object.entries(this.#world.app.permissions).filter(([name]) => name !== "merge_queues");
    this.#world.app.permissions = Object.fromEntries(left);
  }

  /** People press "Merge when ready"; GitHub makes one group of them. Returns its head. */
  async queue(repository: string, numbers: readonly number[], lie: GroupLie = {}): Promise<string> {
    const entries: QueueEntry[] = [];
    for (const number of numbers) entries.push(await enqueue(this.#world, this.#pull(repository, number)));
    const [first, last] = [entries[0], entries.at(-1)];
    if (first === undefined || last === undefined) throw new Error("nothing is queued");
    for (const entry of entries) await this.#announce(entry.pull, { action: "enqueued" }, entry.pull.author);
    if (lie.hidden === true) dequeue(first.pull);
    const pull = lie.named === undefined ? last.pull : this.#pull(repository, lie.named);
    await tellGroup(this.#world, this.#parts.webhooks, first.baseSha, { ...last, pull });
    return last.headSha;
  }

  /** The head commits of what is queued for the default branch. */
  queued(repository: string): readonly string[] {
    const { mergeQueues, defaultBranch } = this.#world.repository(repository);
    return (mergeQueues.get(defaultBranch) ?? []).map(({ headSha }) => headSha);
  }

  /** GitHub merges the group that ends with this pull request, or takes it out of the queue. True if it merged. */
  async endGroup(repository: string, number: number, required = "svc/sync"): Promise<boolean> {
    const last = this.#pull(repository, number);
    const merged = await endGroup(this.#world, last, required);
    if (merged.length === 0) await this.#announce(last, { action: "dequeued" }, last.author);
    for (const pull of merged) await this.#announce(pull, { action: "closed" }, pull.merged?.by ?? pull.author);
    return merged.length > 0;
  }

  changeRequest(repository: string, number: number): SeenChangeRequest {
    return seen(this.#pull(repository, number));
  }

  statuses(repository: string, revision: string): readonly SeenStatus[] {
    return seenStatuses(this.#world.repository(repository), revision);
  }

  setRef(repository: string, ref: string, commit: string | undefined): Promise<void> {
    return this.#world.store.setRef(repository, ref, commit);
  }

  branches(repository: string): Promise<readonly string[]> {
    return this.#world.store.branches(repository);
  }

  async commitsSince(repository: string, revision: string, branch: string): ReturnType<Forge["commitsSince"]> {
    const { store } = this.#world;
    return store.commits(repository, revision, (await store.resolve(repository, `refs/heads/${branch}`)) ?? revision);
  }

  delayMergeability(repository: string, number: number, reads: number): void {
    this.#pull(repository, number).pendingReads = reads;
  }

  stop(): Promise<void> {
    return this.#parts.stop();
  }

  #pull(repository: string, number: number): Pull {
    return this.#world.pull(repository, number);
  }

  #pushed(repository: string, branch: string, changes: FileChanges, push: PushBy): Promise<string> {
    return pushAndTell(this.#world, this.#parts.webhooks, this.#world.repository(repository), branch, changes, push);
  }

  #announce(pull: Pull, action: PullAction, sender: Person): Promise<void> {
    return this.#parts.webhooks.send("pull_request", () => pullPayload(this.#world, pull, action, sender));
  }
}
