import type { Request } from "express";

/** Whether to answer with JSON (to a program) rather than with a page (to a browser). */
export function prefersJson(request: Request): boolean {
  if (request.path.startsWith("/api/") || isJsonBody(request)) return true;
  return request.accepts(["html", "json"]) === "json";
}

function isJsonBody(request: Request): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(request.headers["content-type"] ?? "");
}
