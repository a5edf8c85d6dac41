import { type Request, type RequestHandler, Router } from "express";
import type { ApplicationName } from "../../core/model/brand.js";
import { changeRequestKey, identityKey } from "../../core/model/change-request.js";
import { groupedBy } from "../../core/model/collections.js";
import { only, StoreUnavailable } from "../../core/model/errors.js";
import type { Lock, Waiting } from "../../core/model/lock.js";
import { ROLES } from "../../core/model/settings.js";
import { fullMinuteText } from "../../core/model/time.js";
import { type LimitWait, WAIT_REASONS } from "../../hosts/limit-waits.js";
import { networkOf } from "../../http/listen.js";
import { HOST_IDS, HOST_TITLES, type HostId } from "../../names.js";
import { PAGE_PATHS, readChangeAddress } from "../addresses.js";
import { viewerOf } from "../viewer.js";
import { changePage } from "./change-page.js";
import { activityPage, applicationsPage, timelinePage } from "./list-pages.js";
import {
  isAdmin,
  nameChanges,
  type Page,
  type PageParts,
  problemPage,
  type Reader,
  readText,
  show,
  shownTime,
} from "./page.js";

/** The pages. `viewerOf` says who reads; with authentication off, no diff is shown. */
export function pagesRouter(parts: PageParts): Router {
  const router = Router();
  const handlers: Readonly<Record<(typeof PAGE_PATHS)[number], RequestHandler>> = {
    "/": page((reader, { query }) => locksPage(query, reader, parts)),
    "/applications": page((reader, { query }) => applicationsPage(query, reader, parts)),
    "/timeline": page((reader, { query }) => timelinePage(query, reader, parts)),
    "/activity": page((reader, { query }) => activityPage(query, reader, parts)),
    "/users": page((reader) => usersPage(reader, parts)),
    "/status": page((reader) => statusPage(reader, parts)),
    "/changes/:host/:owner/:repo/:number": page((reader, { params }) => changePage(params, reader, parts)),
  };
  for (const path of PAGE_PATHS) router.get(path, handlers[path]);
  router.get("/changes/:host/:owner/:repo/:number/live", liveRoute(parts));
  router.use((request, response, next) => {
    if (request.method !== "GET" || request.accepts(["json", "html"]) !== "html") next();
    else show(response, viewerOf(request), NO_PAGE);
  });
  return router;
}

const NO_PAGE = problemPage(404, "No such page", ["There is nothing at this address. Use the navigation above."]);

/** What is held for a time, and which change request has which locks, filtered by `q`; the longest held come first. */
async function locksPage(query: unknown, reader: Reader, parts: PageParts): Promise<Page> {
  const { clock } = parts;
  const wanted = readText(query, "q").trim();
  const [everyLock, standing, queues] = await Promise.all([
    parts.locks.list(),
    parts.holds.list(),
    parts.waiting.list(),
  ]);
  const now = clock.now();
  const queueOf = new Map(queues.map((one) => [one.application, one]));
  const next = everyLock.flatMap(({ application }) => queueOf.get(application)?.changes.slice(0, MOST_NEXT) ?? []);
  const nameOf = await nameChanges([...everyLock.map(({ holder }) => holder), ...next], reader, parts);
  const holders = byHolder(everyLock)
    .map((held) => holderOf(held, { wanted: wanted.toLowerCase(), queueOf, nameOf, now }))
    .filter((holder) => holder.locks.length > 0);
  const holds = standing.map(({ id, applications, reason, by, since, until }) => {
    return {
      id,
      applications,
      reason,
      by: by.login,
      since: shownTime(since, now),
      end: fullMinuteText(new Date(until)),
    };
  });
  const data = { holders, holds, wanted, total: everyLock.length, admin: isAdmin(reader) };
  return { view: "locks", title: "Locks", active: "locks", data };
}

/** The locks of one change request; never empty. */
type Held = readonly [Lock, ...Lock[]];

function byHolder(locks: readonly Lock[]): readonly Held[] {
  const holders = groupedBy(locks, ({ holder }) => identityKey(holder));
  return [...holders.values()].sort((left, right) => (oldest(left) < oldest(right) ? -1 : 1));
}

/** Sort key: the time, then the name for equal times. */
function oldest([first, ...others]: Held): string {
  const times = [first, ...others].map(({ timestamp }) => timestamp).sort();
  return `${times[0] ?? ""} ${changeRequestKey(first.holder)}`;
}

/** How many of those who wait for a lock are named. */
const MOST_NEXT = 3;

interface LocksView {
  /** What is searched for, in lower case. */
  readonly wanted: string;
  readonly queueOf: ReadonlyMap<ApplicationName, Waiting>;
  readonly nameOf: Awaited<ReturnType<typeof nameChanges>>;
  readonly now: Date;
}

/** The change request and those of its locks that the filter leaves; `path` is where the API releases them all. */
function holderOf(held: Held, { wanted, queueOf, nameOf, now }: LocksView) {
  const [{ holder }] = held;
  const change = nameOf(holder);
  const locks = held.map(({ application, user, timestamp, planRevision: commit }) => {
    const { changes = [], since = [] } = queueOf.get(application) ?? {};
    const next = changes.slice(0, MOST_NEXT).map((one, index) => {
      const joined = since[index];
      return { change: nameOf(one), since: joined === undefined ? undefined : shownTime(joined, now) };
    });
    return { application, user, since: shownTime(timestamp, now), commit, next, more: changes.length - next.length };
  });
  return {
    change,
    path: `/api/v1/locks?${new URLSearchParams({ change: changeRequestKey(holder) }).toString()}`,
    total: held.length,
    locks: locks.filter(({ application, user, commit = "" }) =>
      [application, change.name, change.title ?? "", user, commit].some((text) => text.toLowerCase().includes(wanted)),
    ),
  };
}

const PROVIDERS = { ...HOST_TITLES, oidc: "OIDC", basic: "basic", "api-token": "API token" } as const;

/** Who is logged in, and with which role; for admins only. */
async function usersPage(reader: Reader, { users }: PageParts): Promise<Page> {
  if (reader.kind !== "account") {
    return problemPage(403, "There are no users", ["Authentication is off. Set `auth.enabled` in svc.yaml to log in."]);
  }
  if (!isAdmin(reader)) {
    return problemPage(403, "Only for admins", [
      "This page needs the role admin; your role is user.",
      "An admin can change your role here. `auth.role_assignments` in svc.yaml can assign it at the next login.",
    ]);
  }
  const own = reader.account.id;
  const rows = (await users.list()).map(({ id, username, email, role, provider }) => ({
    id,
    username,
    email,
    role,
    provider: PROVIDERS[provider],
    own: id === own,
    path: `/api/v1/users/${encodeURIComponent(id)}/role`,
  }));
  return { view: "users", title: "Users", active: "users", data: { rows, roles: ROLES } };
}

/** Whether each system that the service needs is available. Details are only for people who are logged in. */
async function statusPage(reader: Reader, { status, backlog, limitWaits, version, clock }: PageParts): Promise<Page> {
  // This page has to work without the store.
  const counted = backlog().catch(only(StoreUnavailable, () => undefined));
  const [{ at, rows }, work] = await Promise.all([status.look(), counted]);
  const now = clock.now();
  const oldest = work !== undefined && work.waiting > 0 ? new Date(now.getTime() - work.oldestMs) : undefined;
  return {
    view: "status",
    title: "Status",
    active: "status",
    data: {
      rows,
      at: shownTime(at, now),
      work,
      oldest: oldest && shownTime(oldest.toISOString(), now),
      waits: HOST_IDS.flatMap((host) => shownWaits(limitWaits(), host, now)),
      version,
      detailed: reader.kind === "account",
    },
  };
}

/** Why writes of this replica to one host are waiting. */
function shownWaits(all: readonly LimitWait[], host: HostId, now: Date): readonly object[] {
  return WAIT_REASONS.flatMap((reason) => {
    const ends = all.filter((one) => one.host === host && one.reason === reason).map(({ until }) => until.getTime());
    if (ends.length === 0) return [];
    const until = new Date(Math.min(...ends));
    return { title: HOST_TITLES[host], reason, count: ends.length, until: shownTime(until.toISOString(), now) };
  });
}

/** Streams the progress of a change request's commands as server-sent events, with messages to those who see its diffs. */
function liveRoute({ streams, plans, readers }: PageParts): RequestHandler {
  return async (request, response) => {
    const viewer = viewerOf(request);
    response.set("cache-control", "no-store");
    if (viewer.kind === "anonymous") {
      response.status(401).json({ error: viewer.expired ? "Session expired" : "not logged in" });
      return;
    }
    const change = readChangeAddress(request.params);
    if (change === undefined) {
      response.status(404).json({ error: "there is nothing at this address" });
      return;
    }
    const account = viewer.kind === "account" ? viewer.account.id : undefined;
    // Argo CD says nothing before a plan, so nobody can have the host asked about every address that they make up.
    const plan = account === undefined ? undefined : await plans.find(change);
    const withMessages = plan !== undefined && (await readers.ask(viewer, plan.change)).kind === "shown";
    if (response.destroyed) return;
    const opened = streams.open(change, response, {
      // Counted per network, not per address: whoever has a network of IPv6 could take all places.
      listener: account ?? `address ${networkOf(request.ip)}`,
      withMessages,
    });
    if (!opened) {
      response.status(503).set("retry-after", "30").json({ error: "too many pages are open; reload this one later" });
    }
  };
}

/** A page for readers. Others are redirected to the login, which leads back here. */
function page(work: (reader: Reader, request: Request) => Promise<Page> | Page): RequestHandler {
  return async (request, response) => {
    const viewer = viewerOf(request);
    if (viewer.kind === "anonymous") {
      response.set("cache-control", "no-store");
      response.redirect(302, `/login?return_to=${encodeURIComponent(request.originalUrl)}`);
      return;
    }
    show(response, viewer, await work(viewer, request));
  };
}
