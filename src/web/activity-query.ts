import * as z from "zod";
import { AUDIT_ACTIONS, type AuditQuery } from "../core/ports/audit.js";
import { changeParameter } from "./change-address.js";

const MOST = 200;

const name = z.string().max(300, "is longer than 300 characters");

/** Query of `/api/v1/activity`, and of the page without its empty fields. */
export const activityQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, `must be a number from 1 to ${MOST}`)
    .transform(Number)
    .refine((value) => value >= 1 && value <= MOST, `must be a number from 1 to ${MOST}`)
    .optional(),
  before: z
    .string()
    .regex(/^\d{1,20}(?:-\d{1,20})?$/, "must be the id of an entry")
    .optional(),
  action: z.enum(AUDIT_ACTIONS, { error: `must be one of ${AUDIT_ACTIONS.join(", ")}` }).optional(),
  application: name.optional(),
  login: name.optional(),
  change: changeParameter.optional(),
});

type ActivityQuery = z.infer<typeof activityQuery>;

/** The audit query for a parsed query string. */
export function auditQueryOf({ limit, before, ...filter }: ActivityQuery, defaultLimit: number): AuditQuery {
  return { limit: limit ?? defaultLimit, ...(before === undefined ? {} : { before }), filter };
}
