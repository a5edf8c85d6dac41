import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import type { Instance, TokenHolder } from "../model/instance.js";
import type { MergeRequest } from "../model/merge-request.js";
import type { Project } from "../model/project.js";
import type { Endpoint } from "./endpoints.js";

export interface Call<Query extends z.ZodRawShape, Body extends z.ZodRawShape> {
  readonly query: z.output<z.ZodObject<Query>>;
  readonly body: z.output<z.ZodObject<Body>>;
  readonly holder: TokenHolder;
  /** The full URL of the request. */
  readonly url: string;
  /** A decoded path parameter. */
  param(name: string): string;
  /** The project in the path, by id or full path. */
  project(): Project;
  mergeRequest(): MergeRequest;
}

export interface Answer {
  /** Default: 200. */
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error answer with GitLab's message. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly status: number;
  readonly body: object;

  constructor(status: number, message: string, member: "message" | "error" = "message") {
    super(message);
    this.status = status;
    this.body = { [member]: message };
  }
}

/** The path of a project that was renamed leads to its id: https://docs.gitlab.com/api/rest/#redirects */
class ProjectMoved extends Error {
  override readonly name = "ProjectMoved";
  constructor(readonly location: string) {
    super(`moved to ${location}`);
  }
}

/**
 * Makes a request handler that reads the request by the endpoint's schemas and calls `work`. Unknown members are
 * recorded as violations and otherwise ignored, as GitLab does; values of the wrong type are answered with 400.
 */
export function serve<Query extends z.ZodRawShape, Body extends z.ZodRawShape>(
  instance: Instance,
  endpoint: Endpoint<Query, Body>,
  work: (call: Call<Query, Body>) => Answer | Promise<Answer>,
): RequestHandler {
  return async (request, response) => {
    const title = `${request.method} ${request.path}`;
    try {
      const query = read(instance, `${title}: parameter`, endpoint.query, request.query);
      const body = read(instance, `${title}: member`, endpoint.body, request.body ?? {});
      const answer = await work({ query, body, ...pathOf(instance, request) });
      send(response, answer);
    } catch (error) {
      if (error instanceof ProjectMoved) {
        const { location } = error;
        if (request.method !== "GET") response.status(405).json({ message: "405 Method Not Allowed" });
        else {
          response
            .status(301)
            .set({ location })
            .json({ message: `This resource has been moved to ${location}` });
        }
        return;
      }
      if (!(error instanceof ApiFailure)) throw error;
      response.status(error.status).json(error.body);
    }
  };
}

/** Schemas take longer to make than to use, so each is made once. */
const schemas = new WeakMap<z.ZodRawShape, { readonly strict: z.ZodObject; readonly tolerant: z.ZodObject }>();

function schemasOf<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = schemas.get(shape) ?? { strict: z.strictObject(shape), tolerant: z.object(shape) };
  schemas.set(shape, known);
  // Made of this very shape.
  return known as { readonly strict: z.ZodObject<Shape>; readonly tolerant: z.ZodObject<Shape> };
}

function read<Shape extends z.ZodRawShape>(
  instance: Instance,
  title: string,
  shape: Shape,
  given: unknown,
): z.output<z.ZodObject<Shape>> {
  const known = schemasOf(shape);
  const strict = known.strict.safeParse(given);
  if (strict.success) return strict.data;
  for (const issue of strict.error.issues) {
    const names = issue.code === "unrecognized_keys" ? issue.keys.join(", ") : issue.path.join(".");
    instance.violations.push(`${title} ${names}: ${issue.message}`);
  }
  const tolerant = known.tolerant.safeParse(given);
  if (tolerant.success) return tolerant.data;
  const [name = "body"] = tolerant.error.issues.map((issue) => String(issue.path[0] ?? "body"));
  const missing = typeof given === "object" && given !== null && !(name in given);
  throw new ApiFailure(400, `${name} ${missing ? "is missing" : "is invalid"}`, "error");
}

/** https://docs.gitlab.com/api/rest/authentication/#personal-project-and-group-access-tokens */
export function holderOf(instance: Instance, request: Request): TokenHolder | undefined {
  const bearer = /^Bearer (.+)$/i.exec(request.get("authorization") ?? "")?.[1];
  return instance.holderOf(request.get("private-token") ?? bearer ?? "");
}

function send(response: Response, answer: Answer): void {
  response.status(answer.status ?? 200).set(answer.headers ?? {});
  if (answer.body === undefined) response.end();
  else response.json(answer.body);
}

function pathOf(
  instance: Instance,
  request: Request,
): Pick<Call<never, never>, "holder" | "url" | "param" | "project" | "mergeRequest"> {
  // Tokens of logins have routes of their own, which ask for no holder.
  const holder = holderOf(instance, request) ?? { person: instance.bot, scopes: [], admin: false };
  const param = (name: string): string => {
    const value = request.params[name];
    if (typeof value !== "string") throw new Error(`The path ${request.path} has no :${name}`);
    return value;
  };
  const project = (): Project => {
    const id = param("id");
    const all = [...instance.projects.values()];
    const found = all.find(({ id: number, path }) => String(number) === id || path.toLowerCase() === id.toLowerCase());
    const renamed = instance.renamedFrom(id);
    if (renamed !== undefined) {
      const path = request.originalUrl.replace(encodeURIComponent(id), String(renamed.id));
      throw new ProjectMoved(`${instance.url}${path}`);
    }
    // Projects without the token's account among their members do not exist for it.
    if (found !== undefined && (holder.admin || found.members.has(holder.person.id))) return found;
    throw new ApiFailure(404, "404 Project Not Found");
  };
  const mergeRequest = (): MergeRequest => {
    const iid = param("iid");
    if (!/^\d+$/.test(iid)) throw new ApiFailure(400, "merge_request_iid is invalid", "error");
    const target = project();
    const found = instance.mergeRequests.find((merge) => merge.project === target && merge.iid === Number(iid));
    if (found === undefined) throw new ApiFailure(404, "404 Not found");
    return found;
  };
  return { holder, url: `${instance.url}${request.originalUrl}`, param, project, mergeRequest };
}
