import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from "express";
import type { AppManifest } from "../config/server/app-manifest.js";
import { isLoopback } from "../config/server/server-parts.js";
import { GITHUB } from "../hosts/github/words.js";
import { SERVICE } from "../names.js";
import { comesFromElsewhere, securityHeaders } from "../web/browser-guards.js";
import { renderViews, VIEWS_FOLDER } from "../web/server.js";
import { SetupRefused } from "./setup-parts.js";

interface RegistrationSite {
  readonly attempt: (code: string) => CodeAttempt;
  /** Root of GitHub's web pages. */
  readonly web: string;
  readonly organization: string | undefined;
  readonly manifest: (redirectUrl: string) => AppManifest;
  /** Exchanges GitHub's code and stores the secrets. @throws {SetupRefused} */
  readonly register: (code: string) => Promise<{ readonly slug: string; readonly installUrl: string }>;
  /** Called once the answer is sent, or the connection is lost. */
  readonly onAnswered: () => void;
}

const COOKIE = `${SERVICE}_setup`;
const PATHS = { code: "/", register: "/register", registered: "/registered" } as const;

/** Serves the registration pages to the one browser in which the code was typed. */
export function registrationSite(site: RegistrationSite): Express {
  const session = randomBytes(32).toString("base64url");
  const state = randomBytes(32).toString("base64url");
  let progress: "open" | "busy" | "done" = "open";

  const ownBrowser: RequestHandler = (request, response, next) => {
    if (sameText(cookieIn(request), session)) next();
    else {
      refuse(
        response,
        403,
        "This browser has not given the code. Open the address that the terminal shows, and type it.",
      );
    }
  };

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  renderViews(app);
  Object.assign(app.locals, { service: SERVICE, changeRequests: `${GITHUB.changeRequest}s` });
  app.use(onlyThisMachine, securityHeaders());
  app.use("/assets", express.static(`${VIEWS_FOLDER}/assets`, { index: false, redirect: false, maxAge: "1h" }));
  app.use((_request, response, next) => {
    response.set("cache-control", "no-store");
    next();
  });

  app.get(PATHS.code, (request, response) => {
    if (sameText(cookieIn(request), session)) response.redirect(303, PATHS.register);
    else response.render("setup-code", { wrong: undefined });
  });

  app.post(PATHS.code, express.urlencoded({ extended: false, limit: "1kb" }), (request, response) => {
    if (comesFromElsewhere(request, undefined)) {
      refuse(response, 403, "A page of another site sent this request.");
      return;
    }
    const body: unknown = request.body;
    const given = typeof body === "object" && body !== null && "code" in body ? body.code : "";
    response.once("close", site.onAnswered);
    switch (site.attempt(typeof given === "string" ? given : "")) {
      case "accepted":
        response.cookie(COOKIE, session, { httpOnly: true, sameSite: "lax", path: "/" });
        response.redirect(303, PATHS.register);
        return;
      case "wrong":
        response
          .status(403)
          .render("setup-code", { wrong: "That is not the code. Look at the terminal, and type it again." });
        return;
      case "used":
        refuse(
          response,
          403,
          `The code was used already, and it works only once. Stop ${SERVICE} setup, and start it again.`,
        );
        return;
      case "expired":
        refuse(response, 403, `The code is older than an hour. Start ${SERVICE} setup again.`);
        return;
      case "locked":
        refuse(response, 403, `Too many wrong codes, so setup has ended. Start ${SERVICE} setup again.`);
        return;
    }
  });

  app.get(PATHS.register, securityHeaders([new URL(site.web).origin]), ownBrowser, (request, response) => {
    const { web, organization } = site;
    const owner = organization === undefined ? "" : `/organizations/${encodeURIComponent(organization)}`;
    const manifest = site.manifest(`${request.protocol}://${request.get("host") ?? ""}${PATHS.registered}`);
    response.render("setup-register", {
      action: `${web}${owner}/settings/apps/new?state=${state}`,
      manifest: JSON.stringify(manifest),
      web,
      owner: organization,
      name: manifest.name,
      hook: manifest.hook_attributes?.url,
      permissions: Object.entries(manifest.default_permissions),
      events: manifest.default_events ?? [],
    });
  });

  app.get(PATHS.registered, ownBrowser, async (request, response) => {
    const { code, state: given } = request.query;
    if (typeof given !== "string" || !sameText(given, state)) {
      refuse(
        response,
        403,
        "GitHub was not asked by this setup, so nothing was registered. Begin with the first page.",
      );
      return;
    }
    if (typeof code !== "string" || !/^[A-Za-z0-9_-]{1,255}$/.test(code)) {
      refuse(response, 400, "GitHub sent no code that setup understands. Begin with the first page.");
      return;
    }
    if (progress !== "open") {
      refuse(
        response,
        409,
        "This App is registered already, or is being registered at the moment. Look at the terminal.",
      );
      return;
    }
    progress = "busy";
    response.once("close", site.onAnswered);
    try {
      const registered = await site.register(code);
      progress = "done";
      response.set("connection", "close").render("setup-done", { ...registered });
    } catch (error) {
      if (!(error instanceof SetupRefused)) throw error;
      progress = "open";
      refuse(response, 502, error.message);
    }
  });

  app.use((_request, response) =>
    refuse(response, 404, "There is nothing at this address. Begin with the first page."),
  );
  app.use(onError);
  return app;
}

/** Answers only to loopback names: names of other sites may resolve to this machine (DNS rebinding). */
const onlyThisMachine: RequestHandler = (request, response, next) => {
  const host = request.get("host") ?? "";
  if (URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname)) next();
  else response.status(421).type("text").send("Open this page as http://127.0.0.1 with its port.\n");
};

function cookieIn(request: Request): string {
  const pairs = (request.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1) ?? "";
}

function refuse(response: Response, status: number, message: string): void {
  response.status(status).render("setup-refused", { message, first: PATHS.code });
}

const onError: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  const status = typeof error === "object" && error !== null && "status" in error ? Number(error.status) : 500;
  refuse(response, status >= 400 && status < 500 ? status : 500, "The request cannot be answered.");
};

/** Omits letters that look alike, as Crockford's Base32 does. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 8;
const MOST_WRONG = 5;

type CodeAttempt = "accepted" | "wrong" | "used" | "expired" | "locked";

/** A code of 40 random bits that a person copies from the terminal. Works once, expires, and locks after five wrong attempts. */
export class OneTimeCode {
  /** For example `7KQF-9M2X`. */
  readonly text: string;
  #wrong = 0;
  #used = false;

  /** @param until Epoch milliseconds. */
  constructor(private readonly until: number) {
    const letters = Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");
    this.text = `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
  }

  attempt(given: string, now: number): CodeAttempt {
    if (now >= this.until) return "expired";
    if (this.#used) return "used";
    if (this.#wrong >= MOST_WRONG) return "locked";
    if (sameText(plain(given), plain(this.text))) {
      this.#used = true;
      return "accepted";
    }
    this.#wrong += 1;
    return this.#wrong >= MOST_WRONG ? "locked" : "wrong";
  }
}

/** Accepts lower case, spaces and dashes. */
function plain(text: string): string {
  return text.toUpperCase().replace(/[^0-9A-Z]/g, "");
}

/** Compares in constant time. */
function sameText(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => createHash("sha256").update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}
