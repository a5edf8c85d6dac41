import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { HostId } from "../names.js";

/** Where people see the code hosts: the roots of their web pages, without a slash at the end; undefined is not configured. */
export type HostPages = Readonly<Partial<Record<HostId, string>>>;

/** The page of a change request on its host; undefined where the host is not configured any more. */
export function hostPageOf({ host, repository, number }: ChangeRequestRef, pages: HostPages): string | undefined {
  const root = pages[host];
  if (root === undefined) return undefined;
  const path = repository.split("/").map(encodeURIComponent).join("/");
  switch (host) {
    case "hosta":
      return `${root}/${path}/pull/${number}`;
    case "hostb":
      return `${root}/${path}/-/merge_requests/${number}`;
  }
}
