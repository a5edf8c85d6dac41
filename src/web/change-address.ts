import * as z from "zod";
import { repositoryName } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HOST_IDS } from "../names.js";

/** The page of a change request on its host; undefined if that host is no longer configured. */
export type HostPageOf = (change: ChangeRequestRef) => string | undefined;

/** The form of an address that `readChangeAddress` reads. */
export const CHANGE_ADDRESS = `<${HOST_IDS.join(" or ")}>/<owner>/<repo>/<number>`;

/** The change request that the four decoded parts of an address name, if any. Subgroups are part of the owner. */
export function readChangeAddress(parts: Readonly<Record<string, unknown>>): ChangeRequestRef | undefined {
  const { host, owner, repo, number } = parts;
  const id = HOST_IDS.find((one) => one === host);
  if (id === undefined || typeof owner !== "string" || typeof repo !== "string" || typeof number !== "string") return;
  const name = `${owner}/${repo}`;
  if (repo.includes("/") || name.length > 500 || !/^[^/\s]+(?:\/[^/\s]+)+$/.test(name)) return undefined;
  if (!/^[1-9]\d{0,9}$/.test(number)) return undefined;
  return { host: id, repository: repositoryName(name), number: Number(number) };
}

/** A query parameter that names a change request as `changeRequestKey` does. */
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
