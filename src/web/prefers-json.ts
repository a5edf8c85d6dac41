import type { Request } from "express";

/** Whether a program asks, so that it is answered with JSON; a browser is answered with a page. */
export function prefersJson(request: Request): boolean {
  if (request.path.startsWith("/api/") || isJsonBody(request)) return true;
  return request.accepts(["html", "json"]) === "json";
}

/** Whether the request carries JSON. */
export function isJsonBody(request: Request): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(request.headers["content-type"] ?? "");
}

/** Whether a form of a page was sent, with or without fields. */
export function isForm(request: Request): boolean {
  return /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(request.headers["content-type"] ?? "");
}
