import type { Request, RequestHandler } from "express";
import * as z from "zod";
import { send, type ApiAnswer } from "./respond.js";

/** The validated input, or the answer that names the wrong field. */
export type Input<T> =
  { readonly kind: "read"; readonly value: T } | { readonly kind: "wrong"; readonly answer: ApiAnswer };

/** The query of a request. Unknown and repeated parameters are refused by name. */
export function readQuery<T>(request: Request, schema: z.ZodType<T>): Input<T> {
  return read(request.query, schema, "query parameter");
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
  return read(request.body, schema, "field");
}

function read<T>(value: unknown, schema: z.ZodType<T>, what: string): Input<T> {
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
