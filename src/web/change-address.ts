import { repositoryName } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HOST_IDS } from "../names.js";

/**
 * Reads the four parts of an address that names a change request, decoded already; the owner of a GitLab project has its
 * subgroups in it. Undefined for what can name none.
 */
export function readChangeAddress(parts: Readonly<Record<string, unknown>>): ChangeRequestRef | undefined {
  const { host, owner, repo, number } = parts;
  const id = HOST_IDS.find((one) => one === host);
  if (id === undefined || typeof owner !== "string" || typeof repo !== "string" || typeof number !== "string") return;
  const name = `${owner}/${repo}`;
  if (repo.includes("/") || name.length > 500 || !/^[^/\s]+(?:\/[^/\s]+)+$/.test(name)) return undefined;
  if (!/^[1-9]\d{0,9}$/.test(number)) return undefined;
  return { host: id, repository: repositoryName(name), number: Number(number) };
}
