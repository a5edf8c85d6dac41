import { createHash } from "node:crypto";
import { haveSameTarget, readMarker, remark, targetOf } from "../../comments/marker.js";
import { linksOf, block, cutBlocks } from "../../comments/parts.js";
import { packedPlan, renderPlan, renderPlanTask } from "../../comments/plan.js";
import { type Present, presentOf } from "../../comments/present.js";
import { publishPlan, markStale, isCurrentPlan, postOnce } from "../../comments/publish.js";
import { withPresentLocks } from "../../core/commands/locks.js";
import type { ReadFacts } from "../../core/facts/read-facts.js";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  changeRequestKey,
  identityKey,
  type ChangeRequestRef,
} from "../../core/model/change-request.js";
import { HostFailure, isFinal } from "../../core/model/errors.js";
import type { Lock } from "../../core/model/lock.js";
import type { NextStep } from "../../core/model/next-step.js";
import { driftOf, type ResourceChange } from "../../core/model/plan/manifest-diff.js";
import { isAsking, isPlanOf, type Plan, previewedDiff, shownDiff } from "../../core/model/plan/plan.js";
import { nextStep } from "../../core/policy/next-step.js";
import type { CodeHost, OwnComment, Posting } from "../../core/ports/code-host.js";
import { tooMuch } from "../../core/ports/compute.js";
import type { Run } from "../line/run.js";

/** What a plan's comment is written with. */
type Shower = Omit<Run, "attempt">;

/** What the comment of a plan shows. */
export interface Living {
  /** The plan with its locks as they are now. */
  readonly plan: Plan;
  readonly next: NextStep | undefined;
  readonly present: Present | undefined;
}

/** Tells whether the text of a plan's comment has changed: it covers what the text is made from, but for what never changes in a stored plan. */
function digestOf({ plan, next, present }: Living): string {
  const locks = plan.applications.map(({ application, lock, gaps }) => {
    const held = lock.kind === "held" ? [...shownOf(lock.by), lock.place] : [];
    return [application, lock.kind, ...held, gaps?.behind];
  });
  const step = next?.kind === "wait" ? ["wait", ...next.locks.map(shownOf)] : next;
  const answers = plan.applications.map((one) => (one.kind === "evaluated" ? one.cluster : undefined));
  return hashOf([plan.head, plan.baseBranch, plan.plannedAt, plan.notes, plan.stages, locks, step, present, answers]);
}

/** What a plan shows of a lock. The lock's commit and time, which change with each plan of its holder, are not shown. */
function shownOf({ application, holder, user }: Lock): readonly string[] {
  return [application, identityKey(holder), user];
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64");
}

/** What is stored of the first comment of a plan. */
interface Written {
  /** As `digestOf` writes it; `UNKNOWN` while it is being edited. */
  readonly digest: string;
  /** The id of the comment; empty if there is none. */
  readonly id: string;
  /** Only if it is the plan's only comment: then all of it is known. */
  readonly whole?: { readonly runId: string; readonly hash: string } | undefined;
}

const UNKNOWN = "?";

/** Where a plan is shown. */
export interface Place {
  /** The id of the plan's comment, if it is known. */
  readonly planComment?: string | undefined;
  /** Whether no comment shows the plan. */
  readonly withoutComment?: boolean;
}

/** The first comment of a change request's plan. */
export class PlanComment {
  #known: Promise<Written | undefined> | undefined;
  #anew: string | undefined;

  constructor(
    private readonly change: ChangeRequest,
    private readonly options: Place,
    private readonly run: Shower,
  ) {}

  /** Whether the comment that `url` led to before is gone, and another one was posted. */
  get isAnew(): boolean {
    return this.#anew !== undefined;
  }

  /** The address of the comment, or of the change request if no comment shows the plan. */
  async url(): Promise<string> {
    const { change, options, run } = this;
    if (options.withoutComment === true) return change.webUrl;
    const known =
      this.#anew ?? options.planComment ?? (await this.#written())?.id ?? (await findCurrentPlan(run.host, change))?.id;
    return known === undefined || known === "" ? change.webUrl : run.host.commentUrl(change, known);
  }

  /** The address of the comment, if it is stored. */
  async storedUrl(): Promise<string | undefined> {
    const { id = "" } = (await this.#written()) ?? {};
    return id === "" ? undefined : this.run.host.commentUrl(this.change, id);
  }

  /** Edits it if it does not say what was read. */
  async update({ plan, facts, records }: ReadFacts & { readonly plan: Plan }): Promise<void> {
    if (this.options.withoutComment === true || !isPlanOf(plan, this.change)) return;
    const { locks, records: doubt } = facts.untold;
    if (locks !== undefined || doubt !== undefined) return;
    const lockOf = new Map(facts.applications.map(({ application, lock }) => [application, lock]));
    const find = (application: ApplicationName) => Promise.resolve(lockOf.get(application));
    const now = await withPresentLocks(plan, { locks: { find }, waiting: this.run.waiting });
    const present = presentOf(plan, this.change, facts.approval, records);
    await this.write({ plan: now, next: nextStep(facts), present });
  }

  /**
   * Writes it unless it shows this. What the host refuses is left as it is until there is something else to show; what somebody
   * deleted is posted anew. Kubernetes' answers, and a warning that is taken back, change the other comments of the plan as well.
   */
  async write(now: Living): Promise<void> {
    const { change, run } = this;
    const digest = digestOf(now);
    const known = await this.#written();
    if (known?.digest === digest) return;
    const texts = await planTexts(now, change, run);
    const [text = ""] = texts;
    if (known?.whole !== undefined && texts.length === 1) {
      const { id, whole } = known;
      const hash = hashOf(text);
      if (hash !== whole.hash && !(await this.#edit(id, remark(text, { runId: whole.runId, part: 1 })))) {
        return this.#postAnew(now, texts);
      }
      return wrotePlan(change, { digest, id, whole: { ...whole, hash } }, run);
    }
    const comment = await findCurrentPlan(run.host, change);
    const wasPosted = known !== undefined && known.id !== "";
    if (comment === undefined && wasPosted) return this.#postAnew(now, texts);
    const marker = comment && readMarker(comment.body);
    const target = targetOf(now.plan.head, now.plan.baseBranch);
    const isPlan = comment !== undefined && marker !== undefined && haveSameTarget(marker, target);
    const isAnswered = marker?.asking === true && !isAsking(now.plan);
    if (isPlan && (isAnswered || now.plan.amended === true)) {
      const edit = (id: string, body: string) => this.#edit(id, body, comment.id);
      await rewritePlan(run.host, change, comment, texts, { edit, posting: { urgency: "plan" } });
    } else if (isPlan) {
      const body = withPresent(comment.body, texts, run.hostWords[change.host].maxComment);
      if (body !== comment.body && !(await this.#edit(comment.id, body))) return this.#postAnew(now, texts);
    }
    await wrotePlan(change, { digest, id: comment?.id ?? "" }, run);
  }

  /** Edits a comment of the plan unless the host refuses that for good. @param first the plan's first one. @returns False if the comment is gone. */
  async #edit(id: string, text: string, first = id): Promise<boolean> {
    const { change, run } = this;
    // A comment that turns out to be gone is posted anew, by another attempt if this one fails.
    await wrotePlan(change, { digest: UNKNOWN, id: first }, run);
    try {
      await run.host.editComment(change, id, text);
      return true;
    } catch (error) {
      if (!isFinal(error)) throw error;
      if (error instanceof HostFailure && error.reason === "not-found") return false;
      run.log.warn({ err: error, comment: id }, "the comment of a plan cannot be edited");
      return true;
    }
  }

  /** Posts the plan once more. If the host refuses that for good, nothing shows the plan. */
  async #postAnew(shown: Living, texts: readonly string[]): Promise<void> {
    const { change, run } = this;
    let id: string | undefined;
    try {
      const posting = { urgency: "plan", signal: run.signal } as const;
      id = await publishPlan(run.host, change, texts, { runId: run.runId, automatic: false, posting, log: run.log });
    } catch (error) {
      if (!isFinal(error)) throw error;
      run.log.warn({ err: error }, "the comment of a plan is gone and cannot be posted anew");
    }
    this.#anew = id;
    await postedPlan(change, { shown, texts, id }, run);
  }

  #written(): Promise<Written | undefined> {
    const read = async (): Promise<Written | undefined> => {
      const text = await this.run.publisher.written(this.change, "plan");
      const [digest, id = "", runId, hash] = text?.split(" ") ?? [];
      if (digest === undefined) return undefined;
      return { digest, id, whole: runId === undefined || hash === undefined ? undefined : { runId, hash } };
    };
    return (this.#known ??= read());
  }
}

/** The first part of the current plan; undefined if there is none. */
async function findCurrentPlan(
  host: Pick<CodeHost, "listOwnComments">,
  change: ChangeRequestRef,
): Promise<OwnComment | undefined> {
  const current = (await host.listOwnComments(change)).filter(isCurrentPlan);
  return current.findLast(({ body }) => (readMarker(body)?.part ?? 1) === 1);
}

/**
 * The body of the current plan's first comment with what holds now. Of a plan of several comments only what stands before the first
 * application changes: the rest is where it was.
 * @param rendered the parts of the same plan as it is now.
 * @param limit the length of a comment. The first one was posted as long as that, and gets longer by what has happened since.
 */
export function withPresent(body: string, rendered: readonly string[], limit: number): string {
  const [text = ""] = rendered;
  const marker = readMarker(body);
  const isWhole = rendered.length === 1 && !/^## .* \(part 1 of \d+\)$/m.test(body.slice(0, HEADING_WITHIN));
  const [start, end] = [text.indexOf(SECTION), body.indexOf(SECTION)];
  if (marker === undefined) return body;
  if (isWhole) return remark(text, marker);
  if (start < 0 || end < 0) return body;
  // The marker of a posted comment is longer, since it names the run.
  return cutToFit(remark(text.slice(0, start), marker), limit - (body.length - end)) + body.slice(end);
}

/** Leaves out as many of the last lines of the longest list as there is no room for. A fence stays whole: cut, it would take in the rest. */
function cutToFit(text: string, room: number): string {
  if (text.length <= room) return text;
  const paragraphs = text.split("\n\n");
  const isList = (paragraph: string) => !paragraph.includes(FENCE);
  const longest = Math.max(...paragraphs.filter(isList).map(({ length }) => length));
  const limit = Math.max(SHORTEST_PARAGRAPH, longest - (text.length - room));
  return paragraphs
    .flatMap((one) => (isList(one) ? cutBlocks([block(one)], limit).map((cut) => cut.text) : [one]))
    .join("\n\n");
}

/** Brings every comment of a plan to its present text, the first one last, and outdates those not needed. @param first its first comment. */
async function rewritePlan(
  host: CodeHost,
  change: ChangeRequestRef,
  first: OwnComment,
  parts: readonly string[],
  { edit, posting }: RewriteOptions,
): Promise<void> {
  const runId = readMarker(first.body)?.runId;
  if (runId === undefined) return;
  const own = (await host.listOwnComments(change)).filter((one) => {
    const marker = readMarker(one.body);
    return isCurrentPlan(one) && marker?.runId === runId && marker.head === readMarker(first.body)?.head;
  });
  for (const one of own) {
    const stale = (readMarker(one.body)?.part ?? 1) > parts.length ? markStale(one.body) : undefined;
    if (stale !== undefined) await edit(one.id, stale);
  }
  for (const [index, text] of [...parts.entries()].reverse()) {
    const body = remark(text, { runId, part: index + 1 });
    const found = own.find((one) => readMarker(one.body)?.part === index + 1);
    if (found?.body === body) continue;
    if (found === undefined || !(await edit(found.id, body))) await postOnce(host, change, body, posting);
  }
}

interface RewriteOptions {
  /** @returns False if the comment is gone. */
  readonly edit: (id: string, body: string) => Promise<boolean>;
  readonly posting: Posting;
}

const SECTION = "\n### ";
const HEADING_WITHIN = 500;
const SHORTEST_PARAGRAPH = 1000;
const FENCE = "```";

/** Notes what the comment of a plan shows. */
async function wrotePlan(
  change: ChangeRequest,
  { digest, id, whole }: Written,
  { publisher }: Pick<Run, "publisher">,
): Promise<void> {
  const rest = whole === undefined ? [] : [whole.runId, whole.hash];
  await publisher.wrote(change, "plan", [digest, id, ...rest].join(" "));
}

/** Notes what the comment of a plan shows that was just posted. @param id of its first comment. */
export async function postedPlan(
  change: ChangeRequest,
  { shown, texts, id }: { readonly shown: Living; readonly texts: readonly string[]; readonly id: string | undefined },
  run: Pick<Run, "publisher" | "runId">,
): Promise<void> {
  const [only] = texts;
  const isWhole = id !== undefined && only !== undefined && texts.length === 1;
  const whole = isWhole ? { runId: run.runId, hash: hashOf(only) } : undefined;
  await wrotePlan(change, { digest: digestOf(shown), id: id ?? "", whole }, run);
}

const RENDER_DEADLINE_MS = 60_000;
/** In characters. The comments of a smaller plan are written within some tens of milliseconds. */
const SMALL_PLAN = 512 * 1024;

/** The comments of a plan; those of a large one are written in a worker thread. */
export async function planTexts(
  { plan, next, present }: Living,
  change: ChangeRequest,
  run: Shower,
): Promise<readonly string[]> {
  const [words, links] = [run.hostWords[change.host], linksOf(change, run)];
  const wanted = run.config.comments.plan;
  const comments = wanted === "auto" ? (links.page === undefined ? "all" : "one") : wanted;
  const options = { words, pruning: run.config.defaults.prune, links, comments, next, present };
  if (sizeOfPlan(plan) < SMALL_PLAN) return renderPlan(plan, options);
  const limits = { owner: changeRequestKey(change), deadlineMs: RENDER_DEADLINE_MS, signal: run.signal };
  const computed = await run.compute.run(renderPlanTask, await packedPlan(plan, options), limits);
  if (computed.kind === "exceeded") throw new Error(`writing the comments of a plan ${tooMuch(computed.limit)}`);
  return computed.output;
}

/** About how many characters a plan has as JSON. */
function sizeOfPlan({ applications, previews }: Plan): number {
  const diffs = [...applications.map(shownDiff), ...previews.map(({ content }) => previewedDiff(content))];
  const resources = diffs.flatMap((diff) => (diff === undefined ? [] : [...diff.resources, ...driftOf(diff)]));
  const perItem = 200;
  const size = ({ diff, sides }: ResourceChange) =>
    diff.length + (sides === undefined ? 0 : sides.before.length + sides.after.length) + perItem;
  return resources.reduce((sum, one) => sum + size(one), (applications.length + previews.length) * perItem);
}
