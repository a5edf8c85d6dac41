import { fileURLToPath } from "node:url";
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { HOST_IDS, HOST_TITLES } from "../src/names.js";
import { securityHeaders } from "../src/web/browser-guards.js";
import type { Director } from "./director.js";
import { LiveFeed } from "./live-feed.js";
import { PEOPLE, SCENES } from "./scenes.js";
import type { Stage } from "./stage.js";

const PAGE_FOLDER = fileURLToPath(new URL("./page", import.meta.url));
const MAX_COMMENT = 10_000;

const onHost = z.object({ host: z.enum(HOST_IDS) });
const onRequest = onHost.extend({ number: z.int().positive() });
const opening = onHost.extend({ scene: z.enum(SCENES) });
const comment = onRequest.extend({ by: z.enum(PEOPLE), body: z.string() });

/** Serves the page, its live data and the actions of its buttons. */
export function pageApp(director: Director): { readonly app: Express; stop(): void } {
  const feed = new LiveFeed(() => director.snapshot());
  director.watch(() => feed.wake());
  const app = express();
  app.disable("x-powered-by");
  app.use(securityHeaders());
  app.get("/", async (_request, response, next) => {
    await signIn(director, response);
    next();
  });
  app.use(express.static(PAGE_FOLDER, { cacheControl: false }));
  app.get("/api/state", async (_request, response) => {
    response.set("cache-control", "no-store").json(await director.snapshot());
  });
  app.get("/api/events", (_request, response) => feed.add(response));
  app.post("/api/*act", onlyFromThisPage, express.json({ limit: "64kb" }));
  app.post("/api/comment", async (request, response) => {
    const { host, number, by, body } = comment.parse(request.body);
    if (body.trim() === "") throw new Refusal(400, "Write a comment first, for example svc plan.");
    if (body.length > MAX_COMMENT) throw new Refusal(400, `A comment may have at most ${MAX_COMMENT} characters.`);
    const stage = knowing(director, host, number);
    await stage.act(host, (story) => story.comment(number, by, body));
    accepted(response);
  });
  app.post("/api/approve", async (request, response) => {
    const { host, number } = onRequest.parse(request.body);
    await stageForOpen(director, host, number).act(host, (story) => story.approve(number));
    accepted(response);
  });
  app.post("/api/push", async (request, response) => {
    const { host, number } = onRequest.parse(request.body);
    await stageForOpen(director, host, number).act(host, (story) => story.push(number));
    accepted(response);
  });
  app.post("/api/open", async (request, response) => {
    const { host, scene } = opening.parse(request.body);
    let number: number | undefined;
    await present(director).act(host, async (story) => (number = await story.open(scene)));
    response.status(202).json({ number });
  });
  app.post("/api/reset", async (_request, response) => {
    await director.reset();
    await signIn(director, response);
    accepted(response);
  });
  app.use((_request, response) => {
    response.status(404).json({ error: "Not found. The demo is at /." });
  });
  app.use(onError);
  return { app, stop: () => feed.stop() };
}

/** An error answer for the visitor. */
class Refusal extends Error {
  override readonly name = "Refusal";

  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** So that links to svc's own pages need no password. */
async function signIn({ stage }: Director, response: Response): Promise<void> {
  // Without it the links lead to the login; the demo itself works.
  const cookie = await stage?.visitorCookie().catch(() => undefined);
  if (cookie !== undefined) response.append("set-cookie", cookie);
}

function present({ stage }: Director): Stage {
  if (stage === undefined) throw new Refusal(503, "The demo is starting over. Try again in a few seconds.");
  return stage;
}

function knowing(director: Director, host: (typeof HOST_IDS)[number], number: number): Stage {
  const stage = present(director);
  if (!stage.stories[host].has(number)) {
    throw new Refusal(404, `There is no number ${number} on this ${HOST_TITLES[host]}. Reload the page.`);
  }
  return stage;
}

function stageForOpen(director: Director, host: (typeof HOST_IDS)[number], number: number): Stage {
  const stage = knowing(director, host, number);
  const { forge, shop } = stage.stories[host];
  const { state } = forge.changeRequest(shop.repository, number);
  if (state === "open") return stage;
  throw new Refusal(409, `Number ${number} is ${state}. Open another one to continue.`);
}

function accepted(response: Response): void {
  response.status(202).json({ status: "accepted" });
}

/** Keeps other sites in the visitor's browser from pressing buttons: they cannot send JSON or hide their origin. */
const onlyFromThisPage: RequestHandler = (request, _response, next) => {
  const site = request.get("sec-fetch-site");
  if (site !== undefined && site !== "same-origin") throw new Refusal(403, "Only the demo's own page may do this.");
  if (request.is("application/json") === false) throw new Refusal(415, "Send JSON.");
  next();
};

const onError: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  if (error instanceof Refusal) {
    response.status(error.status).json({ error: error.message });
  } else if (error instanceof z.ZodError) {
    response.status(400).json({ error: z.prettifyError(error) });
  } else {
    const status = typeof error === "object" && error !== null && "status" in error ? error.status : undefined;
    const known = typeof status === "number" && status >= 400 && status < 500 ? status : 500;
    const message = error instanceof Error ? error.message : "unknown";
    response.status(known).json({ error: `That did not work: ${message}` });
  }
};
