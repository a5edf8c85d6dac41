import type { Request, RequestHandler } from "express";
import type { Forge } from "./forge.js";

/** Records the requests to a code host. */
export class RequestLog {
  readonly requests: Forge["requests"][number][] = [];
  readonly #listeners = new Set<() => void>();

  /** Express middleware; must come first. */
  middleware(authorizationOf: (request: Request) => string | undefined): RequestHandler {
    return (request, response, next) => {
      this.requests.push({ method: request.method, path: request.path, authorization: authorizationOf(request) });
      response.on("close", () => {
        for (const listener of this.#listeners) listener();
      });
      next();
    };
  }

  subscribe(onAnswer: () => void): () => void {
    this.#listeners.add(onAnswer);
    return () => this.#listeners.delete(onAnswer);
  }
}
