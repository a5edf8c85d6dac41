import type { Request, Response } from "express";
import { SERVICE } from "../../names.js";
import { prefersJson } from "../prefers-json.js";
import { refusalText, type LoginRefusal } from "./refusal.js";

/** Answers with the refusal's status: a page that says what to do, or `{"error"}` to a program. */
export function answerRefusal(request: Request, response: Response, refusal: LoginRefusal, returnTo = "/"): void {
  const { status, sentence, next } = refusalText(refusal);
  response.status(status);
  if (refusal.reason === "too-many") response.set("retry-after", String(refusal.seconds));
  if (prefersJson(request)) {
    response.json({ error: `${sentence}. ${next}` });
    return;
  }
  response.render("sign-in-failed", { service: SERVICE, sentence, next, again: loginPath(returnTo) });
}

/** The sign-in page, with the page to come back to. */
export function loginPath(returnTo: string): string {
  return returnTo === "/" ? "/login" : `/login?return_to=${encodeURIComponent(returnTo)}`;
}
