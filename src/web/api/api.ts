import { readFileSync } from "node:fs";
import express, { type ErrorRequestHandler, type RequestHandler, Router } from "express";
import { parse } from "yaml";
import * as z from "zod";
import { shippedFile } from "../../config/files.js";
import type { Account } from "../../core/model/account.js";
import { type ApplicationName, applicationName } from "../../core/model/brand.js";
import { changeRequestName, type ChangeRequestRef } from "../../core/model/change-request.js";
import { only, safeMessage, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import type { Lock } from "../../core/model/lock.js";
import { ROLES } from "../../core/model/settings.js";
import { roleChange } from "../../core/ports/audit.js";
import type { Log } from "../../core/ports/log.js";
import type { RoleChange } from "../../core/ports/stores.js";
import { recordAudit } from "../../run/answer/audit.js";
import { callNext, keepPlaces } from "../../run/around/turns.js";
import { changeParameter } from "../addresses.js";
import { viewerOf } from "../viewer.js";
import {
  answering,
  answeringAdmin,
  type ApiAnswer,
  pathPart,
  readBody,
  readQuery,
  send,
  withoutQuery,
  type ApiParts,
} from "./answers.js";
import { lockBody, userBody, readRoutes } from "./bodies.js";
import { holdRoutes } from "./holds.js";

const BASE = "/api/v1";

/** Everything below `/api/v1`. `viewerOf` says who calls; requests from other sites were already refused. */
export function apiRouter(parts: ApiParts): Router {
  const router = Router();
  router.use(BASE, (_request, response, next) => {
    response.set("cache-control", "no-store");
    next();
  });
  router.get(`${BASE}/openapi.json`, withoutQuery, (_request, response) => {
    response.json(readOpenapi());
  });
  router.use(BASE, loggedIn, lockRoutes(parts), holdRoutes(parts), userRoutes(parts), readRoutes(parts));
  router.use(BASE, (_request, response) => {
    response.status(404).json({ error: "there is nothing at this address; /api/v1/openapi.json describes the API" });
  });
  router.use(BASE, apiErrors(parts.log));
  return router;
}

let read: unknown;

/** The description of the HTTP API, from the file shipped with the program; parsed on first use. */
export function readOpenapi(): unknown {
  read ??= parse(readFileSync(shippedFile("openapi.yaml"), "utf8"));
  return read;
}

const loggedIn: RequestHandler = (request, response, next) => {
  const viewer = viewerOf(request);
  if (viewer.kind === "account") next();
  else if (viewer.kind === "unguarded") send(response, { status: 403, error: AUTH_OFF });
  else send(response, { status: 401, error: viewer.expired ? "Session expired" : "not logged in" });
};

const AUTH_OFF = "authentication is off, so this API cannot know who calls it: set auth.enabled in svc.yaml to use it";

function lockRoutes(parts: ApiParts): Router {
  const { locks, hostPageOf } = parts;
  const router = Router();
  router.get(
    "/locks",
    withoutQuery,
    answering(async () => {
      const held = await locks.list();
      return { status: 200, body: { locks: held.map((lock) => lockBody(lock, hostPageOf)) } };
    }),
  );
  router.delete(
    "/locks",
    answeringAdmin(async (request, admin) => {
      const query = readQuery(request, ofHolder);
      if (query.kind === "wrong") return query.answer;
      const { change } = query.value;
      const applications = await forceUnlockAll(change, admin, parts);
      if (applications.length === 0) return { status: 404, error: `${changeRequestName(change)} holds no lock` };
      return { status: 200, body: { status: "unlocked", applications } };
    }),
  );
  router.get(
    "/locks/:app",
    withoutQuery,
    answering(async (request) => {
      const name = pathPart(request, "app");
      const lock = await locks.find(applicationName(name));
      return lock === undefined ? notLocked(name) : { status: 200, body: { lock: lockBody(lock, hostPageOf) } };
    }),
  );
  router.delete(
    "/locks/:app",
    answeringAdmin(async (request, admin) => {
      const name = pathPart(request, "app");
      const lock = await forceUnlock(applicationName(name), admin, parts);
      if (lock === undefined) return notLocked(name);
      return { status: 200, body: { status: "unlocked", application: lock.application } };
    }, withoutQuery),
  );
  return router;
}

/** Answers errors of the routes above, but for those of the store, without details that could hold secrets. */
function apiErrors(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent || error instanceof StoreUnavailable || error instanceof StoredValueUnreadable) {
      next(error);
      return;
    }
    const known = knownAnswer(error);
    if (known === undefined) log.error({ path: request.path, err: error }, "request failed");
    send(response, known ?? { status: 500, error: safeMessage(error) });
  };
}

function knownAnswer(error: unknown): ApiAnswer | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const status = "status" in error ? error.status : undefined;
  if (status === 413) return { status: 413, error: "the body is larger than 10 kB" };
  if (status === 415) return { status: 415, error: "send the body as UTF-8, without a content encoding" };
  if (status !== 400) return undefined;
  const body = "type" in error && typeof error.type === "string" && error.type !== "";
  return { status: 400, error: body ? "the body is not a valid JSON object" : "the address has a malformed % escape" };
}

const ofHolder = z.strictObject({ change: changeParameter });

function notLocked(application: string): ApiAnswer {
  return { status: 404, error: `no lock is held on the application ${JSON.stringify(application.slice(0, 300))}` };
}

const roleUpdate = z.strictObject({ role: z.enum(ROLES, { error: "must be admin or user" }) });

function userRoutes(parts: ApiParts): Router {
  const { users } = parts;
  const router = Router();
  router.get(
    "/users",
    answeringAdmin(async () => ({ status: 200, body: { users: (await users.list()).map(userBody) } }), withoutQuery),
  );
  router.put(
    "/users/:id/role",
    answeringAdmin(
      async (request, admin) => {
        const update = readBody(request, roleUpdate);
        if (update.kind === "wrong") return update.answer;
        const set = () => users.setRole(pathPart(request, "id"), update.value.role, admin);
        // Tried again where the store's answer is lost: who changed a role must not go unrecorded.
        return roleAnswer(await set().catch(only(StoreUnavailable, set)), admin, parts);
      },
      withoutQuery,
      express.json({ limit: "10kb", inflate: false }),
    ),
  );
  return router;
}

async function roleAnswer(change: RoleChange, by: Account, parts: ApiParts): Promise<ApiAnswer> {
  switch (change.kind) {
    case "unknown":
      return { status: 404, error: "no user has this id; GET /api/v1/users lists them" };
    case "last-admin":
      return { status: 409, error: "this is the last admin: give somebody else the role admin first" };
    case "set": {
      const { id, role } = change.account;
      parts.log.info({ user: id, role, by: by.id }, "role changed");
      const who = { host: by.provider, id: by.id, login: by.username };
      const run = { at: parts.clock.now().toISOString(), runId: parts.newRunId() };
      await recordAudit(roleChange(change.account, who, run), parts);
      return { status: 200, body: { user: userBody(change.account) } };
    }
  }
}

const MOST_TRIES = 3;

/**
 * Releases the lock of an application, whoever holds it, records who did so, has the commit status of the change
 * request updated and calls whoever waited longest. Returns the released lock, or undefined if the application was not locked.
 * @throws {StoreUnavailable}
 */
async function forceUnlock(application: ApplicationName, by: Account, parts: ApiParts): Promise<Lock | undefined> {
  const { locks } = parts;
  // Another may take the lock after it was read. The audit trail has to name the holder that lost it.
  for (let left = MOST_TRIES; left > 0; left -= 1) {
    const lock = await locks.find(application);
    if (lock === undefined) return undefined;
    if (!(await releaseSurely(lock, parts))) continue;
    await noteRelease([lock], by, parts);
    return lock;
  }
  return undefined;
}

/** As `forceUnlock`, for every lock that a change request still holds. @throws {StoreUnavailable} */
async function forceUnlockAll(
  holder: ChangeRequestRef,
  by: Account,
  parts: ApiParts,
): Promise<readonly ApplicationName[]> {
  const released: Lock[] = [];
  try {
    for (const lock of await parts.locks.list(holder)) {
      if (await releaseSurely(lock, parts)) released.push(lock);
    }
  } finally {
    await noteRelease(released, by, parts);
  }
  return released.map(({ application }) => application);
}

/** Releases a lock. Where the store's answer is lost, a lock that is gone by the next one was released. @throws {StoreUnavailable} */
async function releaseSurely({ application, holder }: Lock, { locks }: ApiParts): Promise<boolean> {
  try {
    return await locks.release(application, holder);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return (await locks.release(application, holder)) || (await locks.find(application)) === undefined;
  }
}

/** Records and announces the release of locks of one holder. Never throws. */
async function noteRelease(locks: readonly Lock[], by: Account, parts: ApiParts): Promise<void> {
  const [first] = locks;
  if (first === undefined) return;
  const { clock, log, push } = parts;
  const runId = parts.newRunId();
  const entry = {
    at: clock.now().toISOString(),
    runId,
    delivery: "",
    who: { host: by.provider, id: by.id, login: by.username },
    change: first.holder,
    head: first.planRevision,
    action: "force-unlocked",
    command: undefined,
    applications: locks.map(({ application, user }) => {
      return { application, outcome: "released", detail: `was locked by ${user}` };
    }),
    reason: undefined,
  } as const;
  await recordAudit(entry, parts);
  const applications = locks.map(({ application }) => application);
  const facts = { change: first.holder, by: by.username, applications };
  // The admin does not wait for it.
  void parts.notifications.publish({ id: runId, at: entry.at, kind: "locks-released", ...facts });
  try {
    const waits = await keepPlaces(applications, first.holder, parts.waiting);
    await push({ ...facts, kind: "lock-lost", waits, delivery: `unlock-${runId}` });
  } catch (error) {
    const message = "could not queue the status update of a change request whose lock was released";
    log.warn({ err: error, application: first.application }, message);
  }
  for (const application of applications) await parts.publisher.touched(application, undefined, first.holder);
  await callNext({ applications, after: first.holder }, runId, parts, first.holder);
}
