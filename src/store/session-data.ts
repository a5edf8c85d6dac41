import type { LoginProvider } from "../core/model/account.js";

/** A login that was started at a provider and has not come back yet. */
export interface LoginAttempt {
  readonly provider: Exclude<LoginProvider, "basic">;
  readonly state: string;
  readonly codeVerifier: string;
  /** OpenID Connect only. */
  readonly nonce?: string;
  /** Path of the page to show after the login. */
  readonly returnTo: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

declare module "express-session" {
  /** Everything that a web session holds. Roles and the providers' tokens are never stored in it. */
  interface SessionData {
    /** Milliseconds since 1970. After that the session is invalid, whether or not the store has dropped it. */
    expiresAt?: number;
    /** How long the store keeps the session after a write, in milliseconds. Set whenever anything else is set. */
    lifetimeMs?: number;
    /** Absent before the login. */
    accountId?: string;
    attempts?: readonly LoginAttempt[];
  }
}
