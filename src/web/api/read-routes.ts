import { Router } from "express";
import { changeRequestName } from "../../core/model/change-request.js";
import { SERVICE } from "../../names.js";
import { activityQuery, auditQueryOf } from "../activity-query.js";
import { readChangeAddress } from "../change-address.js";
import type { ApiParts } from "./api-parts.js";
import { activityBody } from "./bodies.js";
import { planBody } from "./plan-body.js";
import { readQuery, withoutQuery } from "./read-input.js";
import { answering } from "./respond.js";

const DEFAULT_LIMIT = 50;

/** `/api/v1/plans` and `/api/v1/activity`. */
export function readRoutes({ plans, audit, hostPages }: ApiParts): Router {
  const router = Router();
  router.get(
    "/plans/:host/:owner/:repo/:number",
    withoutQuery,
    answering(async (request) => {
      const change = readChangeAddress(request.params);
      if (change === undefined) {
        return {
          status: 400,
          error:
            "the address must be /api/v1/plans/<hosta or hostb>/<owner>/<repo>/<number>, with subgroups encoded in <owner>",
        };
      }
      const plan = await plans.find(change);
      if (plan !== undefined) return { status: 200, body: { plan: planBody(plan, hostPages) } };
      return {
        status: 404,
        error: `no plan is stored for ${changeRequestName(change)}: comment \`${SERVICE} plan\` on it`,
      };
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
      return { status: 200, body: { entries: entries.map((entry) => activityBody(entry, hostPages)), next } };
    }),
  );
  return router;
}
