import express, { Router } from "express";
import { z } from "zod";
import { ROLES } from "../../core/model/account.js";
import type { ApiParts } from "./api-parts.js";
import { userBody } from "./bodies.js";
import { answeringAdmin } from "./guards.js";
import { pathPart, readBody, withoutQuery } from "./read-input.js";

const roleUpdate = z.strictObject({ role: z.enum(ROLES, { error: "must be admin or user" }) });

/** `/api/v1/users`: who is logged in, and their roles. */
export function userRoutes({ users, log }: ApiParts): Router {
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
        const user = await users.setRole(pathPart(request, "id"), update.value.role, admin);
        if (user === undefined) return { status: 404, error: "no user has this id; GET /api/v1/users lists them" };
        log.info({ user: user.id, role: user.role, by: admin.id }, "role changed");
        return { status: 200, body: { user: userBody(user) } };
      },
      withoutQuery,
      express.json({ limit: "10kb", inflate: false }),
    ),
  );
  return router;
}
