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

/** What else an account has. */
export interface Account {
  readonly email: string;
  /** Whether the address was confirmed; an account without that may not log in anywhere. */
  readonly confirmed: boolean;
}

/** https://docs.gitlab.com/api/oauth2/ : a code lives 10 minutes, an access token two hours. */
const CODE_LIFETIME_MS = 10 * 60_000;
export const TOKEN_LIFETIME_S = 7200;

/** Everything that this GitLab knows of people who log in to applications with it. */
export class LoginInstance {
  readonly #applications = new Map<string, OAuthApplication>();
  readonly #accounts = new Map<string, Account>();
  readonly #codes = new Map<string, Code>();
  readonly #tokens = new Map<string, Grant & { readonly expiresAt: number }>();
  /** Whoever is signed in to GitLab in every browser, and says yes; without anybody a page asks. */
  signedIn: string | undefined;
  /** Time may be moved by tests. */
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

  /** The code's grant, once; undefined is GitLab's `invalid_grant`, whatever is wrong. */
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

  grantOf(token: string): Grant | undefined {
    const found = this.#tokens.get(token);
    return found !== undefined && found.expiresAt > this.now() ? found : undefined;
  }
}
