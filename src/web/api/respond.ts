import type { ErrorRequestHandler, Request, RequestHandler, Response } from "express";
import { safeMessage, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import type { Log } from "../../core/ports/log.js";

/** An answer of the API; without `body`, an error that says what to do. */
export type ApiAnswer =
  | { readonly status: 200; readonly body: object }
  | { readonly status: 400 | 401 | 403 | 404 | 409 | 413 | 415 | 503; readonly error: string };

/** A route that returns its answer as a value. */
export function answering(work: (request: Request) => Promise<ApiAnswer> | ApiAnswer): RequestHandler {
  return async (request, response) => {
    send(response, await work(request));
  };
}

export function send(response: Response, answer: ApiAnswer): void {
  const body = "body" in answer ? answer.body : { error: answer.error };
  response.status(answer.status).json(body);
}

/** Answers errors of the routes above, without details that could hold secrets. */
export function apiErrors(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const known = knownAnswer(error);
    if (known !== undefined) {
      send(response, known);
      return;
    }
    log.error({ path: request.path, err: error }, "request failed");
    response.status(500).json({ error: safeMessage(error) });
  };
}

function knownAnswer(error: unknown): ApiAnswer | undefined {
  if (error instanceof StoreUnavailable) return { status: 503, error: safeMessage(error) };
  if (error instanceof StoredValueUnreadable || typeof error !== "object" || error === null) return undefined;
  const status = "status" in error ? error.status : undefined;
  if (status === 413) return { status: 413, error: "the body is larger than 10 kB" };
  if (status === 415) return { status: 415, error: "send the body as UTF-8, without a content encoding" };
  if (status !== 400) return undefined;
  const body = "type" in error && typeof error.type === "string" && error.type !== "";
  return { status: 400, error: body ? "the body is not a valid JSON object" : "the address has a malformed % escape" };
}
