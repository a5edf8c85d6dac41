import { readFileSync } from "node:fs";
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from "express";
import { parse } from "yaml";
import * as z from "zod";
import { shippedFile } from "../../config/files.js";
import { withPresentLocks } from "../../core/commands/locks.js";
import type { Account } from "../../core/model/account.js";
import { applicationName } from "../../core/model/brand.js";
import { changeRequestName } from "../../core/model/change-request.js";
import { safeMessage, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import type { AllHostWords } from "../../core/model/host-words.js";
import { ROLES } from "../../core/model/settings.js";
import type { Log } from "../../core/ports/log.js";
import type { LockStore, PlanStore, RoleChange, UserStore } from "../../core/ports/stores.js";
import {
  activityQuery,
  auditQueryOf,
  CHANGE_ADDRESS,
  changeParameter,
  type HostPageOf,
  readChangeAddress,
} from "../addresses.js";
import type { DiffReaders } from "../diff-readers.js";
import { viewerOf } from "../viewer.js";
import { activityBody, lockBody, planBody, userBody } from "./bodies.js";
import { forceUnlock, forceUnlockAll, type ForceUnlockParts } from "./force-unlock.js";

/** What the API needs of the service. */
interface ApiParts extends ForceUnlockParts {
  readonly locks: LockStore;
  readonly plans: PlanStore;
  readonly users: Pick<UserStore, "list" | "setRole">;
  readonly readers: DiffReaders;
  readonly hostWords: AllHostWords;
  readonly hostPageOf: HostPageOf;
}

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
  router.use(BASE, loggedIn, lockRoutes(parts), userRoutes(parts), readRoutes(parts));
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

/** Admits everyone who is logged in. */
const loggedIn: RequestHandler = (request, response, next) => {
  const refusal = refusalFor(request);
  if (refusal === undefined) next();
  else send(response, refusal);
};

function refusalFor(request: Request): ApiAnswer | undefined {
  const viewer = viewerOf(request);
  switch (viewer.kind) {
    case "unguarded":
      return AUTH_OFF;
    case "anonymous":
      return viewer.expired ? EXPIRED : NOT_LOGGED_IN;
    case "account":
      return undefined;
  }
}

/** `/api/v1/locks`: list, read and release locks. */
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

/** An answer of the API; without `body`, an error that says what to do. */
type ApiAnswer =
  | { readonly status: 200; readonly body: object }
  | { readonly status: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 503; readonly error: string };

/** A route that returns its answer as a value. */
function answering(work: (request: Request) => Promise<ApiAnswer> | ApiAnswer): RequestHandler {
  return async (request, response) => {
    send(response, await work(request));
  };
}

function send(response: Response, answer: ApiAnswer): void {
  const body = "body" in answer ? answer.body : { error: answer.error };
  response.status(answer.status).json(body);
}

/** Answers errors of the routes above, without details that could hold secrets. */
function apiErrors(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const known = knownAnswer(error);
    if (known !== undefined) {
      send(response, known);
      return;
    }
    log.error({ path: request.path, err: error }, "request failed");
    response.status(500).json({ error: safeMessage(error) });
  };
}

function knownAnswer(error: unknown): ApiAnswer | undefined {
  if (error instanceof StoreUnavailable) return { status: 503, error: safeMessage(error) };
  if (error instanceof StoredValueUnreadable || typeof error !== "object" || error === null) return undefined;
  const status = "status" in error ? error.status : undefined;
  if (status === 413) return { status: 413, error: "the body is larger than 10 kB" };
  if (status === 415) return { status: 415, error: "send the body as UTF-8, without a content encoding" };
  if (status !== 400) return undefined;
  const body = "type" in error && typeof error.type === "string" && error.type !== "";
  return { status: 400, error: body ? "the body is not a valid JSON object" : "the address has a malformed % escape" };
}

const AUTH_OFF: ApiAnswer = {
  status: 403,
  error: "authentication is off, so this API cannot know who calls it: set auth.enabled in svc.yaml to use it",
};

const NOT_LOGGED_IN: ApiAnswer = { status: 401, error: "not logged in" };
const EXPIRED: ApiAnswer = { status: 401, error: "Session expired" };
const ADMIN_ONLY: ApiAnswer = { status: 403, error: "this needs the role admin, which an admin can give you" };

/** A route for admins. Everyone else is refused before `before` and `work` read the request. */
function answeringAdmin(
  work: (request: Request, admin: Account) => Promise<ApiAnswer>,
  ...before: readonly RequestHandler[]
): RequestHandler[] {
  const admit: RequestHandler = (request, response, next) => {
    if (adminOf(request) === undefined) send(response, ADMIN_ONLY);
    else next();
  };
  return [
    admit,
    ...before,
    answering((request) => {
      const admin = adminOf(request);
      return admin === undefined ? ADMIN_ONLY : work(request, admin);
    }),
  ];
}

function adminOf(request: Request): Account | undefined {
  const viewer = viewerOf(request);
  return viewer.kind === "account" && viewer.account.role === "admin" ? viewer.account : undefined;
}

/** The validated input, or the answer that names the wrong field. */
type Input<T> = { readonly kind: "read"; readonly value: T } | { readonly kind: "wrong"; readonly answer: ApiAnswer };

/** The query of a request. Unknown and repeated parameters are refused by name. */
function readQuery<T>(request: Request, schema: z.ZodType<T>): Input<T> {
  return readWith(request.query, schema, "query parameter");
}

/** For routes that take no query. */
const withoutQuery: RequestHandler = (request, response, next) => {
  const query = readQuery(request, noQuery);
  if (query.kind === "wrong") send(response, query.answer);
  else next();
};

const noQuery = z.strictObject({});

/** The JSON object of a request's body. */
function readBody<T>(request: Request, schema: z.ZodType<T>): Input<T> {
  if (request.is("application/json") === false || request.get("content-type") === undefined) {
    return { kind: "wrong", answer: { status: 415, error: "send the body as application/json" } };
  }
  return readWith(request.body, schema, "field");
}

function readWith<T>(value: unknown, schema: z.ZodType<T>, what: string): Input<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: "read", value: parsed.data };
  const [issue] = parsed.error.issues;
  return { kind: "wrong", answer: { status: 400, error: sentenceOf(issue, what) } };
}

function sentenceOf(issue: z.core.$ZodIssue | undefined, what: string): string {
  if (issue?.code === "unrecognized_keys") return `unknown ${what} ${shown(issue.keys[0])}`;
  if (issue === undefined || issue.path.length === 0) return "the body is not a JSON object";
  return `${what} ${shown(issue.path[0])}: ${issue.message}`;
}

/** A foreign name, shortened and escaped for terminals and logs. */
function shown(name: PropertyKey | undefined): string {
  return JSON.stringify(String(name).slice(0, 60));
}

/** One decoded part of the request's path; never empty if the route names it. */
function pathPart({ params }: Request, name: string): string {
  const part = params[name];
  return typeof part === "string" ? part : "";
}

const ofHolder = z.strictObject({ change: changeParameter });

function notLocked(application: string): ApiAnswer {
  return { status: 404, error: `no lock is held on the application ${JSON.stringify(application.slice(0, 300))}` };
}

const roleUpdate = z.strictObject({ role: z.enum(ROLES, { error: "must be admin or user" }) });

/** `/api/v1/users`: who is logged in, and with which role. */
function userRoutes({ users, log }: ApiParts): Router {
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
        return roleAnswer(await users.setRole(pathPart(request, "id"), update.value.role, admin), admin, log);
      },
      withoutQuery,
      express.json({ limit: "10kb", inflate: false }),
    ),
  );
  return router;
}

function roleAnswer(change: RoleChange, by: Account, log: Log): ApiAnswer {
  switch (change.kind) {
    case "unknown":
      return { status: 404, error: "no user has this id; GET /api/v1/users lists them" };
    case "last-admin":
      return { status: 409, error: "this is the last admin: give somebody else the role admin first" };
    case "set": {
      const { id, role } = change.account;
      log.info({ user: id, role, by: by.id }, "role changed");
      return { status: 200, body: { user: userBody(change.account) } };
    }
  }
}

const DEFAULT_LIMIT = 50;

/** `/api/v1/plans` and `/api/v1/activity`. */
function readRoutes(parts: ApiParts): Router {
  const { plans, audit, readers, hostWords, hostPageOf } = parts;
  const router = Router();
  router.get(
    "/plans/:host/:owner/:repo/:number",
    withoutQuery,
    answering(async (request) => {
      const change = readChangeAddress(request.params);
      if (change === undefined) {
        const error = `the address must be /api/v1/plans/${CHANGE_ADDRESS}, with subgroups encoded in <owner>`;
        return { status: 400, error };
      }
      const plan = await plans.find(change);
      if (plan === undefined) {
        const error = `no plan is stored for ${changeRequestName(change)}: comment \`${hostWords[change.host].command} plan\` on it`;
        return { status: 404, error };
      }
      const right = await readers.ask(viewerOf(request), change);
      if (right.kind === "hidden") return { status: 403, error: `${right.why} ${right.cure}`.trim() };
      return { status: 200, body: { plan: planBody(await withPresentLocks(plan, parts), hostPageOf) } };
    }),
  );
  router.get(
    "/activity",
    answering(async (request) => {
      const query = readQuery(request, activityQuery);
      if (query.kind === "wrong") return query.answer;
      const asked = auditQueryOf(query.value, DEFAULT_LIMIT);
      const entries = await audit.list(asked);
      const next = entries.length === asked.limit ? entries.at(-1)?.id : undefined;
      return { status: 200, body: { entries: entries.map((entry) => activityBody(entry, hostPageOf)), next } };
    }),
  );
  return router;
}
