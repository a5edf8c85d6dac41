import type { FaultSwitch } from "../faults.js";
import type { AccessLevel, FileChanges, Forge, OpenRequest, Push, SeenChangeRequest, SeenStatus } from "../forge.js";
import { addLabel, closeMergeRequest, reopenMergeRequest, setDraft, setTarget, setTitle } from "./acts/edits.js";
import { leaveTrain, runPipeline } from "./acts/heads.js";
import { mergeNow } from "./acts/merge.js";
import { addAward, addIssueNote, addNote, addSystemNote, commentOf, editNote } from "./acts/notes.js";
import { newProject, openMergeRequest } from "./acts/open.js";
import { pushToBranch, pushToHead, updateBranch } from "./acts/push.js";
import { giveReview, requestReview } from "./acts/reviews.js";
import type { ForgeServer } from "./forge-server.js";
import type { Delivery, Receiver } from "./hooks/hook-sender.js";
import type { Instance, QuickActionSeen } from "./model/instance.js";
import { draftTitle, isDraft, type MergeRequest } from "./model/merge-request.js";
import { accessLevels, type Project } from "./model/project.js";
import { seenDeployments, type GitLabDeployments } from "./seen-deployments.js";
import { seenWebhooks, type GitLabWebhooks } from "./seen-webhooks.js";
import { seenMergeRequest, seenStatuses } from "./seen.js";

/** A GitLab driven by tests and the demo; see `Forge`. Methods that name no person act as the author. */
export class GitLabForge implements Forge {
  readonly title = "GitLab";
  readonly faults: FaultSwitch;
  readonly requests: Forge["requests"];
  readonly subscribe: Forge["subscribe"];
  readonly login: Instance["login"];
  readonly deployments: GitLabDeployments;
  readonly webhooks: GitLabWebhooks;
  readonly #instance: Instance;
  readonly #server: ForgeServer;

  constructor(instance: Instance, server: ForgeServer) {
    this.#instance = instance;
    this.#server = server;
    this.login = instance.login;
    this.deployments = seenDeployments(instance);
    this.webhooks = seenWebhooks(instance);
    this.faults = server.faults;
    this.requests = server.requests.requests;
    this.subscribe = (onAnswer) => server.requests.subscribe(onAnswer);
  }

  get url(): string {
    return this.#instance.url;
  }

  get deliveries(): readonly Delivery[] {
    return this.#instance.hooks.deliveries;
  }

  get violations(): readonly string[] {
    return this.#instance.violations;
  }

  get quickActions(): readonly QuickActionSeen[] {
    return this.#instance.quickActions;
  }

  /** Makes an account a service account. Its name and its events look like a person's. */
  makeServiceAccount(username: string): void {
    this.#instance.people.named(username).bot = true;
  }

  /** Of another version than the newest. Before 18.5 it does not tell when an approval was given. */
  setVersion(version: string): void {
    this.#instance.version = version;
  }

  /** @param day In ISO 8601. */
  setTokenExpiry(day: string): void {
    this.#instance.tokenExpires = day;
  }

  /** Notes of approvals wait, as when background jobs are late. @returns Writes them. */
  delayApprovalNotes(): () => void {
    this.#instance.lateNotes = [];
    return () => {
      for (const write of this.#instance.lateNotes ?? []) write();
      this.#instance.lateNotes = undefined;
    };
  }

  passTime(ms: number): void {
    this.#instance.clock.pass(ms);
  }

  /** GitLab notes something that a person did. */
  writeSystemNote(repository: string, number: number, by: string, body: string): void {
    addSystemNote(this.#instance, this.#merge(repository, number), this.#instance.people.named(by), body);
  }

  get bot(): { readonly id: number; readonly username: string } {
    return this.#instance.bot;
  }

  /** Also signs deliveries if the receiver has a signing token. */
  connect(receiver: Receiver): void {
    this.#instance.hooks.connect(receiver, this.url);
  }

  redeliver(id: string): Promise<void> {
    return this.#instance.hooks.redeliver(id);
  }

  /** Also makes the bot a Maintainer of the project. */
  async createRepository(
    name: string,
    files: FileChanges,
    options: { readonly defaultBranch?: string } = {},
  ): Promise<void> {
    await this.#instance.store.createRepository(name, files, options);
    newProject(this.#instance, name, options).members.set(this.#instance.bot.id, accessLevels.admin);
  }

  /** GitLab tells nobody. */
  renameRepository(from: string, to: string): Promise<void> {
    this.#instance.renameProject(from, to);
    return Promise.resolve();
  }

  repositoryId(repository: string): string {
    return String(this.#instance.project(repository).id);
  }

  cloneUrl(repository: string): string {
    return `${this.url}/${this.#instance.project(repository).path}.git`;
  }

  setAccess(repository: string, login: string, level: AccessLevel): void {
    const { id } = this.#instance.people.named(login);
    const { members } = this.#instance.project(repository);
    if (level === "none") members.delete(id);
    else members.set(id, accessLevels[level]);
  }

  /** `membersOnly`: the files of a public or internal project are for its members. */
  setVisibility(repository: string, visibility: Project["visibility"], { membersOnly = false } = {}): void {
    Object.assign(this.#instance.project(repository), { visibility, membersOnly });
  }

  setTeam(team: string, logins: readonly string[]): void {
    this.#instance.groups.set(team.toLowerCase(), new Set(logins.map((login) => this.#instance.people.named(login))));
  }

  requireReviews(repository: string, count: number): void {
    this.#instance.project(repository).approvalsRequired = count;
  }

  setCodeOwners(repository: string, logins: readonly string[]): void {
    this.#instance.project(repository).codeOwners = logins.map((login) => this.#instance.people.named(login));
  }

  requestReviews(repository: string, number: number, logins: readonly string[]): void {
    const merge = this.#merge(repository, number);
    for (const login of logins) requestReview(this.#instance, merge, this.#instance.people.named(login));
  }

  runPipeline(repository: string, number: number): void {
    runPipeline(this.#instance, this.#merge(repository, number));
  }

  /** The account stays a member but may do nothing. */
  block(login: string): void {
    this.#instance.people.named(login).state = "blocked";
  }

  /**
   * The account is listed as a member, with its role, and has none of its rights
   * (https://gitlab.com/gitlab-org/gitlab/-/blob/master/lib/gitlab/project_authorizations.rb).
   */
  awaitApproval(login: string): void {
    this.#instance.people.named(login).membership = "awaiting";
  }

  protectBranch(repository: string, branch: string): void {
    this.#instance.project(repository).protectedBranches.add(branch);
  }

  async open(request: OpenRequest): Promise<number> {
    return (await this.#told(openMergeRequest(this.#instance, request))).iid;
  }

  push(repository: string, number: number, changes: FileChanges, push: Push = {}): Promise<string> {
    return this.#told(pushToHead(this.#instance, this.#merge(repository, number), changes, push));
  }

  updateBranch(repository: string, number: number, by: string): Promise<string> {
    return this.#told(updateBranch(this.#instance, this.#merge(repository, number), by));
  }

  pushSilently(repository: string, number: number, changes: FileChanges): Promise<string> {
    return this.#told(pushToHead(this.#instance, this.#merge(repository, number), changes, {}, { silent: true }));
  }

  pushToBranch(repository: string, branch: string, changes: FileChanges): Promise<string> {
    const project = this.#instance.project(repository);
    return this.#told(pushToBranch(this.#instance, project, branch, changes, { by: "sandbox" }));
  }

  async comment(repository: string, number: number, by: string, body: string): Promise<string> {
    const merge = this.#merge(repository, number);
    return String((await this.#told(addNote(this.#instance, merge, this.#instance.people.named(by), body))).id);
  }

  async editComment(repository: string, number: number, commentId: string, by: string, body: string): Promise<void> {
    const merge = this.#merge(repository, number);
    await this.#told(
      editNote(this.#instance, merge, commentOf(merge, commentId), this.#instance.people.named(by), body),
    );
  }

  react(repository: string, number: number, commentId: string, by: string): void {
    const note = commentOf(this.#merge(repository, number), commentId);
    addAward(this.#instance, note, this.#instance.people.named(by), "thumbsup");
  }

  deleteComment(repository: string, number: number, commentId: string): void {
    const merge = this.#merge(repository, number);
    merge.notes.splice(merge.notes.indexOf(commentOf(merge, commentId)), 1);
  }

  async commentOnIssue(repository: string, by: string, body: string): Promise<void> {
    addIssueNote(this.#instance, this.#instance.project(repository), this.#instance.people.named(by), body);
    await this.#instance.hooks.answered();
  }

  async review(
    repository: string,
    number: number,
    by: string,
    verdict: "approve" | "request-changes" | "comment",
  ): Promise<void> {
    await this.#told(
      giveReview(this.#instance, this.#merge(repository, number), this.#instance.people.named(by), verdict),
    );
  }

  freezeClock(): void {
    this.#instance.clock.freeze();
  }

  async close(repository: string, number: number): Promise<void> {
    await this.#told(closeMergeRequest(this.#instance, this.#merge(repository, number)));
  }

  async reopen(repository: string, number: number): Promise<void> {
    await this.#told(reopenMergeRequest(this.#instance, this.#merge(repository, number)));
  }

  async markDraft(repository: string, number: number, draft: boolean): Promise<void> {
    await this.#told(setDraft(this.#instance, this.#merge(repository, number), draft));
  }

  async retarget(repository: string, number: number, base: string): Promise<void> {
    await this.#told(setTarget(this.#instance, this.#merge(repository, number), base));
  }

  /** The title of a draft keeps its prefix. */
  async rename(repository: string, number: number, title: string): Promise<void> {
    const merge = this.#merge(repository, number);
    await this.#told(setTitle(this.#instance, merge, merge.author, draftTitle(title, isDraft(merge))));
  }

  async label(repository: string, number: number, title: string): Promise<void> {
    await this.#told(addLabel(this.#instance, this.#merge(repository, number), title));
  }

  fastForward(repository: string, on: boolean): void {
    this.#instance.project(repository).fastForward = on;
  }

  /** Its author wants its commits squashed at the merge. */
  tickSquash(repository: string, number: number): void {
    this.#merge(repository, number).squash = true;
  }

  /** A project of Premium that merges in trains. */
  useMergeTrain(repository: string): void {
    this.#instance.project(repository).mergeTrain = [];
  }

  /** The numbers of the merge requests on the train, in their order. */
  onTrain(repository: string): readonly number[] {
    return (this.#instance.project(repository).mergeTrain ?? []).map(({ iid }) => iid);
  }

  /** The pipeline of its head passes, so that it joins the train if it waited for that. */
  passPipeline(repository: string, number: number): void {
    const merge = this.#merge(repository, number);
    if (merge.joinsTrain) merge.project.mergeTrain?.push(merge);
    merge.joinsTrain = false;
  }

  /** The train's pipeline for this merge request ends; GitLab merges it if it passed. */
  async endTrain(repository: string, number: number, passed: boolean): Promise<void> {
    const merge = this.#merge(repository, number);
    if (!leaveTrain(merge)) throw new Error(`!${number} is not on the merge train`);
    if (passed) await this.#told(mergeNow(this.#instance, merge, this.#instance.bot));
  }

  describe(repository: string, number: number, text: string): void {
    this.#merge(repository, number).description = text;
  }

  async mergeByHand(repository: string, number: number, by: string): Promise<void> {
    await this.#told(mergeNow(this.#instance, this.#merge(repository, number), this.#instance.people.named(by)));
  }

  changeRequest(repository: string, number: number): SeenChangeRequest {
    return seenMergeRequest(this.#merge(repository, number));
  }

  statuses(repository: string, revision: string): readonly SeenStatus[] {
    return seenStatuses(this.#instance.project(repository), revision);
  }

  setRef(repository: string, ref: string, commit: string | undefined): Promise<void> {
    return this.#instance.store.setRef(this.#instance.project(repository).path, ref, commit);
  }

  branches(repository: string): Promise<readonly string[]> {
    return this.#instance.store.branches(this.#instance.project(repository).path);
  }

  async commitsSince(repository: string, revision: string, branch: string): ReturnType<Forge["commitsSince"]> {
    const { store } = this.#instance;
    return store.commits(repository, revision, (await store.resolve(repository, `refs/heads/${branch}`)) ?? revision);
  }

  delayMergeability(repository: string, number: number, reads: number): void {
    this.#merge(repository, number).pendingReads = reads;
  }

  idle(): Promise<void> {
    return this.#instance.hooks.idle();
  }

  async stop(): Promise<void> {
    this.faults.clear();
    await this.#server.stop();
  }

  #merge(repository: string, number: number): MergeRequest {
    return this.#instance.mergeRequest(repository, number);
  }

  /** Waits for an act and for the answers to its webhooks. */
  async #told<Result>(act: Promise<Result>): Promise<Result> {
    const result = await act;
    await this.#instance.hooks.answered();
    return result;
  }
}
