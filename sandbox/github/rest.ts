import express, { type Request, type RequestHandler, type Response, type Router } from "express";
import { describeOperation, type Operation } from "./description.js";
import { isObject, type JsonObject } from "./examples.js";
import { appRoutes } from "./routes/app.js";
import { ApiError, notFound, type Announce, type Answer, type Call, type Route } from "./routes/call.js";
import { commentRoutes } from "./routes/comments.js";
import { deploymentRoutes } from "./routes/deployments.js";
import { pullRoutes } from "./routes/pulls.js";
import { repositoryRoutes } from "./routes/repository.js";
import { statusRoutes } from "./routes/statuses.js";
import { permits, type Caller, type Tokens } from "./tokens.js";
import type { Repository, World } from "./world.js";

/** What is served, with the permission that each call needs. */
export const routes: readonly Route[] = [
  ...appRoutes,
  ...repositoryRoutes,
  ...pullRoutes,
  ...commentRoutes,
  ...statusRoutes,
  ...deploymentRoutes,
];

export interface RestOptions {
  readonly world: World;
  readonly tokens: Tokens;
  readonly announce: Announce;
  /** Records a violation of GitHub's description. */
  readonly violated: (what: string) => void;
}

/** The REST API. Checks each request and answer against GitHub's own description. */
export function restApi(options: RestOptions): Router {
  const router = express.Router();
  router.use(underPresentName(options.world));
  for (const route of routes) {
    const operation = describeOperation(route.method, route.template);
    if (operation === undefined) throw new Error(`GitHub has no ${route.method} ${route.template}`);
    router[route.method](expressPath(route.template, operation), serve(route, operation, options));
  }
  router.use((request, response) => {
    options.violated(`${request.method} ${request.path}: not served by this sandbox`);
    send(response, { status: 404, body: errorBody(404, "Not Found") });
  });
  return router;
}

/**
 * Serves repositories by id as by name, and leads there from the old name of one that was renamed:
 * https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects
 */
function underPresentName(world: World): RequestHandler {
  return (request, response, next) => {
    const [, id, rest = ""] = /^\/repositories\/(\d+)(\/.*|\?.*)?$/.exec(request.url) ?? [];
    const known = [...world.repositories.values()].find((one) => String(one.id) === id);
    if (known !== undefined) request.url = `/repos/${known.fullName}${rest}`;
    else if (id !== undefined) {
      response.status(404).json(errorBody(404, "Not Found"));
      return;
    }
    const [, name = "", more = ""] = /^\/repos\/([^/?]+\/[^/?]+)(.*)$/.exec(request.url) ?? [];
    const renamed = world.renamedFrom(name);
    if (renamed === undefined) next();
    else {
      const location = `${world.apiUrl}/repositories/${renamed.id}${more}`;
      const status = request.method === "GET" ? 301 : 307;
      response.status(status).set("location", location).json({ message: "Moved Permanently", url: location });
    }
  };
}

function serve(route: Route, operation: Operation, options: RestOptions): RequestHandler {
  const { world, violated } = options;
  const name = `${route.method.toUpperCase()} ${route.template}`;
  return async (request, response) => {
    const body: unknown = request.body;
    for (const problem of operation.unknownInRequest(request.query, body)) violated(`${name}: ${problem}`);
    let answer: Answer;
    try {
      const call = admit(route, request, options);
      const wrong = operation.wrongInRequest(request.query, body);
      for (const problem of wrong) violated(`${name}: request ${problem}`);
      if (wrong.length > 0) throw new ApiError(422, `Invalid request.\n\n${wrong.join("\n")}`);
      answer = await route.handle(call);
    } catch (error) {
      if (!(error instanceof ApiError)) violated(`${name}: ${String(error)}`);
      answer = refusal(error);
    }
    const wrong = operation.wrongInAnswer(answer.status, answer.body);
    for (const problem of wrong) violated(`${name}: answer ${answer.status} ${problem}`);
    if (wrong.length > 0) answer = { status: 500, body: errorBody(500, "The sandbox's answer was not GitHub's") };
    response.set("X-GitHub-Request-Id", `SAND:${world.newId().toString(16)}`);
    send(response, answer);
  };
}

/** Checks the caller, the repository and the caller's permission. */
function admit(route: Route, request: Request, { world, tokens, announce }: RestOptions): Call {
  const caller = tokens.caller(request.headers.authorization);
  const token = tokenFor(route, caller);
  const params: Record<string, string> = {};
  for (const [key, value] of Object.entries(request.params)) {
    params[key] = Array.isArray(value) ? value.join("/") : value;
  }
  const call = {
    world,
    tokens,
    announce,
    params,
    query: request.query as JsonObject,
    body: isObject(request.body) ? request.body : {},
    url: new URL(request.originalUrl, world.url),
    token,
  };
  if (!route.template.startsWith("/repos/")) return { ...call, repository: noRepository };
  const repository = world.repositories.get(`${params.owner ?? ""}/${params.repo ?? ""}`);
  if (repository === undefined) throw notFound();
  if (token !== undefined) admitToRepository(route, call, repository);
  return { ...call, repository };
}

function admitToRepository(route: Route, { token }: Pick<Call, "token">, repository: Repository): void {
  if (token === undefined) return;
  if (!permits(token, repository, "metadata", "read")) throw notFound();
  const needs = route.needs ?? [["metadata", "read"]];
  if (!needs.some(([permission, level]) => permits(token, repository, permission, level))) {
    throw new ApiError(403, "Resource not accessible by integration");
  }
}

function tokenFor(route: Route, caller: Caller): Call["token"] {
  if (route.caller === "anyone") return undefined;
  if (caller.kind === "refused") throw new ApiError(401, caller.message);
  if (route.caller === "app") {
    if (caller.kind === "app") return undefined;
    throw new ApiError(401, "A JSON web token could not be decoded");
  }
  if (caller.kind === "app") throw new ApiError(401, "Bad credentials");
  return caller.token;
}

/** Placeholder for calls whose path names no repository. */
const noRepository = { fullName: "", installed: false } as Repository;

function refusal(error: unknown): Answer {
  if (!(error instanceof ApiError)) return { status: 500, body: errorBody(500, String(error)) };
  const body = errorBody(error.status, error.message);
  return { status: error.status, body: error.errors === undefined ? body : { ...body, errors: error.errors } };
}

export function errorBody(status: number, message: string): JsonObject {
  return { message, documentation_url: "https://docs.github.com/rest", status: String(status) };
}

function send(response: Response, { status, headers, body }: Answer): void {
  const reset = Math.floor(Date.now() / 1000) + 3600;
  response.status(status).set({
    "X-RateLimit-Limit": "5000",
    "X-RateLimit-Remaining": "4999",
    "X-RateLimit-Reset": String(reset),
    "X-GitHub-Media-Type": "github.v3; format=json",
    ...headers,
  });
  if (body === undefined) response.end();
  else response.json(body);
}

function expressPath(template: string, operation: Operation): string {
  return template.replace(
    /\{(\w+)\}/g,
    (_all, name: string) => `${operation.multiSegment.has(name) ? "*" : ":"}${name}`,
  );
}
