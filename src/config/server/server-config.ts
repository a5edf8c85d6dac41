import type * as z from "zod";
import type { HostId } from "../../names.js";
import type { CamelKeys } from "../validate.js";
import type { serverSchema } from "./server-schema.js";

/** The server's file after validation, with all defaults. Durations are in milliseconds, keys and certificates PEM text. */
export type ServerConfig = CamelKeys<z.infer<ReturnType<typeof serverSchema>>>;

export type ServerSection = ServerConfig["server"];
export type LogLevel = ServerSection["logLevel"];

/** At most one of `address`, `sentinel` and `cluster` is set; with none, everything is kept in memory. */
export type KvstoreSection = ServerConfig["kvstore"];

/** What a repository's file may override, and what it may not. */
export type ServerDefaults = ServerConfig["defaults"];

/** Somebody who is told what was deployed. With the format `json` there is a `secret`. */
export type NotificationReceiver = ServerConfig["notifications"][number];

/** `sessionSecret` is set whenever `enabled` is true. */
export type AuthSection = ServerConfig["auth"];
export type RoleAssignment = AuthSection["roleAssignments"][number];
export type OidcSection = NonNullable<AuthSection["oidc"]>;
export type OAuthClient = Pick<OidcSection, "clientId" | "clientSecret">;
export type ApiToken = AuthSection["apiTokens"][number];
export type BasicUser = NonNullable<AuthSection["basic"]>["users"][number];

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
