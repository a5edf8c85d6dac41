import type { IncomingHttpHeaders } from "node:http";
import type { z } from "zod";
import { apiErrorBody, type Endpoint } from "./schemas/endpoints.js";

/** One request with its answer, as seen on the wire. */
export interface Exchange {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly query: string;
  readonly requestHeaders: IncomingHttpHeaders;
  /** Empty without a body. */
  readonly requestBody: string;
  readonly status: number;
  /** JSON, or text if the server sent text. */
  readonly answer: unknown;
}

/** One call over gRPC-Web. Its bytes are no text, so it is no `Exchange`. */
export interface GrpcExchange {
  readonly path: string;
  /** As sent, with the frame. */
  readonly requestBody: Buffer;
  /** Empty if it was refused. */
  readonly answer: Buffer;
}

/** A request as received, even if it then met a fault. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  /** Values by name, in order. */
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly body: unknown;
  /** Undefined without a valid token. */
  readonly account: string | undefined;
}

/** Answers of one endpoint that are remembered. */
const MOST_PROPER = 100;

/**
 * Records requests and checks both sides against the endpoints' schemas. The real server ignores a misspelt name; here
 * it is a violation.
 */
export class Watch {
  readonly requests: SeenRequest[] = [];
  readonly violations: string[] = [];
  readonly #listeners = new Set<(exchange: Exchange) => void>();
  readonly #grpcListeners = new Set<(exchange: GrpcExchange) => void>();
  /** Answers of each endpoint that met its schema: most requests get one that was given before. */
  readonly #proper = new Map<z.ZodType, Set<string>>();

  readonly report = (violation: string): void => {
    this.violations.push(violation);
  };

  onExchange(listener: (exchange: Exchange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onGrpc(listener: (exchange: GrpcExchange) => void): () => void {
    this.#grpcListeners.add(listener);
    return () => this.#grpcListeners.delete(listener);
  }

  noteGrpc(exchange: GrpcExchange): void {
    for (const listener of this.#grpcListeners) listener(exchange);
  }

  noteRequest(method: string, path: string, query: URLSearchParams, body: Buffer, account: string | undefined): void {
    const values = Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]));
    this.requests.push({ method, path, query: values, body: parsed(body), account });
  }

  noteAnswer(exchange: Exchange, endpoint: Endpoint | undefined): void {
    if (endpoint !== undefined) {
      this.#check(exchange.status === 200 ? endpoint.answer : apiErrorBody, exchange.answer, endpoint);
      if (exchange.status === 500 && isServersOwnFault(exchange.answer)) {
        this.report(`the sandbox failed: ${exchange.method} ${exchange.path}`);
      }
    }
    for (const listener of this.#listeners) listener(exchange);
  }

  #check(schema: z.ZodType, answer: unknown, { method, path }: Endpoint): void {
    const proper = this.#proper.get(schema) ?? new Set();
    this.#proper.set(schema, proper);
    const text = JSON.stringify(answer);
    if (proper.has(text)) return;
    // A demonstration runs for days.
    if (proper.size === MOST_PROPER) proper.clear();
    const checked = schema.safeParse(JSON.parse(text));
    if (checked.success) proper.add(text);
    for (const issue of checked.error?.issues ?? []) {
      this.report(`answer of ${method} ${path}: ${issue.path.join(".")}: ${issue.message}`);
    }
  }
}

/** Argo CD never sends a stack trace, so one comes from the sandbox. */
function isServersOwnFault(answer: unknown): boolean {
  return / at .*\.[jt]s:\d+/.test(JSON.stringify(answer));
}

function parsed(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return body.toString();
  }
}
