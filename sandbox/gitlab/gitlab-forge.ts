import type { FaultSwitch } from "../faults.js";
import type { AccessLevel, FileChanges, Forge, OpenRequest, SeenChangeRequest } from "../forge.js";
import { addLabel, closeMergeRequest, reopenMergeRequest, setDraft, setTarget, setTitle } from "./acts/edits.js";
import { branchMoved, type BranchMove } from "./acts/heads.js";
import { mergeNow } from "./acts/merge.js";
import { addIssueNote, addNote, editNote } from "./acts/notes.js";
import { newProject, openMergeRequest } from "./acts/open.js";
import { approve, requestChanges, submitReview } from "./acts/reviews.js";
import type { Delivery, Receiver } from "./hooks/hook-sender.js";
import type { Instance, QuickActionSeen } from "./model/instance.js";
import { draftTitle, isDraft } from "./model/merge-request.js";
import { accessLevels } from "./model/project.js";

/** What the server behind a forge keeps and offers. */
export interface ForgeServer {
  readonly faults: FaultSwitch;
  readonly requests: Forge["requests"];
  stop(): Promise<void>;
}

/** A GitLab that tests and the demo steer; see `Forge`. People without a say in a method are the author. */
export class GitLabForge implements Forge {
  readonly title = "GitLab";
  readonly faults: FaultSwitch;
  readonly requests: Forge["requests"];
  readonly #instance: Instance;
  readonly #server: ForgeServer;

  constructor(instance: Instance, server: ForgeServer) {
    this.#instance = instance;
    this.#server = server;
    this.faults = server.faults;
    this.requests = server.requests;
  }

  get url(): string {
    return this.#instance.url;
  }

  get deliveries(): readonly Delivery[] {
    return this.#instance.hooks.deliveries;
  }

  /** What a client asked, or the sandbox answered, against GitLab's API description; empty when all is well. */
  get violations(): readonly string[] {
    return this.#instance.violations;
  }

  /** Quick actions that notes would have carried out, by whoever wrote them. */
  get quickActions(): readonly QuickActionSeen[] {
    return this.#instance.quickActions;
  }

  /** The account behind the token. */
  get bot(): { readonly id: number; readonly username: string } {
    return this.#instance.bot;
  }

  /** Signs deliveries too when the receiver has a signing token. */
  connect(receiver: Receiver): void {
    this.#instance.hooks.connect(receiver, this.url);
  }

  redeliver(id: string): Promise<void> {
    return this.#instance.hooks.redeliver(id);
  }

  /** The bot becomes a Maintainer of it. */
  async createRepository(
    name: string,
    files: FileChanges,
    options: { readonly defaultBranch?: string } = {},
  ): Promise<void> {
    await this.#instance.store.createRepository(name, files, options);
    const project = newProject(this.#instance, name, options);
    project.members.set(this.#instance.bot.id, accessLevels.admin);
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

  /** The account stays a member but may not do anything any more. */
  block(login: string): void {
    this.#instance.people.named(login).state = "blocked";
  }

  protectBranch(repository: string, branch: string): void {
    this.#instance.project(repository).protectedBranches.add(branch);
  }

  async open(request: OpenRequest): Promise<number> {
    return (await this.#told(openMergeRequest(this.#instance, request))).iid;
  }

  push(repository: string, number: number, changes: FileChanges): Promise<string> {
    return this.#commitToHead(repository, number, changes, {});
  }

  pushSilently(repository: string, number: number, changes: FileChanges): Promise<string> {
    return this.#commitToHead(repository, number, changes, { silent: true });
  }

  pushToBranch(repository: string, branch: string, changes: FileChanges): Promise<string> {
    return this.#commit(repository, branch, changes, {});
  }

  async comment(repository: string, number: number, by: string, body: string): Promise<string> {
    const merge = this.#instance.mergeRequest(repository, number);
    return String((await this.#told(addNote(this.#instance, merge, this.#instance.people.named(by), body))).id);
  }

  async editComment(repository: string, number: number, commentId: string, by: string, body: string): Promise<void> {
    const merge = this.#instance.mergeRequest(repository, number);
    const note = merge.notes.find(({ id, system }) => String(id) === commentId && !system);
    if (note === undefined) throw new Error(`!${number} of ${repository} has no comment ${commentId}`);
    await this.#told(editNote(this.#instance, merge, note, this.#instance.people.named(by), body));
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
    const merge = this.#instance.mergeRequest(repository, number);
    const person = this.#instance.people.named(by);
    switch (verdict) {
      case "approve":
        return this.#told(approve(this.#instance, merge, person));
      case "request-changes":
        return this.#told(requestChanges(this.#instance, merge, person));
      case "comment":
        return this.#told(submitReview(this.#instance, merge, person));
    }
  }

  async close(repository: string, number: number): Promise<void> {
    const merge = this.#instance.mergeRequest(repository, number);
    await this.#told(closeMergeRequest(this.#instance, merge, merge.author));
  }

  async reopen(repository: string, number: number): Promise<void> {
    const merge = this.#instance.mergeRequest(repository, number);
    await this.#told(reopenMergeRequest(this.#instance, merge, merge.author));
  }

  async markDraft(repository: string, number: number, draft: boolean): Promise<void> {
    const merge = this.#instance.mergeRequest(repository, number);
    await this.#told(setDraft(this.#instance, merge, merge.author, draft));
  }

  async retarget(repository: string, number: number, base: string): Promise<void> {
    const merge = this.#instance.mergeRequest(repository, number);
    await this.#told(setTarget(this.#instance, merge, merge.author, base));
  }

  /** A draft stays one: its title keeps the prefix. */
  async rename(repository: string, number: number, title: string): Promise<void> {
    const merge = this.#instance.mergeRequest(repository, number);
    await this.#told(setTitle(this.#instance, merge, merge.author, draftTitle(title, isDraft(merge))));
  }

  /** A person adds a label. */
  async label(repository: string, number: number, title: string): Promise<void> {
    const merge = this.#instance.mergeRequest(repository, number);
    await this.#told(addLabel(this.#instance, merge, merge.author, title));
  }

  async mergeByHand(repository: string, number: number, by: string): Promise<void> {
    const merge = this.#instance.mergeRequest(repository, number);
    if (merge.state !== "opened") throw new Error(`!${number} of ${repository} is ${merge.state}`);
    await this.#told(mergeNow(this.#instance, merge, this.#instance.people.named(by)));
  }

  changeRequest(repository: string, number: number): SeenChangeRequest {
    const merge = this.#instance.mergeRequest(repository, number);
    return {
      number,
      title: merge.title,
      author: merge.author.username,
      state: merge.state === "opened" || merge.state === "locked" ? "open" : merge.state,
      draft: isDraft(merge),
      headBranch: merge.sourceBranch,
      baseBranch: merge.targetBranch,
      headRevision: merge.head,
      mergedBy: merge.mergedBy?.username,
      comments: merge.notes
        .filter(({ system }) => !system)
        .map(({ id, author, body, updatedBy }) => {
          return { id: String(id), author: author.username, body, edited: updatedBy !== undefined };
        }),
    };
  }

  branches(repository: string): Promise<readonly string[]> {
    return this.#instance.store.branches(this.#instance.project(repository).path);
  }

  async commitsSince(repository: string, revision: string, branch: string): ReturnType<Forge["commitsSince"]> {
    const { store } = this.#instance;
    return store.commits(repository, revision, (await store.resolve(repository, `refs/heads/${branch}`)) ?? revision);
  }

  delayMergeability(repository: string, number: number, reads: number): void {
    this.#instance.mergeRequest(repository, number).pendingReads = reads;
  }

  idle(): Promise<void> {
    return this.#instance.hooks.idle();
  }

  /** The store stays as it is. */
  async stop(): Promise<void> {
    this.faults.clear();
    await this.#server.stop();
  }

  /** Waits until the receiver has answered the webhooks of an act, too. */
  async #told<Result>(act: Promise<Result>): Promise<Result> {
    const result = await act;
    await this.#instance.hooks.answered();
    return result;
  }

  async #commitToHead(repository: string, number: number, changes: FileChanges, move: BranchMove): Promise<string> {
    const { sourceProject, sourceBranch } = this.#instance.mergeRequest(repository, number);
    return this.#commit(sourceProject.path, sourceBranch, changes, move);
  }

  async #commit(repository: string, branch: string, changes: FileChanges, move: BranchMove): Promise<string> {
    const project = this.#instance.project(repository);
    const from = await this.#instance.store.resolve(project.path, `refs/heads/${project.defaultBranch}`);
    const id = await this.#instance.store.commit(project.path, branch, changes, { from });
    await this.#told(branchMoved(this.#instance, project, branch, move));
    return id;
  }
}
