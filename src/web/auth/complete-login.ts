import type { Request } from "express";
import type { Account } from "../../core/model/account.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { UserStore } from "../../core/ports/stores.js";
import type { WebSessions } from "./session.js";
import type { ProviderTokens, TokenSeal } from "./token-seal.js";

export interface CompletionParts {
  readonly sessions: WebSessions;
  readonly users: UserStore;
  readonly seal: TokenSeal;
  readonly clock: Clock;
  readonly log: Log;
}

/** Records the person and opens the session. Returns the account with its effective role. */
export async function completeLogin(
  request: Request,
  proven: Account,
  { sessions, users, seal, clock, log }: CompletionParts,
  tokens?: ProviderTokens,
): Promise<Account> {
  const now = clock.now().getTime();
  const standing = tokens && { sealed: seal.seal(tokens, proven.id), askedAt: now, provenAt: now };
  const account = await users.signIn(proven, sessions.lifetimeMs, standing);
  await sessions.open(request, account);
  const { id, username, role, provider } = account;
  log.info({ account: id, username, role, provider, remote: request.ip }, "logged in");
  return account;
}
