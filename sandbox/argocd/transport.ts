import { gzipSync } from "node:zlib";
import express, { type Express, type Request, type Response } from "express";
import type { FaultSwitch } from "../faults.js";
import { ApiError, codes } from "./api-error.js";
import type { Exchange, Watch } from "./exchanges.js";
import { answerGrpc, isGrpcWeb } from "./grpc/grpc-web.js";
import { readBody, readQuery } from "./read-request.js";
import { accountRoutes } from "./routes/account-routes.js";
import { applicationSetRoutes } from "./routes/application-set-routes.js";
import { NeverAnswered, type Backend, type Handler } from "./routes/call.js";
import { deleteRoutes } from "./routes/delete-route.js";
import { operationRoutes } from "./routes/operation-routes.js";
import { projectRoutes } from "./routes/project-routes.js";
import { readRoutes } from "./routes/read-routes.js";
import { renderRoutes } from "./routes/render-routes.js";
import { writeRoutes } from "./routes/write-routes.js";
import { endpoints, type Endpoint, type EndpointId } from "./schemas/endpoints.js";

const handlers: Readonly<Record<EndpointId, Handler>> = {
  ...accountRoutes,
  ...readRoutes,
  ...renderRoutes,
  ...writeRoutes,
  ...deleteRoutes,
  ...operationRoutes,
  ...applicationSetRoutes,
  ...projectRoutes,
};

/** Endpoints that need no login; an invalid token counts as none. */
const open = new Set<EndpointId>(["health", "version", "user", "settings"]);

/** Argo CD compresses every answer. It costs both sides more than the answer itself if that is small. */
const COMPRESSED_FROM_BYTES = 2048;

interface Routed {
  readonly endpoint: Endpoint & { readonly id: EndpointId };
  readonly parameters: Record<string, string>;
}

/** The HTTP layer: content types, routing, tokens, errors, compression and the record of exchanges. */
export function application(backend: Backend, faults: FaultSwitch, watch: Watch): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use(express.raw({ type: () => true, limit: "100mb" }));
  app.use((request, _response, next) => {
    watch.noteRequest(
      request.method,
      urlOf(request).pathname,
      urlOf(request).searchParams,
      rawBody(request),
      backend.world.accounts.find(request.get("authorization") ?? `Bearer ${request.get("token") ?? ""}`)?.name,
    );
    next();
  });
  app.use(faults.middleware());
  app.use(async (request, response) => {
    const path = urlOf(request).pathname;
    if (isGrpcWeb(request)) {
      const answer = await answerGrpc(backend, request, response, path);
      watch.noteGrpc({ path, requestBody: rawBody(request), answer });
      return;
    }
    const [status, answer, endpoint] = await answerTo(backend, request, path, watch);
    if (status === 0) return;
    const exchange: Exchange = {
      method: request.method,
      path,
      query: urlOf(request).search.slice(1),
      requestHeaders: request.headers,
      requestBody: rawBody(request).toString(),
      status,
      answer,
    };
    watch.noteAnswer(exchange, endpoint);
    send(request, response, status, answer);
  });
  return app;
}

/** Status and body; status 0 means no answer at all. */
async function answerTo(
  backend: Backend,
  request: Request,
  path: string,
  watch: Watch,
): Promise<[number, unknown, Endpoint | undefined]> {
  const place = `${request.method} ${path}`;
  if (request.method !== "GET" && request.get("content-type")?.toLowerCase() !== "application/json") {
    watch.report(`content type ${request.get("content-type") ?? "missing"} of ${place}`);
    return [415, "Invalid content type\n", undefined];
  }
  const routed = route(request.method, path);
  if (typeof routed === "number") {
    watch.report(`${routed === 404 ? "unknown path" : "wrong method"}: ${place}`);
    return [routed, routed === 404 ? "Not Found\n" : "Method Not Allowed\n", undefined];
  }
  const { endpoint, parameters } = routed;
  try {
    const query = readQuery(endpoint, urlOf(request).searchParams, watch.report);
    const body = readBody(endpoint, rawBody(request), watch.report);
    const { accounts } = backend.world;
    const authorization = request.get("authorization");
    const account = open.has(endpoint.id) ? accounts.find(authorization) : accounts.authenticate(authorization);
    if (request.method === "GET") await backend.controller.revertForeignChanges();
    return [200, await handlers[endpoint.id]({ ...backend, account, parameters, query, body }), endpoint];
  } catch (error) {
    if (error instanceof NeverAnswered) return [0, undefined, endpoint];
    const failure =
      error instanceof ApiError
        ? error
        : new ApiError(codes.internal, error instanceof Error ? (error.stack ?? error.message) : String(error));
    return [failure.status, failure.body, endpoint];
  }
}

/** The endpoint, or the status for a path without one. */
function route(method: string, path: string): Routed | 404 | 405 {
  const known = endpoints.flatMap((endpoint) => {
    const parameters = matchPath(endpoint.path, path);
    return parameters === undefined ? [] : [{ endpoint, parameters }];
  });
  const chosen = known.filter(({ endpoint }) => endpoint.method === method);
  // A fixed path such as `generate` takes precedence over a parameter in the same place.
  const fixed = chosen.find(({ endpoint }) => !endpoint.path.includes("{"));
  return fixed ?? chosen[0] ?? (known.length > 0 ? 405 : 404);
}

/** Made once: each request is compared with all of them. */
const patterns = new Map<string, RegExp>(
  endpoints.map(({ path }) => [path, new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`)]),
);

function matchPath(template: string, path: string): Record<string, string> | undefined {
  const match = patterns.get(template)?.exec(path) ?? null;
  if (match === null) return undefined;
  return Object.fromEntries(
    Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
  );
}

function urlOf(request: Request): URL {
  return new URL(request.originalUrl, "http://sandbox.invalid");
}

function rawBody(request: Request): Buffer {
  const body: unknown = request.body;
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

function send(request: Request, response: Response, status: number, answer: unknown): void {
  const isText = typeof answer === "string";
  const bytes = Buffer.from(isText ? answer : JSON.stringify(answer));
  response.status(status);
  // Express would add a character set.
  response.setHeader("Content-Type", isText ? "text/plain; charset=utf-8" : "application/json");
  if (bytes.length < COMPRESSED_FROM_BYTES || !/\bgzip\b/.test(request.get("accept-encoding") ?? "")) {
    response.end(bytes);
    return;
  }
  response.set({ "Content-Encoding": "gzip", Vary: "Accept-Encoding" });
  response.end(gzipSync(bytes));
}
