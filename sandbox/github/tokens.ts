import { createPublicKey, randomBytes, verify, type KeyObject } from "node:crypto";
import { isObject, type JsonObject } from "./examples.js";
import type { Person, Repository, World } from "./world.js";

export interface InstallationToken {
  readonly token: string;
  readonly owner: Person;
  readonly expiresAt: Date;
  readonly permissions: Readonly<Record<string, string>>;
  /** Undefined means all repositories of the installation. */
  readonly repositories: ReadonlySet<number> | undefined;
}

export type Caller =
  | { readonly kind: "app" }
  | { readonly kind: "installation"; readonly token: InstallationToken }
  | { readonly kind: "refused"; readonly message: string };

/** Identifies callers: the App by a signed JSON web token, an installation by its access token. */
export class Tokens {
  readonly #key: KeyObject;
  readonly #tokens = new Map<string, InstallationToken>();

  constructor(
    readonly world: World,
    publicKey: string,
  ) {
    this.#key = createPublicKey(publicKey);
  }

  /** A token for one hour. Like GitHub's new tokens, it is longer than 40 characters. */
  create(token: Omit<InstallationToken, "token" | "expiresAt">): InstallationToken {
    const expiresAt = new Date(Math.floor(Date.now() / 1000 + 3600) * 1000);
    const created = { ...token, token: `ghs_${randomBytes(180).toString("base64url")}`, expiresAt };
    this.#tokens.set(created.token, created);
    return created;
  }

  /** Reads an `Authorization` header of the API (`Bearer` or `token`) or of git (`Basic`, the token as password). */
  caller(header: string | undefined): Caller {
    const [, scheme = "", credentials = ""] = /^(\w+)\s+(\S+)$/.exec(header ?? "") ?? [];
    const kind = scheme.toLowerCase();
    if (kind === "bearer" && credentials.split(".").length === 3 && !credentials.startsWith("ghs_")) {
      return this.#appCaller(credentials);
    }
    const secret = kind === "basic" ? Buffer.from(credentials, "base64").toString().split(":")[1] : credentials;
    const token =
      kind === "bearer" || kind === "token" || kind === "basic" ? this.#tokens.get(secret ?? "") : undefined;
    if (token !== undefined && token.expiresAt.getTime() > Date.now()) return { kind: "installation", token };
    return { kind: "refused", message: header === undefined ? "Requires authentication" : "Bad credentials" };
  }

  #appCaller(jwt: string): Caller {
    const [head = "", body = "", signature = ""] = jwt.split(".");
    const refused = (message: string): Caller => ({ kind: "refused", message });
    const header = decoded(head);
    const claims = decoded(body);
    const signed = verify("RSA-SHA256", Buffer.from(`${head}.${body}`), this.#key, Buffer.from(signature, "base64url"));
    if (header?.alg !== "RS256" || claims === undefined || !signed) {
      return refused("A JSON web token could not be decoded");
    }
    const seconds = Date.now() / 1000;
    if (typeof claims.exp !== "number" || claims.exp <= seconds) {
      return refused(
        "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
      );
    }
    if (claims.exp > seconds + 600 + 60) return refused("'Expiration time' claim ('exp') is too far in the future");
    if (typeof claims.iat !== "number" || claims.iat > seconds + 60) {
      return refused(
        "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
      );
    }
    if (String(claims.iss) !== String(this.world.app.id)) return refused("Integration not found");
    return { kind: "app" };
  }
}

/** Whether the token may read or write this part of the repository. */
export function permits(
  token: InstallationToken,
  repository: Repository,
  permission: string,
  level: "read" | "write",
): boolean {
  if (level === "read" && !repository.private) return true;
  if (!reaches(token, repository)) return false;
  const granted = permission === "metadata" ? "read" : token.permissions[permission];
  return granted === "write" || granted === level;
}

/** Whether the token covers the repository. */
export function reaches(token: InstallationToken, repository: Repository): boolean {
  if (!repository.installed || repository.owner !== token.owner) return false;
  return token.repositories === undefined || token.repositories.has(repository.id);
}

function decoded(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
