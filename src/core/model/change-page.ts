import type { ChangeRequestRef } from "./change-request.js";

/** Path of a change request's page below the service's base URL. Subgroups are part of the owner, encoded. */
export function changePagePath({ host, repository, number }: ChangeRequestRef): string {
  const cut = repository.lastIndexOf("/");
  const [owner, name] = [repository.slice(0, cut), repository.slice(cut + 1)];
  return `/changes/${host}/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/${number}`;
}
