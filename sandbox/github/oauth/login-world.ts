import { createHash, randomBytes } from "node:crypto";
import type { Person } from "../world.js";

/** An OAuth App as its owner registered it. */
export interface OAuthApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly callbackUrl: string;
  /**
   * The answer to another callback address. "redirect" (to the registered one) is documented; "page" is what github.com
   * shows if redirecting would not be safe.
   */
  readonly onMismatch?: "page" | "redirect";
}

/** How an organization treats applications that it has not approved. */
export type OrganizationPolicy =
  /** The application sees what its user sees. */
  | "open"
  /** Third-party access restrictions: 403. */
  | "restricted"
  /** The token has no active single sign-on session: 403 with `X-GitHub-SSO`. */
  | "sso"
  /** The organization seems to have no members. */
  | "hidden";

export interface Organization {
  readonly members: ReadonlyMap<string, "active" | "pending">;
  readonly policy: OrganizationPolicy;
}

export interface Email {
  readonly email: string;
  readonly primary: boolean;
  readonly verified: boolean;
}

/** What a person agreed to. */
export interface Grant {
  readonly app: OAuthApp;
  readonly person: Person;
  readonly scopes: readonly string[];
}

interface Code extends Grant {
  readonly redirectUri: string;
  readonly challenge: string | undefined;
  readonly expiresAt: number;
}

/** "The temporary code will expire after 10 minutes." */
const CODE_LIFETIME_MS = 10 * 60_000;

/** GitHub's state of OAuth logins. */
export class LoginWorld {
  readonly #apps = new Map<string, OAuthApp>();
  readonly #emails = new Map<string, readonly Email[]>();
  readonly #organizations = new Map<string, Organization>();
  readonly #codes = new Map<string, Code>();
  readonly #tokens = new Map<string, Grant>();
  /** The person who is signed in to GitHub, or "cancel" for one who declines. */
  signedIn = "cancel";
  /** Tests may replace it. */
  now: () => number = Date.now;

  registerApp(app: OAuthApp): void {
    this.#apps.set(app.clientId, app);
  }

  app(clientId: string): OAuthApp | undefined {
    return this.#apps.get(clientId);
  }

  setEmails(login: string, emails: readonly Email[]): void {
    this.#emails.set(login.toLowerCase(), emails);
  }

  /** Default: one primary, verified address. */
  emailsOf({ login }: Person): readonly Email[] {
    const usual = { email: `${login.toLowerCase()}@example.com`, primary: true, verified: true };
    return this.#emails.get(login.toLowerCase()) ?? [usual];
  }

  setOrganization(name: string, { members, policy = "open" }: Partial<Organization>): void {
    const lower = [...(members ?? [])].map(([login, state]) => [login.toLowerCase(), state] as const);
    this.#organizations.set(name.toLowerCase(), { members: new Map(lower), policy });
  }

  organization(name: string): Organization | undefined {
    return this.#organizations.get(name.toLowerCase());
  }

  issueCode(code: Omit<Code, "expiresAt">): string {
    const text = randomBytes(10).toString("hex");
    this.#codes.set(text, { ...code, expiresAt: this.now() + CODE_LIFETIME_MS });
    return text;
  }

  /** Redeems a code once. Returns GitHub's error code on failure. */
  redeem(text: string, app: OAuthApp, redirectUri: string | undefined, verifier: string | undefined): Grant | string {
    const code = this.#codes.get(text);
    if (code?.app !== app || code.expiresAt <= this.now()) return "bad_verification_code";
    this.#codes.delete(text);
    if (redirectUri !== undefined && redirectUri !== code.redirectUri) return "redirect_uri_mismatch";
    const proven = verifier === undefined ? undefined : createHash("sha256").update(verifier).digest("base64url");
    return proven === code.challenge ? code : "bad_verification_code";
  }

  /** `gho_` and 36 characters. */
  issueToken({ app, person, scopes }: Grant): string {
    const token = `gho_${randomBytes(27).toString("base64url").replace(/[-_]/g, "0")}`;
    this.#tokens.set(token, { app, person, scopes });
    return token;
  }

  /** As if the person had removed the application from their account. */
  revoke(login: string): void {
    for (const [token, { person }] of this.#tokens) if (person.login === login) this.#tokens.delete(token);
  }

  grantOf(token: string): Grant | undefined {
    return this.#tokens.get(token);
  }
}
