import type * as z from "zod";
import type { CamelKeys } from "../camel-keys.js";
import type { serverSchema } from "./server-schema.js";

export { ROLES } from "./auth-section.js";

/** The server's file after validation, with all defaults. Durations are in milliseconds, keys and certificates PEM text. */
export type ServerConfig = CamelKeys<z.infer<ReturnType<typeof serverSchema>>>;

export type ServerSection = ServerConfig["server"];
export type LogLevel = ServerSection["logLevel"];

/** At most one of `address`, `sentinel` and `cluster` is set; with none, everything is kept in memory. */
export type KvstoreSection = ServerConfig["kvstore"];

/** What a repository's file may override, and what it may not. */
export type ServerDefaults = ServerConfig["defaults"];
export type MergeMethod = ServerDefaults["mergeMethod"];

/** Somebody who is told what was deployed. With the format `json` there is a `secret`. */
export type NotificationReceiver = ServerConfig["notifications"][number];

/** `sessionSecret` is set whenever `enabled` is true. */
export type AuthSection = ServerConfig["auth"];
export type RoleAssignment = AuthSection["roleAssignments"][number];
export type OidcSection = NonNullable<AuthSection["oidc"]>;
export type OAuthClient = Pick<OidcSection, "clientId" | "clientSecret">;
export type ApiToken = AuthSection["apiTokens"][number];
export type BasicUser = NonNullable<AuthSection["basic"]>["users"][number];

/** A `user` reads the pages; an `admin` can also force-unlock applications and change roles. */
export type Role = AuthSection["defaultRole"];
