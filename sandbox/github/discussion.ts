import type { Deliveries } from "./deliveries.js";
import { commentPayload, reviewPayload } from "./payloads.js";
import { newIssue } from "./pull-acts.js";
import { type Comment, type Issue, type Person, type Pull, type Review, type World } from "./world.js";

/** Comments and reviews of people. Each method resolves after the receiver has answered the webhook. */
export class Discussion {
  constructor(
    readonly world: World,
    readonly webhooks: Deliveries,
  ) {}

  /** Returns the comment's id. */
  async comment(issue: Issue | Pull, by: string, body: string): Promise<string> {
    const author = this.world.person(by);
    const comment = this.world.addComment(issue, { author, viaApp: false, body });
    await this.#announce(issue, comment, author, undefined);
    return String(comment.id);
  }

  async commentOnIssue(repository: string, by: string, body: string): Promise<void> {
    await this.comment(newIssue(this.world, this.world.repository(repository), by), by, body);
  }

  async edit(pull: Pull, commentId: string, by: string, body: string): Promise<void> {
    const comment = this.#commentOf(pull, commentId);
    const previous = comment.body;
    Object.assign(comment, { body, edited: true, updatedAt: this.world.now() });
    await this.#announce(pull, comment, this.world.person(by), previous);
  }

  /** A reaction leaves the comment's times as they are. */
  react(pull: Pull, commentId: string, by: string): void {
    const { reactions } = this.#commentOf(pull, commentId);
    reactions.push({ id: this.world.newId(), by: this.world.person(by), content: "+1", createdAt: this.world.now() });
  }

  #commentOf(pull: Pull, commentId: string): Comment {
    const comment = pull.comments.find(({ id }) => String(id) === commentId);
    if (comment === undefined) throw new Error(`There is no comment ${commentId} on #${pull.number}`);
    return comment;
  }

  async review(pull: Pull, by: string, state: Review["state"]): Promise<void> {
    const author = this.world.person(by);
    if (author === pull.author && state !== "COMMENTED") {
      throw new Error("GitHub: Review Can not approve your own pull request");
    }
    this.world.clock.passSecond();
    const submittedAt = this.world.now();
    const review = { id: this.world.newId(), author, state, commit: pull.headSha, submittedAt };
    pull.reviews.push(review);
    pull.updatedAt = submittedAt;
    pull.reviewRequests.delete(author);
    await this.webhooks.send("pull_request_review", () => reviewPayload(this.world, pull, review));
  }

  #announce(issue: Issue | Pull, comment: Comment, sender: Person, previous: string | undefined): Promise<void> {
    return this.webhooks.send("issue_comment", () => commentPayload(this.world, issue, comment, sender, previous));
  }
}
