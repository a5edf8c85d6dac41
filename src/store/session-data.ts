import type { LoginProvider } from "../core/model/account.js";

/** One login that has begun at a provider and not come back yet. */
export interface LoginAttempt {
  readonly provider: Exclude<LoginProvider, "basic">;
  readonly state: string;
  readonly codeVerifier: string;
  /** OpenID Connect only. */
  readonly nonce?: string;
  /** Page of ours to go to afterwards. */
  readonly returnTo: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

declare module "express-session" {
  /** Everything that a web session holds. Tokens of the providers and roles are no part of it. */
  interface SessionData {
    /** Epoch milliseconds. From then on the session is none, whether or not the store has dropped it yet. */
    expiresAt?: number;
    /** How long the store keeps it, in milliseconds from when it is written. Set with whatever else is in the session. */
    lifetimeMs?: number;
    /** Whose session it is; absent before the login. */
    accountId?: string;
    attempts?: readonly LoginAttempt[];
  }
}
