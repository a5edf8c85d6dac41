import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import * as z from "zod";
import { isHeadAnswered } from "../comments/publish.js";
import { allowsOwner, allowsRepository } from "../config/repository-names.js";
import { parseComment, parseSigned } from "../core/commands/parse-command.js";
import type { RepositoryName } from "../core/model/brand.js";
import {
  type ChangeNote,
  changeRequestKey,
  type ChangeRequestRef,
  identityKey,
  type InRepository,
  sameChangeRequest,
} from "../core/model/change-request.js";
import { HostFailure, ifReadable } from "../core/model/errors.js";
import { foundHead, type HostEvent } from "../core/model/event.js";
import type { Plan } from "../core/model/plan/plan.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost, RecentActivity, RecentComment, RecentHead } from "../core/ports/code-host.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import { leavesOut, type Log } from "../core/ports/log.js";
import type { MarkStore } from "../core/ports/stores.js";
import { HOSTS } from "../hosts/registry.js";
import type { HostId } from "../names.js";
import type { Publisher } from "../run/around/publisher.js";
import { SharedRecords } from "../store/shared-records.js";
import type { Stores } from "../store/stores.js";

export interface SearchParts extends Pick<Stores, "audit" | "locks" | "plans" | "deployments" | "connection"> {
  readonly hosts: Readonly<Partial<Record<HostId, CodeHost>>>;
  /** How often each host is polled, in milliseconds. */
  readonly polls: ReadonlyMap<HostId, number>;
  readonly allowedRepos: readonly string[];
  readonly commandWord: string;
  readonly marks: Pick<MarkStore, "described">;
  readonly queue: EventQueue;
  readonly publisher: Pick<Publisher, "mark">;
  readonly clock: Clock;
  readonly log: Log;
}

/** No search for lost webhooks reaches further back. */
const SEARCH_BACK_MS = 24 * 60 * 60_000;
/** How far back the first search for lost webhooks goes. Polling begins at its start. */
const FIRST_LOOK_MS = 60 * 60_000;
/** Time for a head's webhook to arrive before it counts as lost. */
const ON_ITS_WAY_MS = 60_000;
/** Allowed difference between the host's clock and ours. */
const SKEW_MS = 60_000;
/** Repositories per search, longest unsearched first. */
const MAX_REPOSITORIES = 30;
/** Events per search; the rest follow in the next ones. */
const MAX_FOUND = 20;
/** Audit entries that name the repositories to search. */
const MAX_ENTRIES = 1000;
/** How long the list of a polled host's repositories is kept. */
const LISTED_FOR_MS = 60_000;
/** Requests per hour that polling may cost; GitHub allows an installation 5,000. */
const POLLING_BUDGET = 2500;
/** What a repository costs in which something happened, in requests. */
const COST_OF_CHANGED = 3;
/** Change requests whose last activity and reviews are remembered. */
const MAX_REVIEWED = 10_000;
/** Repositories whose last failure is remembered. */
const MAX_FAILED = 10_000;
/** How long a host that is at its limit is left alone. */
const REST_MS = 5 * 60_000;

const search = z.object({ v: z.literal(1), until: z.iso.datetime() });
/** The time until which a repository was searched for lost webhooks. */
type Search = Omit<z.infer<typeof search>, "v">;

interface Place extends InRepository {
  readonly host: CodeHost;
  readonly since: Date;
}

/** The reviews of a change request when it was last seen. */
interface SeenReviews {
  readonly activity: string;
  readonly digest: string;
}

/** Makes events of what happened on the hosts: of what webhooks did not tell, or of everything on a host that is polled. */
export class RecentEvents {
  readonly #searches: SharedRecords<Search>;
  readonly #repositories = new Map<HostId, { readonly at: number; readonly names: readonly RepositoryName[] }>();
  readonly #reviews = new LRUCache<string, SeenReviews>({ maxSize: MAX_REVIEWED, sizeCalculation: () => 1 });
  readonly #restsUntil = new Map<HostId, number>();
  /** When the last look at a repository failed; removed once a look succeeds. The order of the looks counts it as one. */
  readonly #failedAt = new LRUCache<string, number>({ maxSize: MAX_FAILED, sizeCalculation: () => 1 });

  constructor(private readonly parts: SearchParts) {
    this.#searches = new SharedRecords("looked", search, SEARCH_BACK_MS, parts.connection);
  }

  /** Finds commands and heads whose event was lost, in repositories that the audit trail, the locks or the deployments mention. */
  async findLost(): Promise<void> {
    await this.#searchAll(await this.#mentioned(), Infinity);
  }

  /** Finds what happened on a host since the last poll. The first one of a repository only notes when it was. */
  async poll(host: CodeHost): Promise<void> {
    const { clock, polls } = this.parts;
    const now = clock.now().getTime();
    if (now < (this.#restsUntil.get(host.id) ?? 0)) return;
    try {
      const share = (polls.get(host.id) ?? 0) / (60 * 60_000);
      const changed = Math.max(1, Math.floor((POLLING_BUDGET * share) / COST_OF_CHANGED));
      await this.#searchAll(await this.#installed(host), changed);
    } catch (error) {
      if (error instanceof HostFailure && error.reason === "rate-limited") this.#restsUntil.set(host.id, now + REST_MS);
      throw error;
    }
  }

  /** @param mostChanged Stops after so many repositories in which something happened. */
  async #searchAll(places: readonly Place[], mostChanged: number): Promise<void> {
    const { clock, log } = this.parts;
    let [left, changed] = [MAX_FOUND, mostChanged];
    for (const place of places) {
      try {
        const { found, quiet } = await this.#search(place, left);
        this.#failedAt.delete(nameOf(place));
        left -= found;
        if (!quiet) changed -= 1;
      } catch (error) {
        if (error instanceof HostFailure && error.reason === "rate-limited") throw error;
        this.#failedAt.set(nameOf(place), clock.now().getTime());
        // Without a record, which lasts a day, the first look that works would begin as if there had been none.
        await this.#save(place, place.since.getTime());
        // Repositories that were deleted or are no longer ours must not fill the log. Others are only away for a while, so the next
        // look goes on where the last one ended.
        if (error instanceof HostFailure && error.reason === "not-found") continue;
        log.warn({ err: error, repository: place.repository }, "could not look for events in a repository");
      }
      if (left <= 0 || changed <= 0) return;
    }
  }

  async #mentioned(): Promise<readonly Place[]> {
    const { audit, locks, deployments, hosts, polls, clock, log } = this.parts;
    const skip = leavesOut(log);
    const [entries, held, records] = await Promise.all([
      ifReadable(audit.list({ limit: MAX_ENTRIES }), []),
      locks.list(undefined, skip),
      deployments.list(skip),
    ]);
    const changes = [
      ...held.map(({ holder }) => holder),
      ...[...records, ...entries.toReversed()].flatMap(({ change }) => change ?? []),
    ];
    // Later entries win: the newest has the repository's present name.
    const known = new Map(
      changes.map((change) => [`${change.host}/${change.repositoryId ?? change.repository}`, change]),
    );
    const now = clock.now().getTime();
    const places: Place[] = [];
    for (const { host, repository, repositoryId } of known.values()) {
      const codeHost = hosts[host];
      if (codeHost === undefined || polls.has(host)) continue;
      let until = await this.#searchedUntil(codeHost, repository);
      if (until === undefined) {
        until = now - FIRST_LOOK_MS;
        // However long the host fails from now on, the first look that works begins here.
        await this.#save({ host: codeHost, repository }, until);
      }
      const since = Math.max(until, now - SEARCH_BACK_MS);
      places.push({ host: codeHost, repository, repositoryId, since: new Date(since) });
    }
    return this.#longestUnsearched(places);
  }

  async #installed(host: CodeHost): Promise<readonly Place[]> {
    const places: Place[] = [];
    let now: number | undefined;
    const { names, gone } = await this.#list(host);
    const ends = await Promise.all(gone.map((repository) => this.#searchedUntil(host, repository)));
    const [renamedAt] = ends.filter((end) => end !== undefined).sort((a, b) => a - b);
    const earliest = this.parts.clock.now().getTime() - SEARCH_BACK_MS;
    for (const repository of names) {
      const known = await this.#searchedUntil(host, repository);
      const until = known ?? renamedAt;
      if (until !== undefined) {
        // The first look under the new name may come later, or fail.
        if (known === undefined) await this.#save({ host, repository }, until);
        places.push({ host, repository, since: new Date(Math.max(until, earliest)) });
        continue;
      }
      // Taken from the host's clock, which tells whole seconds, so that nothing older is taken for new.
      now ??= (await host.reach())?.getTime() ?? this.parts.clock.now().getTime();
      await this.#save({ host, repository }, now + 1000 + SKEW_MS);
    }
    return this.#longestUnsearched(places);
  }

  /** The repositories that svc serves, and those that have left the list: a new name may be one of them, renamed. */
  async #list(host: CodeHost): Promise<Record<"names" | "gone", readonly RepositoryName[]>> {
    const { allowedRepos, clock } = this.parts;
    const now = clock.now().getTime();
    const known = this.#repositories.get(host.id);
    if (known !== undefined && now - known.at < LISTED_FOR_MS) return { names: known.names, gone: [] };
    const all = await host.repositories((owner) => allowsOwner(allowedRepos, host.id, owner));
    const names = all.filter((name) => allowsRepository(allowedRepos, host.id, name));
    this.#repositories.set(host.id, { at: now, names });
    const present = new Set(names);
    return { names, gone: known?.names.filter((name) => !present.has(name)) ?? [] };
  }

  #longestUnsearched(places: readonly Place[]): readonly Place[] {
    const lastLook = (place: Place) => Math.max(place.since.getTime(), this.#failedAt.get(nameOf(place)) ?? 0);
    return [...places].sort((a, b) => lastLook(a) - lastLook(b)).slice(0, MAX_REPOSITORIES);
  }

  async #searchedUntil(host: CodeHost, repository: RepositoryName): Promise<number | undefined> {
    const last = await this.#searches.find(nameOf({ host, repository }));
    return last && Date.parse(last.until);
  }

  #save(place: Omit<Place, "since">, until: number): Promise<void> {
    return this.#searches.save(nameOf(place), { until: new Date(until).toISOString() });
  }

  async #search(place: Place, most: number): Promise<{ readonly found: number; readonly quiet: boolean }> {
    const { polls, plans, marks, queue, clock, log } = this.parts;
    const { host, since } = place;
    const polled = polls.has(host.id);
    const began = clock.now();
    const activity = await host.recentActivity(place, new Date(since.getTime() - SKEW_MS));
    const now = ((polled ? activity.at : undefined) ?? began).getTime();
    // What stays unsettled now is examined again next time.
    let until = polled ? now : now - ON_ITS_WAY_MS;
    let found = 0;
    const leave = (at: Date) => {
      until = Math.min(until, at.getTime());
    };
    const give = async (event: HostEvent, at: Date): Promise<void> => {
      if (found >= most) {
        leave(at);
        return;
      }
      found += 1;
      const fields = { change: changeRequestKey(event.change), kind: event.kind };
      if (polled) log.debug(fields, "found an event");
      else log.info(fields, "found an event whose webhook was lost");
      await queue.push(event);
    };
    // If more changed at one moment than one answer holds, the same question would get the same answer for ever.
    if (activity.readTo !== undefined && activity.readTo > since) leave(activity.readTo);
    // A command that follows a push is judged by that push's head.
    const notes = await marks.described(activity.heads.map(({ change }) => change));
    for (const [at, head] of activity.heads.entries()) {
      if (!polled && head.updatedAt.getTime() > now - ON_ITS_WAY_MS) continue;
      const plan = await ifReadable(plans.find(head.change), undefined);
      const back = comeBack(head, notes[at]);
      const isBack = back !== undefined && !(await queue.knows(back));
      const event = isBack ? back : headEvent(head, plan);
      if (!isBack && (await this.#isHandled(head, event, plan, host))) {
        if (polled && found >= most) leave(head.updatedAt);
        const review = polled && found < most ? await this.#newReviews(head, host) : undefined;
        if (review !== undefined) await give(review, head.updatedAt);
        if (!polled) await this.#markIfTouched(head);
      } else if (await queue.isBusy(head.change)) leave(head.updatedAt);
      else {
        await give(event, head.updatedAt);
        // Its run may fail at the host: the next search sees whether it is handled.
        if (!polled) leave(head.updatedAt);
      }
    }
    for (const { change, closedAt } of polled ? activity.closed : []) {
      const delivery = `found-close-${changeRequestKey(change)}-${closedAt.getTime()}`;
      const event: HostEvent = { kind: "closed", delivery, change };
      if (!(await queue.knows(event))) await give(event, closedAt);
    }
    const commands = await this.#commandsOf(activity, host);
    for (const comment of commands) {
      const event = await this.#eventOf(comment, commands, polled);
      if (!(await queue.knows(event))) await give(event, comment.createdAt);
    }
    await this.#save(place, Math.max(since.getTime(), until));
    return { found, quiet: [activity.heads, activity.closed, activity.comments].every(({ length }) => length === 0) };
  }

  /** Comments that are commands, or were meant to be. */
  async #commandsOf({ comments }: RecentActivity, host: CodeHost): Promise<readonly RecentComment[]> {
    const self = await host.self();
    const { commandWord } = this.parts;
    const { signs } = HOSTS[host.id];
    return comments.filter(
      ({ author, body }) =>
        author.id !== self.id &&
        (parseComment(body, commandWord) ?? parseSigned(body, commandWord, signs)) !== undefined,
    );
  }

  /** The event of a comment. One that another command followed was overtaken; where svc polls, only if its follower was handled already. */
  async #eventOf(comment: RecentComment, commands: readonly RecentComment[], polled: boolean): Promise<HostEvent> {
    const event = commentEvent(comment);
    const later = commands
      .slice(commands.indexOf(comment) + 1)
      .filter((other) => sameChangeRequest(other.change, comment.change));
    const known = polled
      ? await Promise.all(later.map((other) => this.parts.queue.knows(commentEvent(other))))
      : [true];
    const overtaken = later.length > 0 && known.includes(true);
    return { ...event, found: { writtenAt: comment.createdAt.toISOString(), overtaken } };
  }

  async #isHandled(head: RecentHead, event: HostEvent, plan: Plan | undefined, host: CodeHost): Promise<boolean> {
    const { change, headRevision, baseBranch } = head;
    const { queue } = this.parts;
    // Comments about a head do not name the base branch.
    if (plan?.head === headRevision) return plan.baseBranch === baseBranch || queue.knows(event);
    return (await queue.knows(event)) || isHeadAnswered(host, change, headRevision);
  }

  /** Something happened there that may not have been told, such as an approval: what the change request shows is looked at. */
  async #markIfTouched({ change, activity }: RecentHead): Promise<void> {
    const key = identityKey(change);
    if (this.#reviews.get(key)?.activity === activity) return;
    this.#reviews.set(key, { activity, digest: "" });
    await this.parts.publisher.mark(change);
  }

  /** The event of a planned head if its reviews are not those of the last look. */
  async #newReviews({ change, headRevision, activity }: RecentHead, host: CodeHost): Promise<HostEvent | undefined> {
    const key = identityKey(change);
    const seen = this.#reviews.get(key);
    if (seen?.activity === activity) return undefined;
    if ((await ifReadable(this.parts.plans.find(change), undefined))?.head !== headRevision) return undefined;
    const digest = await digestOfReviews(change, host);
    this.#reviews.set(key, { activity, digest });
    // A status is written again and again if what svc writes is taken for a review.
    if (seen?.digest === digest) return undefined;
    return { kind: "reviewed", delivery: `found-review-${changeRequestKey(change)}-${activity}`, change };
  }
}

function nameOf({ host, repository }: Pick<Place, "host" | "repository">): string {
  return `${host.id}/${repository}`;
}

/**
 * The event of a change request that svc last read as closed or as a draft, and that is neither any more: its locks were released,
 * or it was not planned. Its run reads it again, so it comes once.
 */
function comeBack({ change, draft, updatedAt }: RecentHead, note: ChangeNote | undefined): HostEvent | undefined {
  if (note === undefined || (note.state === "open" && (!note.draft || draft))) return undefined;
  const reason = note.state === "open" ? "ready" : "reopened";
  const delivery = `found-${reason}-${changeRequestKey(change)}-${updatedAt.toISOString()}`;
  return { kind: "updated", reason, delivery, change };
}

/** The event of a head that was not planned, or was planned for another base branch. Its id stays the same until there is a newer plan. */
function headEvent({ change, headRevision }: RecentHead, plan: Plan | undefined): HostEvent {
  const found = foundHead({ ...change, headRevision });
  if (plan === undefined) return found;
  // Somebody may push a head again that was found before.
  if (plan.head !== headRevision) return { ...found, delivery: `${found.delivery}-${plan.plannedAt}` };
  const delivery = `found-base-${changeRequestKey(change)}-${plan.plannedAt}`;
  return { kind: "updated", reason: "retargeted", delivery, change };
}

function commentEvent({ change, id, body, author }: RecentComment): Extract<HostEvent, { kind: "commented" }> {
  const delivery = `found-comment-${changeRequestKey(change)}-${id}`;
  return { kind: "commented", delivery, change, commentId: id, body, author };
}

async function digestOfReviews(change: ChangeRequestRef, host: CodeHost): Promise<string> {
  try {
    const read = await host.getChangeRequest(change);
    // That it became a draft changes what it shows, as a review does.
    const shown = [await host.reviews(read), read.draft];
    return createHash("sha256").update(JSON.stringify(shown)).digest("hex");
  } catch (error) {
    // The run that follows says what is wrong; the other events of the repository must not wait for it.
    if (error instanceof HostFailure && error.reason !== "rate-limited") return `failed: ${error.message}`;
    throw error;
  }
}
