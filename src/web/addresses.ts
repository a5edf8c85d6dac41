import * as z from "zod";
import { percentDecoded } from "../core/detect/tree/repository-url.js";
import { repositoryName } from "../core/model/brand.js";
import { changePagePath, type ChangeRequestRef } from "../core/model/change-request.js";
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
  .string()
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

/** Where a login leads by default. */
const HOME = "/";

/**
 * The page to open after the login: one of our pages with its query, or the first page for anything else. The path is
 * compared as it was sent: nothing is resolved first, so `/../`, `//host` and `/\host` name no page.
 */
export function safeReturnTo(wish: unknown): string {
  if (typeof wish !== "string" || wish.length > 2000 || /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\\]/u.test(wish)) return HOME;
  const path = /^[^?#]*/.exec(wish)?.[0] ?? "";
  const page = knownPage(path);
  if (page === undefined) return HOME;
  const { search, hash } = new URL(HOME + wish.slice(path.length), "http://svc.invalid");
  return page + search + hash;
}

/** What browsers or proxies may interpret: escapes, backslashes, control characters, lone surrogates, dot segments. */
const AMBIGUOUS = /[%\\\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?:^|\/)\.{1,2}(?:\/|$)/u;

/**
 * The canonical path of one of our pages; undefined if `path` names none. Each part is decoded once, so
 * an escaped letter names the same page as the letter, and a part that still holds an escape names none.
 */
function knownPage(path: string): string | undefined {
  const parts = path.split("/").map(percentDecoded);
  for (const route of PAGE_PATHS) {
    const wanted = route.split("/");
    if (wanted.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = wanted.every((name, index) => {
      const part = parts[index];
      if (part === undefined || AMBIGUOUS.test(part)) return false;
      if (!name.startsWith(":")) return part === name;
      params[name.slice(1)] = part;
      return true;
    });
    if (!fits) continue;
    if (!route.includes(":")) return route;
    const change = readChangeAddress(params);
    return change && changePagePath(change);
  }
  return undefined;
}
