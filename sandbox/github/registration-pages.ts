import express, { type Request, type Response, type Router } from "express";
import { isObject } from "./examples.js";
import { wrongInManifest } from "./registrations.js";
import type { World } from "./world.js";

/**
 * The pages on which a signed-in person creates an App from a manifest. The form of GitHub's own page sends the manifest
 * back, with a name that the person may have changed.
 */
export function registrationPages(world: World): Router {
  const router = express.Router();
  const form = express.urlencoded({ extended: false, limit: "1mb" });
  const paths = ["/settings/apps/new", "/organizations/:organization/settings/apps/new"];
  router.post(paths, form, (request, response) => ask(request, response));
  router.post("/sandbox/apps", form, (request, response) => create(world, request, response));
  return router;
}

function ask(request: Request, response: Response): void {
  const { manifest, state, organization } = fieldsOf(request);
  const wrong = wrongInManifest(parsed(manifest));
  if (wrong.length > 0) {
    page(response, 422, `<h1>Invalid GitHub App configuration</h1><p>${escaped(wrong.join(". "))}</p>`);
    return;
  }
  const create = `Create GitHub App for ${escaped(organization ?? "you")}`;
  const fields = Object.entries({ manifest, state })
    .map(([name, value = ""]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
    .join("");
  page(
    response,
    200,
    `<h1>Create GitHub App</h1><form method="post" action="/sandbox/apps">${fields}<button>${create}</button></form>`,
  );
}

function create(world: World, request: Request, response: Response): void {
  const { manifest, state = "" } = fieldsOf(request);
  const read = parsed(manifest);
  if (!isObject(read) || typeof read.redirect_url !== "string") {
    page(response, 422, "<h1>Invalid GitHub App configuration</h1>");
    return;
  }
  const code = world.registrations.add(read, Date.now());
  const back = new URL(read.redirect_url);
  back.searchParams.set("code", code);
  if (state !== "") back.searchParams.set("state", state);
  response.redirect(302, back.href);
}

function fieldsOf(request: Request): Readonly<Record<string, string | undefined>> {
  const body: unknown = request.body;
  const state = typeof request.query.state === "string" ? { state: request.query.state } : {};
  return {
    ...state,
    ...(request.params as Record<string, string>),
    ...(isObject(body) ? (body as Record<string, string>) : {}),
  };
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}

function page(response: Response, status: number, body: string): void {
  response.status(status).type("html").send(`<!doctype html><html lang="en"><title>GitHub</title>${body}</html>`);
}
