import { createHmac, randomBytes } from "node:crypto";
import { ApiError, codes, permissionDenied } from "./api-error.js";

export interface Permission {
  /** `applications`, `applicationsets`, …, or `*`. */
  readonly resource: string;
  /** `get`, `create`, `update`, `delete`, `sync`, `override`, or `*`. */
  readonly action: string;
  /** `<project>/<name>` or `<project>/<namespace>/<name>`; `*` matches anything. */
  readonly object: string;
}

export type Permissions = readonly Permission[] | "all" | "get+sync" | "readonly";

/** The caller: an account or a project's role. */
export interface Account {
  /** As RBAC and `initiatedBy` name it: `ci`, or `proj:<project>:<role>`. */
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly issuedAt: string;
}

const everywhere = (resource: string, ...actions: string[]): Permission[] =>
  actions.map((action) => ({ resource, action, object: "*" }));

function expand(permissions: Permissions): readonly Permission[] {
  switch (permissions) {
    case "all":
      return everywhere("*", "*");
    case "get+sync":
      return everywhere("applications", "get", "sync");
    case "readonly":
      return [...everywhere("applications", "get"), ...everywhere("applicationsets", "get")];
    default:
      return permissions;
  }
}

function globMatches(pattern: string, text: string): boolean {
  const source = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${source.join(".*")}$`, "s").test(text);
}

export function mayDo(account: Account, resource: string, action: string, object: string): boolean {
  return account.permissions.some(
    (permission) =>
      globMatches(permission.resource, resource) &&
      globMatches(permission.action, action) &&
      globMatches(permission.object, object),
  );
}

/** @throws {ApiError} the long form of the refusal, which names the permission and the caller. */
export function enforce(account: Account, resource: string, action: string, object: string): void {
  if (mayDo(account, resource, action, object)) return;
  const parts = [resource, action, object, `sub: ${account.name}`, `iat: ${account.issuedAt}`];
  throw permissionDenied(`permission denied: ${parts.join(", ")}`);
}

/** Accounts with API keys and project roles with tokens. */
export class Accounts {
  readonly #tokens = new Map<string, Account>();
  readonly #secret = randomBytes(32);

  /** Adds an account or replaces its permissions. Returns a new token. */
  add(name: string, permissions: Permissions, expires?: Date): string {
    const issued = new Date();
    const id = `${name}-${this.#tokens.size + 1}`;
    const subject = name.startsWith("proj:") ? name : `${name}:apiKey`;
    const seconds = Math.floor(issued.getTime() / 1000);
    const parts = [
      { alg: "HS256", typ: "JWT" },
      {
        iss: "argocd",
        sub: subject,
        nbf: seconds,
        iat: seconds,
        jti: id,
        ...(expires && { exp: Math.floor(expires.getTime() / 1000) }),
      },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
    const signature = createHmac("sha256", this.#secret).update(parts.join(".")).digest("base64url");
    const token = [...parts, signature].join(".");
    const issuedAt = issued.toISOString().replace(/\.\d+Z$/, "Z");
    this.#tokens.set(token, { name, permissions: expand(permissions), issuedAt });
    return token;
  }

  /** @throws {ApiError} code 16 when there is no valid token. */
  authenticate(authorization: string | undefined): Account {
    const token = /^Bearer (.+)$/i.exec(authorization ?? "")?.[1];
    if (token?.split(".").length !== 3) {
      throw new ApiError(codes.unauthenticated, "no session information");
    }
    const known = this.#tokens.get(token);
    if (known === undefined) throw new ApiError(codes.unauthenticated, "invalid session: failed to verify the token");
    return known;
  }

  /** The caller, or undefined without a valid token. */
  find(authorization: string | undefined): Account | undefined {
    try {
      return this.authenticate(authorization);
    } catch {
      return undefined;
    }
  }
}
