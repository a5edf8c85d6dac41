import * as z from "zod";
import { repositoryName } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { AUDIT_ACTIONS, type AuditQuery } from "../core/ports/audit.js";
import { HOST_IDS, HOST_PREFIXES } from "../names.js";

/** The page of a change request on its host; undefined if that host is no longer configured. */
export type HostPageOf = (change: ChangeRequestRef) => string | undefined;

/** The form of an address that `readChangeAddress` reads. */
export const CHANGE_ADDRESS = `<${HOST_IDS.map((id) => HOST_PREFIXES[id][0]).join(" or ")}>/<owner>/<repo>/<number>`;

/** The change request that the four decoded parts of an address name, if any. Subgroups are part of the owner. */
export function readChangeAddress(parts: Readonly<Record<string, unknown>>): ChangeRequestRef | undefined {
  const { host, owner, repo, number } = parts;
  const id = HOST_IDS.find((one) => HOST_PREFIXES[one].some((prefix) => prefix === host));
  if (id === undefined || typeof owner !== "string" || typeof repo !== "string" || typeof number !== "string") return;
  const name = `${owner}/${repo}`;
  if (repo.includes("/") || name.length > 500 || !/^[^/\s]+(?:\/[^/\s]+)+$/.test(name)) return undefined;
  if (!/^[1-9]\d{0,9}$/.test(number)) return undefined;
  return { host: id, repository: repositoryName(name), number: Number(number) };
}

/** A query parameter that names a change request as `changeRequestKey` or the address of its page does. */
export const changeParameter = z
  .string({ error: `must be ${CHANGE_ADDRESS}` })
  .max(600, "is longer than 600 characters")
  .transform((text, context): ChangeRequestRef => {
    const parts = text.split("/");
    const owner = parts.slice(1, -2).join("/");
    const change = readChangeAddress({ host: parts[0], owner, repo: parts.at(-2), number: parts.at(-1) });
    if (change !== undefined) return change;
    context.addIssue({ code: "custom", message: `must be ${CHANGE_ADDRESS}` });
    return z.NEVER;
  });

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
    .regex(/^[1-9]\d{0,18}(?:-\d{1,19})?$/, "must be the id of an entry")
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

/** The pages, as routes. */
export const PAGE_PATHS = [
  "/",
  "/applications",
  "/timeline",
  "/activity",
  "/users",
  "/status",
  "/changes/:host/:owner/:repo/:number",
] as const;
