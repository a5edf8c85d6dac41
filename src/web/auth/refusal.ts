import type { Request, Response } from "express";
import { SERVICE } from "../../names.js";
import { prefersJson } from "../prefers-json.js";

/** Why somebody is not logged in. Texts in it that come from outside are untrusted and already cut. */
export type LoginRefusal =
  | { readonly reason: "not-in-organization"; readonly allowed: readonly string[] }
  | { readonly reason: "not-in-group"; readonly what: "team" | "group"; readonly allowed: readonly string[] }
  /** The provider could not say whether somebody belongs; `hint` says what to look at. */
  | { readonly reason: "not-verified"; readonly title: string; readonly what: string; readonly hint: string }
  | { readonly reason: "invalid-redirect"; readonly title: string; readonly callbackUrl: string }
  | { readonly reason: "no-base-url" }
  | { readonly reason: "discovery-failed"; readonly issuer: string; readonly problem: string }
  | { readonly reason: "no-email"; readonly claim: string }
  | { readonly reason: "email-not-verified" }
  | { readonly reason: "wrong-domain"; readonly allowed: readonly string[] }
  | { readonly reason: "inactive"; readonly title: string }
  /** The callback names no login that this browser began here in the last minutes. */
  | { readonly reason: "unknown-attempt"; readonly address: string | undefined }
  | { readonly reason: "cancelled"; readonly title: string }
  | { readonly reason: "provider-error"; readonly title: string; readonly code: string; readonly description: string }
  | { readonly reason: "client-refused"; readonly title: string; readonly keys: string }
  | { readonly reason: "code-refused"; readonly title: string }
  | { readonly reason: "bad-answer"; readonly title: string; readonly problem: string }
  | { readonly reason: "unreachable"; readonly title: string; readonly key: string }
  | { readonly reason: "wrong-password" }
  | { readonly reason: "bad-request"; readonly problem: string }
  | { readonly reason: "plain-http"; readonly cure: string }
  | { readonly reason: "too-many"; readonly seconds: number };

/** How a refusal is told. */
export interface RefusalText {
  readonly status: number;
  /** One sentence of what happened. */
  readonly sentence: string;
  /** What to do now, and who can. */
  readonly next: string;
}

const ADMIN = "whoever runs this service";

/** The sentences of the specification stand in it word for word. */
export function refusalText(refusal: LoginRefusal): RefusalText {
  switch (refusal.reason) {
    case "not-in-organization":
      return text(
        403,
        "User not in allowed organization",
        `Only members of ${either(refusal.allowed)} may log in. Ask an owner of the organization for a membership and accept the invitation. If you are a member already, the organization may have to approve this application: look at its third-party access settings.`,
      );
    case "not-in-group":
      return text(
        403,
        "User not a member of allowed groups",
        `Only members of the ${refusal.what} ${either(refusal.allowed)} may log in. Ask one of its owners or maintainers to add you. A ${refusal.what} that hides its members from this application counts as one that you are not in.`,
      );
    case "not-verified":
      return text(
        502,
        `Could not verify ${refusal.what}`,
        `${refusal.title} did not say yes or no, so nobody is let in. ${refusal.hint} Then sign in again.`,
      );
    case "invalid-redirect":
      return text(
        502,
        "Invalid redirect URI",
        `${refusal.title} does not know the address that it should lead back to. Ask ${ADMIN} to register exactly ${refusal.callbackUrl} as the callback address there, or to correct server.base_url.`,
      );
    case "no-base-url":
      return text(
        500,
        "This service does not know its own address",
        `Ask ${ADMIN} to set server.base_url; the callback addresses of the providers begin with it.`,
      );
    case "discovery-failed":
      return text(
        502,
        "OIDC discovery failed",
        `The description of the identity provider at ${refusal.issuer} could not be used: ${refusal.problem}. Try again in a minute. If it stays, ask ${ADMIN} to check auth.oidc.issuer_url and the network.`,
      );
    case "no-email":
      return text(
        403,
        "The identity provider did not return an e-mail address",
        `Its answer has no claim \`${refusal.claim}\`. Check that your account there has an address; else ask ${ADMIN} to check auth.oidc.email_claim and auth.oidc.scopes.`,
      );
    case "email-not-verified":
      return text(
        403,
        "Your e-mail address is not verified",
        "Confirm the address with your identity provider, then sign in again.",
      );
    case "wrong-domain":
      return text(
        403,
        "Your e-mail address is not in an allowed domain",
        `Only addresses at ${either(refusal.allowed)} may log in. Sign in with another account, or ask ${ADMIN} to add your domain to auth.oidc.allowed_domains.`,
      );
    case "inactive":
      return text(
        403,
        `Your ${refusal.title} account is not active`,
        `Confirm its e-mail address, or ask an administrator of ${refusal.title} to unblock it. Then sign in again.`,
      );
    case "unknown-attempt":
      return text(
        400,
        "This sign-in was not begun here, was used already or took longer than 10 minutes",
        `Begin again from the sign-in page${refusal.address === undefined ? "" : ` of ${refusal.address}`}. If it happens every time, your browser may refuse cookies, or open this service under another address.`,
      );
    case "cancelled":
      return text(403, `You did not give access at ${refusal.title}`, "Sign in again and confirm the access there.");
    case "provider-error":
      return text(
        502,
        `${refusal.title} refused the sign-in`,
        `It said: ${refusal.code}${refusal.description === "" ? "" : ` (${refusal.description})`}. Try again; if it stays, show this to ${ADMIN}.`,
      );
    case "client-refused":
      return text(
        502,
        `${refusal.title} does not accept this application`,
        `Ask ${ADMIN} to check ${refusal.keys}, and that the application still exists there.`,
      );
    case "code-refused":
      return text(
        400,
        `${refusal.title} no longer accepts this sign-in`,
        "It was used already or took too long. Begin again.",
      );
    case "bad-answer":
      return text(
        502,
        `The answer of ${refusal.title} could not be trusted`,
        `${refusal.problem} You were not logged in. Begin again; if it stays, the log of this service has the details.`,
      );
    case "unreachable":
      return text(
        502,
        `${refusal.title} could not be reached`,
        `Try again in a minute. If it stays, ask ${ADMIN} to check ${refusal.key} and the network.`,
      );
    case "wrong-password":
      return text(401, "Wrong username or password", `Check both; the users stand in auth.basic of the configuration.`);
    case "bad-request":
      return text(400, refusal.problem, "Send `username` and `password`, as JSON or as a form.");
    case "plain-http":
      return text(400, "This sign-in came over plain http, and the session's cookie needs HTTPS", refusal.cure);
    case "too-many":
      return text(
        429,
        "Too many sign-ins from your address",
        `Wait ${refusal.seconds} seconds and try again. Others behind the same address count as well.`,
      );
  }
}

function text(status: number, sentence: string, next: string): RefusalText {
  return { status, sentence, next };
}

function either(names: readonly string[]): string {
  const shown = names.slice(0, 5);
  const more = names.length > shown.length ? [`${names.length - shown.length} more`] : [];
  return [...shown, ...more].join(", ").replace(/, ([^,]*)$/, " or $1");
}

/** Answers with the refusal's status: a page that says what to do, or `{"error"}` to a program. */
export function answerRefusal(request: Request, response: Response, refusal: LoginRefusal, returnTo = "/"): void {
  const { status, sentence, next } = refusalText(refusal);
  response.status(status);
  if (refusal.reason === "too-many") response.set("retry-after", String(refusal.seconds));
  if (prefersJson(request)) {
    response.json({ error: `${sentence}. ${next}` });
    return;
  }
  response.render("sign-in-failed", { service: SERVICE, sentence, next, again: loginPath(returnTo) });
}

/** The sign-in page, with the page to come back to. */
export function loginPath(returnTo: string): string {
  return returnTo === "/" ? "/login" : `/login?return_to=${encodeURIComponent(returnTo)}`;
}
