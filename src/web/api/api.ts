import { readFileSync } from "node:fs";
import express, { Router } from "express";
import { parse } from "yaml";
import * as z from "zod";
import { shippedFile } from "../../config/files.js";
import { withPresentLocks } from "../../core/commands/locks.js";
import type { Account } from "../../core/model/account.js";
import { applicationName } from "../../core/model/brand.js";
import { changeRequestName } from "../../core/model/change-request.js";
import type { AllHostWords } from "../../core/model/host-words.js";
import { ROLES } from "../../core/model/settings.js";
import type { Log } from "../../core/ports/log.js";
import type { LockStore, PlanStore, RoleChange, UserStore } from "../../core/ports/stores.js";
import { activityQuery, auditQueryOf } from "../activity-query.js";
import { CHANGE_ADDRESS, changeParameter, type HostPageOf, readChangeAddress } from "../change-address.js";
import type { DiffReaders } from "../diff-readers.js";
import { viewerOf } from "../viewer.js";
import { activityBody, lockBody, planBody, userBody } from "./bodies.js";
import { forceUnlock, forceUnlockAll, type ForceUnlockParts } from "./force-unlock.js";
import {
  answering,
  answeringAdmin,
  type ApiAnswer,
  apiErrors,
  loggedIn,
  pathPart,
  readBody,
  readQuery,
  withoutQuery,
} from "./respond.js";

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
