import { randomBytes } from "node:crypto";
import { Router, type Request, type Response } from "express";
import type { AuthSection } from "../../config/server/server-config.js";
import { assignRole } from "./assign-role.js";
import { completeLogin, type CompletionParts } from "./complete-login.js";
import { accountOf, isRefusal, type RedirectProvider } from "./login-provider.js";
import { refusalInCallback } from "./provider-refusal.js";
import { answerRefusal, type LoginRefusal } from "./refusal.js";
import { safeReturnTo } from "./return-to.js";

export interface RedirectParts extends CompletionParts {
  readonly provider: RedirectProvider;
  readonly auth: Pick<AuthSection, "roleAssignments" | "defaultRole">;
  readonly baseUrl: string | undefined;
}

/** The address to register at the provider, word for word. */
export function callbackUrl(baseUrl: string, provider: RedirectProvider["id"]): string {
  return `${baseUrl}/auth/${provider}/callback`;
}

/** `login` and `callback` of one provider. */
export function redirectRoutes(parts: RedirectParts): Router {
  const router = Router();
  router.get("/login", (request, response) => start(request, response, parts));
  router.get("/callback", (request, response) => finish(request, response, parts));
  return router;
}

async function start(request: Request, response: Response, parts: RedirectParts): Promise<void> {
  const { provider, sessions, baseUrl } = parts;
  const returnTo = safeReturnTo(request.query.return_to);
  if (baseUrl === undefined) {
    refuse(request, response, parts, { reason: "no-base-url" }, returnTo);
    return;
  }
  const attempt = { state: random(), codeVerifier: random(), nonce: random() };
  const target = await provider.begin(attempt, callbackUrl(baseUrl, provider.id));
  if (!(target instanceof URL)) {
    refuse(request, response, parts, target, returnTo);
    return;
  }
  await sessions.begin(request, { provider: provider.id, returnTo, ...attempt });
  response.redirect(302, target.href);
}

async function finish(request: Request, response: Response, parts: RedirectParts): Promise<void> {
  const { provider, sessions, auth, baseUrl } = parts;
  if (baseUrl === undefined) {
    refuse(request, response, parts, { reason: "no-base-url" });
    return;
  }
  // Never from the Host header: it has to be the registered address.
  const answer = new URL(callbackUrl(baseUrl, provider.id));
  answer.search = new URL(request.originalUrl, answer).search;
  const state = answer.searchParams.get("state") ?? "";
  const attempt = await sessions.take(request, provider.id, state);
  const refusal = refusalInCallback(answer, provider.name, attempt !== undefined);
  if (refusal !== undefined || attempt === undefined) {
    const unknown = { reason: "unknown-attempt", address: baseUrl } as const;
    refuse(request, response, parts, refusal ?? unknown, attempt?.returnTo);
    return;
  }
  const proven = await provider.finish(answer, attempt);
  if (isRefusal(proven)) {
    refuse(request, response, parts, proven, attempt.returnTo);
    return;
  }
  const { facts, tokens } = proven;
  const assigned = assignRole(auth.roleAssignments, auth.defaultRole, facts);
  if (assigned.kind === "unproven") {
    const what = `whether you belong to ${assigned.pattern}`;
    const unproven = { reason: "not-verified", title: provider.name, what, hint: assigned.hint } as const;
    refuse(request, response, parts, unproven, attempt.returnTo);
    return;
  }
  await completeLogin(request, accountOf(facts, assigned.role), parts, tokens);
  response.redirect(303, attempt.returnTo);
}

function refuse(
  request: Request,
  response: Response,
  { provider, log }: RedirectParts,
  refusal: LoginRefusal,
  returnTo?: string,
): void {
  log.warn({ provider: provider.id, reason: refusal.reason, remote: request.ip }, "login refused");
  answerRefusal(request, response, refusal, returnTo);
}

/** 256 bits, in the 43 to 128 characters that a PKCE verifier may have (RFC 7636, 4.1). */
function random(): string {
  return randomBytes(32).toString("base64url");
}
