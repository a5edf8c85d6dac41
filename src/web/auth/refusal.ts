/** Why a login is refused. Foreign texts in it are untrusted and already shortened. */
export type LoginRefusal =
  | { readonly reason: "not-in-organization"; readonly allowed: readonly string[] }
  | { readonly reason: "not-in-group"; readonly what: "team" | "group"; readonly allowed: readonly string[] }
  /** The provider could not say whether the person is a member; `hint` says what to check. */
  | { readonly reason: "not-verified"; readonly title: string; readonly what: string; readonly hint: string }
  /** The provider refused the person's own token. */
  | { readonly reason: "token-rejected"; readonly title: string }
  | { readonly reason: "invalid-redirect"; readonly title: string; readonly callbackUrl: string }
  | { readonly reason: "no-base-url" }
  | { readonly reason: "discovery-failed"; readonly issuer: string; readonly problem: string }
  | { readonly reason: "no-email"; readonly claim: string }
  | { readonly reason: "email-not-verified" }
  | { readonly reason: "wrong-domain"; readonly allowed: readonly string[] }
  | { readonly reason: "inactive"; readonly title: string }
  /** The callback belongs to no login that this browser started here in the last minutes. */
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

interface RefusalText {
  readonly status: number;
  /** What happened, in one sentence. */
  readonly sentence: string;
  /** What to do next, and who can do it. */
  readonly next: string;
}

const ADMIN = "the operator of this service";

/** Several sentences are fixed by the specification: change no letter of them. */
export function refusalText(refusal: LoginRefusal): RefusalText {
  switch (refusal.reason) {
    case "not-in-organization":
      return text(
        403,
        "User not in allowed organization",
        `Only members of ${either(refusal.allowed)} may log in. Ask an owner of the organization to invite you, and accept the invitation. If you are already a member, the organization may have to approve this application in its third-party access settings.`,
      );
    case "not-in-group":
      return text(
        403,
        "User not a member of allowed groups",
        `Only members of the ${refusal.what} ${either(refusal.allowed)} may log in. Ask one of its owners or maintainers to add you. If the ${refusal.what} hides its members from this application, svc cannot see that you are in it.`,
      );
    case "not-verified":
      return text(
        502,
        `Could not verify ${refusal.what}`,
        `${refusal.title} gave no clear answer, so you were not logged in. ${refusal.hint} Then sign in again.`,
      );
    case "token-rejected":
      return text(
        502,
        "Could not verify who you are",
        `${refusal.title} refused access to your account. It may be blocked there, or the access of this application was revoked. Then sign in again.`,
      );
    case "invalid-redirect":
      return text(
        502,
        "Invalid redirect URI",
        `${refusal.title} does not know the callback address of this service. Ask ${ADMIN} to register exactly ${refusal.callbackUrl} there, or to correct server.base_url.`,
      );
    case "no-base-url":
      return text(
        500,
        "This service does not know its own address",
        `Ask ${ADMIN} to set server.base_url; every callback address begins with it.`,
      );
    case "discovery-failed":
      return text(
        502,
        "OIDC discovery failed",
        `The metadata of the identity provider at ${refusal.issuer} could not be used: ${refusal.problem}. Try again in a minute. If that does not help, ask ${ADMIN} to check auth.oidc.issuer_url and the network.`,
      );
    case "no-email":
      return text(
        403,
        "The identity provider did not return an e-mail address",
        `Its answer has no claim \`${refusal.claim}\`. Check that your account there has an e-mail address. If it has, ask ${ADMIN} to check auth.oidc.email_claim and auth.oidc.scopes.`,
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
        "This sign-in was not started here, was already used or took longer than 10 minutes",
        `Start again from the sign-in page${refusal.address === undefined ? "" : ` of ${refusal.address}`}. If this happens every time, your browser may block cookies or use another address of this service.`,
      );
    case "cancelled":
      return text(403, `You did not give access at ${refusal.title}`, "Sign in again and grant the access there.");
    case "provider-error":
      return text(
        502,
        `${refusal.title} refused the sign-in`,
        `It said: ${refusal.code}${refusal.description === "" ? "" : ` (${refusal.description})`}. Try again. If that does not help, show this to ${ADMIN}.`,
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
        "It was already used or took too long. Sign in again.",
      );
    case "bad-answer":
      return text(
        502,
        `The answer of ${refusal.title} could not be trusted`,
        `${refusal.problem} You were not logged in. Sign in again. If that does not help, ask ${ADMIN} to look at the log.`,
      );
    case "unreachable":
      return text(
        502,
        `${refusal.title} could not be reached`,
        `Try again in a minute. If that does not help, ask ${ADMIN} to check ${refusal.key} and the network.`,
      );
    case "wrong-password":
      return text(
        401,
        "Wrong username or password",
        `Check both. The users are listed in auth.basic of the configuration.`,
      );
    case "bad-request":
      return text(400, refusal.problem, "Send `username` and `password`, as JSON or as a form.");
    case "plain-http":
      return text(400, "This sign-in used plain http, but the session cookie needs HTTPS", refusal.cure);
    case "too-many":
      return text(
        429,
        "Too many sign-ins from your address",
        `Wait ${refusal.seconds} seconds and try again. Sign-ins of others behind the same address count as well.`,
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
