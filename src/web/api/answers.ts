import type { Request, RequestHandler, Response } from "express";
import * as z from "zod";
import type { Account } from "../../core/model/account.js";
import type { AllHostWords } from "../../core/model/host-words.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { Notifications } from "../../core/ports/notifications.js";
import type { Dependencies } from "../../run/line/run.js";
import type { Stores } from "../../store/stores.js";
import type { HostPageOf } from "../addresses.js";
import type { DiffReaders } from "../diff-readers.js";
import { viewerOf } from "../viewer.js";

/** An answer of the API; without `body`, an error that says what to do. */
export type ApiAnswer =
  | { readonly status: 200; readonly body: object }
  | { readonly status: number; readonly error: string };

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

const ADMIN_ONLY: ApiAnswer = { status: 403, error: "this needs the role admin, which an admin can give you" };

/** A route for admins. Everyone else is refused before anything of the request is read. */
export function answeringAdmin(
  work: (request: Request, admin: Account) => Promise<ApiAnswer>,
  ...before: readonly RequestHandler[]
): RequestHandler[] {
  const admit: RequestHandler = (request, response, next) => {
    if (adminOf(request) === undefined) send(response, ADMIN_ONLY);
    else next();
  };
  return [
    admit,
    ...before,
    answering((request) => {
      const admin = adminOf(request);
      return admin === undefined ? ADMIN_ONLY : work(request, admin);
    }),
  ];
}

function adminOf(request: Request): Account | undefined {
  const viewer = viewerOf(request);
  return viewer.kind === "account" && viewer.account.role === "admin" ? viewer.account : undefined;
}

/** The validated input, or the answer that names the wrong field. */
type Input<T> = { readonly kind: "read"; readonly value: T } | { readonly kind: "wrong"; readonly answer: ApiAnswer };

/** The query of a request. Unknown and repeated parameters are refused by name. */
export function readQuery<T>(request: Request, schema: z.ZodType<T>): Input<T> {
  return readWith(request.query, schema, "query parameter");
}

/** For routes that take no query. */
export const withoutQuery: RequestHandler = (request, response, next) => {
  const query = readQuery(request, noQuery);
  if (query.kind === "wrong") send(response, query.answer);
  else next();
};

const noQuery = z.strictObject({});

/** The JSON object of a request's body. */
export function readBody<T>(request: Request, schema: z.ZodType<T>): Input<T> {
  if (request.is("application/json") === false || request.get("content-type") === undefined) {
    return { kind: "wrong", answer: { status: 415, error: "send the body as application/json" } };
  }
  return readWith(request.body, schema, "field");
}

function readWith<T>(value: unknown, schema: z.ZodType<T>, what: string): Input<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: "read", value: parsed.data };
  const [issue] = parsed.error.issues;
  return { kind: "wrong", answer: { status: 400, error: sentenceOf(issue, what) } };
}

function sentenceOf(issue: z.core.$ZodIssue | undefined, what: string): string {
  if (issue?.code === "unrecognized_keys") return `unknown ${what} ${shown(issue.keys[0])}`;
  if (issue === undefined || issue.path.length === 0) return "the body is not a JSON object";
  return `${what} ${shown(issue.path[0])}: ${issue.message}`;
}

/** A foreign name, shortened and escaped for terminals and logs. */
function shown(name: PropertyKey | undefined): string {
  return JSON.stringify(String(name).slice(0, 60));
}

/** One decoded part of the request's path; never empty if the route names it. */
export function pathPart({ params }: Request, name: string): string {
  const part = params[name];
  return typeof part === "string" ? part : "";
}

/** What the API needs of the service. */
export interface ApiParts
  extends
    Pick<Dependencies, "holds" | "audit" | "publisher" | "timezone" | "clock" | "log">,
    Pick<Stores, "locks" | "waiting" | "plans" | "users"> {
  readonly readers: DiffReaders;
  readonly hostWords: AllHostWords;
  readonly hostPageOf: HostPageOf;
  readonly push: EventQueue["push"];
  readonly notifications: Notifications;
  readonly newRunId: () => string;
}
