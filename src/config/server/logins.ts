import type { HostId } from "../../names.js";
import type { ServerConfig } from "./server-config.js";

/** What decides whose accounts people log in with. */
export type LoginConfig = Pick<ServerConfig, "auth" | "hostb">;

/**
 * Whether people log in with accounts of the very server whose change requests are served. Ids of accounts mean nothing on
 * another GitLab instance; logins with GitHub always use the addresses of `hosta`.
 */
export function logsInWith(host: HostId, { auth, hostb }: LoginConfig): boolean {
  switch (host) {
    case "hosta":
      return auth.hosta !== undefined;
    case "hostb":
      return isSameServer(auth.hostb?.url, hostb?.url);
  }
}

function isSameServer(login: string | undefined, host: string | undefined): boolean {
  return login !== undefined && host !== undefined && new URL(login).href === new URL(host).href;
}
