import type { Request } from "express";
import type { Account } from "../../core/model/account.js";
import type { Log } from "../../core/ports/log.js";
import type { UserStore } from "../../core/ports/stores.js";
import type { WebSessions } from "./session.js";

export interface CompletionParts {
  readonly sessions: WebSessions;
  readonly users: UserStore;
  readonly log: Log;
}

/** Records the person and opens the session. Returns the account with its effective role. */
export async function completeLogin(
  request: Request,
  proven: Account,
  { sessions, users, log }: CompletionParts,
): Promise<Account> {
  const account = await users.signIn(proven, sessions.lifetimeMs);
  await sessions.open(request, account);
  const { id, username, role, provider } = account;
  log.info({ account: id, username, role, provider, remote: request.ip }, "logged in");
  return account;
}
