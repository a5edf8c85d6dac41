import { createHmac, randomBytes } from "node:crypto";
import { ApiError, codes, permissionDenied } from "./api-error.js";
import { isObject } from "./json.js";

export interface Permission {
  /** `applications`, `applicationsets`, …, or `*`. */
  readonly resource: string;
  /** `get`, `create`, `update`, `delete`, `sync`, `override`, or `*`. */
  readonly action: string;
  /** `<project>/<name>` or `<project>/<namespace>/<name>`; `*` matches anything. */
  readonly object: string;
}

export type Permissions = readonly Permission[] | "all" | "get+sync" | "readonly";

/** Who calls: an account or a project's role. */
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

/** The long form of the refusal, which names what was asked and who asked. */
export function enforce(account: Account, resource: string, action: string, object: string): void {
  if (mayDo(account, resource, action, object)) return;
  const parts = [resource, action, object, `sub: ${account.name}`, `iat: ${account.issuedAt}`];
  throw permissionDenied(`permission denied: ${parts.join(", ")}`);
}

interface Token {
  readonly account: Account;
  /** Why a well-formed token is refused. */
  refused: string | undefined;
}

/** Accounts with API keys and project roles with tokens. */
export class Accounts {
  readonly #tokens = new Map<string, Token>();
  readonly #secret = randomBytes(32);

  constructor(readonly now: () => Date) {}

  /** Adds an account or replaces its rights; returns a new token of it. */
  add(name: string, permissions: Permissions): string {
    const issued = this.now();
    const id = `${name}-${this.#tokens.size + 1}`;
    const subject = name.startsWith("proj:") ? name : `${name}:apiKey`;
    const seconds = Math.floor(issued.getTime() / 1000);
    const parts = [
      { alg: "HS256", typ: "JWT" },
      { iss: "argocd", sub: subject, nbf: seconds, iat: seconds, jti: id },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
    const signature = createHmac("sha256", this.#secret).update(parts.join(".")).digest("base64url");
    const token = [...parts, signature].join(".");
    const issuedAt = issued.toISOString().replace(/\.\d+Z$/, "Z");
    this.#tokens.set(token, { account: { name, permissions: expand(permissions), issuedAt }, refused: undefined });
    return token;
  }

  /** From now on the token is answered with `invalid session: <reason>`. */
  refuse(token: string, reason: string): void {
    const known = this.#tokens.get(token);
    if (known !== undefined) known.refused = reason;
  }

  /** @throws {ApiError} code 16 when there is no valid token. */
  authenticate(authorization: string | undefined): Account {
    const token = /^Bearer (.+)$/i.exec(authorization ?? "")?.[1];
    const [header, , , ...more] = token?.split(".") ?? [];
    if (token === undefined || header === undefined || token.split(".").length !== 3 || more.length > 0) {
      throw new ApiError(codes.unauthenticated, "no session information");
    }
    const known = this.#tokens.get(token);
    if (known === undefined) throw refusal(malformed(header) ?? "failed to verify the token");
    if (known.refused !== undefined) throw refusal(known.refused);
    return known.account;
  }

  /** For calls that answer anybody, but more to those who are logged in. */
  find(authorization: string | undefined): Account | undefined {
    try {
      return this.authenticate(authorization);
    } catch {
      return undefined;
    }
  }
}

function refusal(reason: string): ApiError {
  return new ApiError(codes.unauthenticated, `invalid session: ${reason}`);
}

function malformed(header: string): string | undefined {
  const text = Buffer.from(header, "base64url").toString();
  const stray = header.search(/[^\w-]/);
  // One character alone holds less than a byte.
  const illegal = stray < 0 && header.length % 4 === 1 ? header.length - 1 : stray;
  if (illegal >= 0) {
    return `token is malformed: could not base64 decode header: illegal base64 data at input byte ${illegal}`;
  }
  try {
    if (isObject(JSON.parse(text) as unknown)) return undefined;
  } catch {
    // Falls through: a header that is no JSON object.
  }
  return "token is malformed: could not JSON decode header: invalid character looking for beginning of value";
}
