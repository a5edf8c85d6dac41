import express, { type Request, type RequestHandler } from "express";
import type { World } from "../world.js";

/** GitHub's words, https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  incorrect_client_credentials: "The client_id and/or client_secret passed are incorrect.",
  redirect_uri_mismatch: "The redirect_uri MUST match the registered callback URL for this application.",
  bad_verification_code: "The code passed is incorrect or expired.",
};

type Answer = Readonly<Record<string, string>>;

/** `POST /login/oauth/access_token`. Errors have status 200; the answer is JSON only on request. */
export function accessToken(world: World): RequestHandler[] {
  return [
    express.urlencoded({ extended: false }),
    express.json(),
    (request, response) => {
      const answer = exchange(world, request);
      if (request.accepts(["application/x-www-form-urlencoded", "application/json"]) === "application/json") {
        response.json(answer);
      } else {
        response.type("application/x-www-form-urlencoded").send(new URLSearchParams(answer).toString());
      }
    },
  ];
}

function exchange({ login }: World, request: Request): Answer {
  const given = (request.body ?? {}) as Readonly<Record<string, string | undefined>>;
  const app = login.app(given.client_id ?? "");
  if (app === undefined || app.clientSecret !== given.client_secret) return refusal("incorrect_client_credentials");
  const grant = login.redeem(given.code ?? "", app, given.redirect_uri, given.code_verifier);
  if (typeof grant === "string") return refusal(grant);
  return { access_token: login.issueToken(grant), scope: [...grant.scopes].sort().join(","), token_type: "bearer" };
}

function refusal(error: string): Answer {
  return {
    error,
    error_description: DESCRIPTIONS[error] ?? "",
    error_uri: "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors",
  };
}
