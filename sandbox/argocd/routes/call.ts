import type { Account } from "../accounts.js";
import { ApiError, codes } from "../api-error.js";
import type { Controller } from "../controller/controller.js";
import type { Operations } from "../controller/operations.js";
import type { Query, Report } from "../read-request.js";
import type { RenderGate } from "../render-gate.js";
import type { World } from "../world.js";

export interface Backend {
  readonly world: World;
  readonly controller: Controller;
  readonly operations: Operations;
  readonly gate: RenderGate;
  readonly report: Report;
}

/** One parsed request. */
export interface Call extends Backend {
  /** Undefined if the caller is not logged in. */
  readonly account: Account | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: unknown;
}

export type Handler = (call: Call) => unknown;

/** Thrown for a request that the real server would never answer. */
export class NeverAnswered extends Error {}

export function accountOf({ account }: Call): Account {
  if (account === undefined) throw new ApiError(codes.unauthenticated, "no session information");
  return account;
}

export function text({ query }: Call, name: string): string | undefined {
  const value = query[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function flag({ query }: Call, name: string, absent: boolean): boolean {
  const value = query[name];
  return typeof value === "boolean" ? value : absent;
}

export function texts({ query }: Call, name: string): string[] {
  const value = query[name];
  return Array.isArray(value) ? value.map(String) : [];
}

export function integers({ query }: Call, name: string): number[] {
  return texts({ query } as Call, name).map(Number);
}
