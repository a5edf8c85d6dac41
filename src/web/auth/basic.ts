import { createHash, timingSafeEqual } from "node:crypto";
import express, { type ErrorRequestHandler, type Request, type Response, Router } from "express";
import * as z from "zod";
import type { BasicUser } from "../../config/server/server-config.js";
import type { Account } from "../../core/model/account.js";
import type { Log } from "../../core/ports/log.js";
import { userBody } from "../api/bodies.js";
import { isForm, prefersJson } from "../prefers-json.js";
import { completeLogin, type CompletionParts } from "./complete-login.js";
import { answerRefusal, type LoginRefusal, refusalText } from "./refusal.js";
import { safeReturnTo } from "./return-to.js";
import { showSignIn, type SignInWays } from "./sign-in-page.js";

export interface BasicParts extends CompletionParts {
  readonly configured: readonly BasicUser[];
  /** What the sign-in page offers. */
  readonly ways: SignInWays;
}

const MOST_BYTES = "10kb";

/** Login with a username and password of the configuration, for development only. */
export function basicRoutes(parts: BasicParts): Router {
  const { configured, ways, log } = parts;
  const router = Router();
  router.use(express.json({ limit: MOST_BYTES }), express.urlencoded({ extended: false, limit: MOST_BYTES }));
  router.use(unreadable);
  router.post("/", async (request, response) => {
    const sent = readCredentials(request.body);
    if (typeof sent === "string") {
      refuse(request, response, { reason: "bad-request", problem: sent }, log);
      return;
    }
    const proven = basicAccount(configured, sent);
    if (proven === undefined) {
      const refusal = { reason: "wrong-password" } as const;
      if (prefersJson(request)) refuse(request, response, refusal, log);
      else stayOnPage(request, response, refusal, { sent, ways, log });
      return;
    }
    const account = await completeLogin(request, proven, parts);
    log.warn({ account: account.id }, "logged in with a password of the configuration: for development only");
    if (isForm(request)) response.redirect(303, safeReturnTo(sent.return_to));
    else response.json({ user: userBody(account) });
  });
  return router;
}

function refuse(request: Request, response: Response, refusal: LoginRefusal, log: Log): void {
  noteRefusal(request, refusal, log);
  answerRefusal(request, response, refusal);
}

/** Shows the form again, with the name that was given. */
function stayOnPage(
  request: Request,
  response: Response,
  refusal: LoginRefusal,
  { sent, ways, log }: { readonly sent: Credentials; readonly ways: SignInWays; readonly log: Log },
): void {
  noteRefusal(request, refusal, log);
  const { status, sentence, next } = refusalText(refusal);
  response.status(status);
  const { username, return_to } = sent;
  showSignIn(response, ways, { returnTo: safeReturnTo(return_to), notice: `${sentence}. ${next}`, username });
}

function noteRefusal(request: Request, { reason }: LoginRefusal, log: Log): void {
  log.warn({ provider: "basic", reason, remote: request.ip }, "login refused");
}

/** Answers bodies that the parsers reject. */
const unreadable: ErrorRequestHandler = (error: unknown, request, response, next) => {
  const status = error instanceof Error && "status" in error ? Number(error.status) : 500;
  if (status < 400 || status >= 500 || response.headersSent) {
    next(error);
    return;
  }
  answerRefusal(request, response, { reason: "bad-request", problem: "The body could not be read" });
};

const credentials = z.object({
  username: z.string().min(1).max(200),
  password: z.string().min(1).max(1000),
  return_to: z.string().optional(),
});

/** What the sign-in form or a program sent. */
export type Credentials = z.infer<typeof credentials>;

/** The credentials of a parsed body, or a sentence that names the first wrong field. */
export function readCredentials(body: unknown): Credentials | string {
  const parsed = credentials.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path[0];
  return field === undefined
    ? "the body: must be an object with username and password"
    : `${String(field)}: must be a non-empty text`;
}

/** The account of the configured user with this name and password. Takes equally long for an unknown name. */
export function basicAccount(users: readonly BasicUser[], { username, password }: Credentials): Account | undefined {
  const given = digestOf(username, password);
  const found = users.filter((user) => timingSafeEqual(digestOf(user.username, user.password), given));
  const [user] = found;
  if (user === undefined) return undefined;
  const { role } = user;
  return { id: `basic:${user.username}`, provider: "basic", username: user.username, email: undefined, role };
}

function digestOf(username: string, password: string): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([username, password]))
    .digest();
}
