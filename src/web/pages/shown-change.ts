import { changePagePath } from "../../core/model/change-page.js";
import { changeRequestName, type ChangeRequestRef } from "../../core/model/change-request.js";
import { HOST_TITLES } from "../../names.js";
import { hostPageOf, type HostPages } from "../host-pages.js";

/** A change request as pages name and link it. */
export interface ShownChange {
  /** `acme/deploy#7`. */
  readonly name: string;
  /** Its page here. */
  readonly page: string;
  /** Its page on the host; undefined where the host is not configured any more. */
  readonly url: string | undefined;
  /** `GitHub`. */
  readonly host: string;
}

export function shownChange(change: ChangeRequestRef, pages: HostPages): ShownChange {
  return {
    name: changeRequestName(change),
    page: changePagePath(change),
    url: hostPageOf(change, pages),
    host: HOST_TITLES[change.host],
  };
}
