import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import * as z from "zod";
import { type RepositoryName, repositoryName, revision } from "../core/model/brand.js";
import type { HostId } from "../names.js";

/** A numeric id of a host as text; Octokit gives those beyond 2^53 as `bigint`. */
export const idField = z.custom<number | bigint>(isId, "not an id").transform(String);

function isId(value: unknown): boolean {
  return typeof value === "bigint" ? value > 0n : Number.isSafeInteger(value) && Number(value) > 0;
}

/** A repository's full name. Its parts go into the paths of API calls, so none may be `.` or `..`. */
export const repositoryField = z
  .string()
  .max(1000)
  .regex(/^[^/\s?#%\\]+(?:\/[^/\s?#%\\]+)+$/)
  .refine((name) => name.split("/").every((part) => part !== "." && part !== ".."))
  .transform(repositoryName);

/** The branch of a push event's `ref`; undefined for a tag. */
export const pushedBranchField = z
  .string()
  .max(1000)
  .transform((ref) => (ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : undefined));

export const numberField = z.int().positive();

export const revisionField = z
  .string()
  .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
  .transform(revision);

/** A time in ISO 8601. */
export const timeField = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

export const loginField = z.string().min(1).max(255);

/** GitHub's limit: no command is longer. */
const MOST_CHARACTERS = 65_536;

/** A comment, cut to the start that may hold a command. */
export const commentField = z.string().transform((text) => {
  if (text.length <= MOST_CHARACTERS) return text;
  // A copy: V8 would keep the whole text in memory for as long as the event waits, since a slice points into it.
  return Buffer.from(text.slice(0, MOST_CHARACTERS), "utf16le").toString("utf16le");
});

/** The host's id of a delivery, which a redelivery repeats, or else a digest of the body. Safe inside keys. */
export function deliveryId(host: HostId, header: IncomingHttpHeaders[string], body: Buffer): string {
  const given = typeof header === "string" && /^[A-Za-z0-9-]{8,100}$/.test(header) ? header : undefined;
  return `${host}-${given ?? createHash("sha256").update(body).digest("hex")}`;
}

/** The addresses of a repository under other host names of the same server. */
export function urlsAtAliases(aliases: readonly string[], repository: RepositoryName): readonly string[] {
  return aliases.flatMap((alias) => [`https://${alias}/${repository}.git`, `git@${alias}:${repository}.git`]);
}
