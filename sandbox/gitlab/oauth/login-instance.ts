import { createHash, randomBytes } from "node:crypto";
import type { Person } from "../model/people.js";

/** An OAuth application as its owner registered it. */
export interface OAuthApplication {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Compared exactly. */
  readonly redirectUris: readonly string[];
  readonly scopes: readonly string[];
}

/** What a person agreed to. */
export interface Grant {
  readonly application: OAuthApplication;
  readonly person: Person;
  readonly scopes: readonly string[];
}

interface Code extends Grant {
  readonly redirectUri: string;
  readonly challenge: string | undefined;
  readonly expiresAt: number;
}

export interface Account {
  readonly email: string;
  /** Whether the address was confirmed. Otherwise the account cannot log in to applications. */
  readonly confirmed: boolean;
  /** External users do not see internal projects. */
  readonly external?: boolean;
}

/** https://docs.gitlab.com/api/oauth2/ : codes are valid for 10 minutes, access tokens for two hours. */
const CODE_LIFETIME_MS = 10 * 60_000;
export const TOKEN_LIFETIME_S = 7200;

/** GitLab's state of OAuth logins. */
export class LoginInstance {
  readonly #applications = new Map<string, OAuthApplication>();
  readonly #accounts = new Map<string, Account>();
  readonly #codes = new Map<string, Code>();
  readonly #tokens = new Map<string, Grant & { readonly expiresAt: number }>();
  readonly #refreshTokens = new Map<string, Grant>();
  /** The person who is signed in to GitLab, or "deny" for one who declines. */
  signedIn = "deny";
  /** Tests may replace it. */
  now: () => number = Date.now;

  registerApplication(application: OAuthApplication): void {
    this.#applications.set(application.clientId, application);
  }

  application(clientId: string): OAuthApplication | undefined {
    return this.#applications.get(clientId);
  }

  setAccount(username: string, account: Account): void {
    this.#accounts.set(username.toLowerCase(), account);
  }

  accountOf({ username }: Person): Account {
    const usual = { email: `${username.toLowerCase()}@example.com`, confirmed: true };
    return this.#accounts.get(username.toLowerCase()) ?? usual;
  }

  issueCode(code: Omit<Code, "expiresAt">): string {
    const text = randomBytes(32).toString("hex");
    this.#codes.set(text, { ...code, expiresAt: this.now() + CODE_LIFETIME_MS });
    return text;
  }

  /** Redeems a code once. Undefined means GitLab's `invalid_grant`. */
  redeem(text: string, application: OAuthApplication, redirectUri: string, verifier?: string): Grant | undefined {
    const code = this.#codes.get(text);
    if (code?.application !== application || code.expiresAt <= this.now()) return undefined;
    this.#codes.delete(text);
    const proven = verifier === undefined ? undefined : createHash("sha256").update(verifier).digest("base64url");
    return redirectUri === code.redirectUri && proven === code.challenge ? code : undefined;
  }

  issueToken({ application, person, scopes }: Grant): string {
    const token = randomBytes(32).toString("hex");
    this.#tokens.set(token, { application, person, scopes, expiresAt: this.now() + TOKEN_LIFETIME_S * 1000 });
    return token;
  }

  issueRefreshToken(grant: Grant): string {
    const token = randomBytes(32).toString("hex");
    this.#refreshTokens.set(token, grant);
    return token;
  }

  /** A refresh token works once. */
  refresh(token: string, application: OAuthApplication): Grant | undefined {
    const grant = this.#refreshTokens.get(token);
    if (grant?.application !== application) return undefined;
    this.#refreshTokens.delete(token);
    return grant;
  }

  /** As if the person had removed the application from their account. */
  revoke(username: string): void {
    for (const kept of [this.#tokens, this.#refreshTokens]) {
      for (const [token, { person }] of kept) if (person.username === username) kept.delete(token);
    }
  }

  grantOf(token: string): Grant | undefined {
    const found = this.#tokens.get(token);
    return found !== undefined && found.expiresAt > this.now() ? found : undefined;
  }
}
