import type { ChangeRequestRef } from "./change-request.js";

/** Path of the page of a change request, below the service's base URL; a subgroup belongs to the owner, encoded. */
export function changePagePath({ host, repository, number }: ChangeRequestRef): string {
  const cut = repository.lastIndexOf("/");
  const [owner, name] = [repository.slice(0, cut), repository.slice(cut + 1)];
  return `/changes/${host}/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/${number}`;
}
