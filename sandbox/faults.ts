import { setTimeout as delay } from "node:timers/promises";
import type { NextFunction, Request, RequestHandler, Response } from "express";

/** How a sandbox server misbehaves. */
export type Fault =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "latency"; readonly ms: number }
  /** The answer has these headers, whatever it had. */
  | { readonly kind: "headers"; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: "drop" }
  | { readonly kind: "hang" }
  | { readonly kind: "redirect"; readonly to: string }
  /** The request is carried out, but the connection breaks before the answer. */
  | { readonly kind: "lost-answer" }
  /** Status 200 with truncated JSON. */
  | { readonly kind: "half-json" }
  /** `act` runs first, then the request is carried out. */
  | { readonly kind: "meanwhile"; readonly act: (path: string) => Promise<void> | void };

export interface FaultRule {
  readonly method?: string;
  /** Matched against the decoded path without the query. */
  readonly path?: RegExp;
  /** How many requests it affects. Default: all until it is removed. */
  readonly times?: number;
  readonly fault: Fault;
}

/** Misbehaviour on demand. Rules are tried in the order of their addition; the first match applies. */
export class FaultSwitch {
  readonly #rules: { rule: FaultRule; left: number }[] = [];
  readonly #hanging = new Set<Response>();

  /** Adds a rule; the returned function removes it. */
  add(rule: FaultRule): () => void {
    const entry = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#rules.push(entry);
    return () => {
      const at = this.#rules.indexOf(entry);
      if (at >= 0) this.#rules.splice(at, 1);
    };
  }

  clear(): void {
    this.#rules.length = 0;
    for (const response of this.#hanging) response.destroy();
    this.#hanging.clear();
  }

  /** Express middleware; must come before all routes. */
  middleware(): RequestHandler {
    return (request, response, next) => {
      const entry = this.#rules.find(({ rule, left }) => left > 0 && matches(rule, request));
      if (entry === undefined) {
        next();
        return;
      }
      entry.left -= 1;
      void this.#act(entry.rule.fault, response, next);
    };
  }

  async #act(fault: Fault, response: Response, next: NextFunction): Promise<void> {
    switch (fault.kind) {
      case "status":
        response.status(fault.status).set(fault.headers ?? {});
        response.send(fault.body ?? "");
        return;
      case "headers": {
        const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => Response;
        response.writeHead = (...args: unknown[]) => {
          response.set(fault.headers);
          return writeHead(...args);
        };
        next();
        return;
      }
      case "latency":
        await delay(fault.ms);
        next();
        return;
      case "drop":
        response.socket?.destroy();
        return;
      case "lost-answer":
        response.end = () => {
          response.socket?.destroy();
          return response;
        };
        next();
        return;
      case "hang":
        this.#hanging.add(response);
        return;
      case "redirect":
        response.redirect(302, fault.to);
        return;
      case "meanwhile":
        await fault.act(decodeURIComponent(response.req.path));
        next();
        return;
      case "half-json":
        response.status(200).type("application/json").send('{"items": [{"metadata": {"na');
        return;
    }
  }
}

function matches(rule: FaultRule, request: Request): boolean {
  if (rule.method !== undefined && rule.method !== request.method) return false;
  return rule.path === undefined || rule.path.test(decodeURIComponent(request.path));
}
