/** A login that is refused, in words: what happened, what to do next, and who can do it. */
export interface LoginRefusal {
  readonly reason: keyof typeof TEXTS;
  readonly status: number;
  readonly sentence: string;
  readonly next: string;
}

/** Foreign texts are untrusted and already shortened. */
export function refuse<Reason extends keyof typeof TEXTS>(
  reason: Reason,
  ...given: Parameters<(typeof TEXTS)[Reason]>
): LoginRefusal {
  const write = TEXTS[reason] as (...given: Parameters<(typeof TEXTS)[Reason]>) => Omit<LoginRefusal, "reason">;
  return { reason, ...write(...given) };
}

export function isRefusal(value: object): value is LoginRefusal {
  return "reason" in value;
}

const ADMIN = "the operator of this service";

/** Several sentences are fixed by the specification: change no letter of them. */
const TEXTS = {
  "not-in-organization": (allowed: readonly string[]) => ({
    status: 403,
    sentence: "User not in allowed organization",
    next: `Only members of ${either(allowed)} may log in. Ask an owner of the organization to invite you, and accept the invitation. If you are already a member, the organization may have to approve this application in its third-party access settings.`,
  }),
  "not-in-group": (what: string, allowed: readonly string[]) => ({
    status: 403,
    sentence: "User not a member of allowed groups",
    next: `Only members of the ${what} ${either(allowed)} may log in. Ask one of its owners or maintainers to add you. If the ${what} hides its members from this application, svc cannot see that you are in it.`,
  }),
  /** The provider could not say `what`; `hint` says what to check. */
  "not-verified": (title: string, what: string, hint: string) => ({
    status: 502,
    sentence: `Could not verify ${what}`,
    next: `${title} gave no clear answer, so you were not logged in. ${hint} Then sign in again.`,
  }),
  /** The provider refused the person's own token. */
  "token-rejected": (title: string) => ({
    status: 502,
    sentence: "Could not verify who you are",
    next: `${title} refused access to your account. It may be blocked there, or the access of this application was revoked. Have that undone there, then sign in again.`,
  }),
  "invalid-redirect": (title: string, callbackUrl: string) => ({
    status: 502,
    sentence: "Invalid redirect URI",
    next: `${title} does not know the callback address of this service. Ask ${ADMIN} to register exactly ${callbackUrl} there, or to correct server.base_url.`,
  }),
  "no-base-url": () => ({
    status: 500,
    sentence: "This service does not know its own address",
    next: `Ask ${ADMIN} to set server.base_url; every callback address begins with it.`,
  }),
  "discovery-failed": (issuer: string, problem: string) => ({
    status: 502,
    sentence: "OIDC discovery failed",
    next: `The metadata of the identity provider at ${issuer} could not be used: ${problem}. Try again in a minute. If that does not help, ask ${ADMIN} to check auth.oidc.issuer_url and the network.`,
  }),
  "no-email": (claim: string) => ({
    status: 403,
    sentence: "The identity provider did not return an e-mail address",
    next: `Its answer has no claim \`${claim}\`. Check that your account there has an e-mail address. If it has, ask ${ADMIN} to check auth.oidc.email_claim and auth.oidc.scopes.`,
  }),
  "email-not-verified": () => ({
    status: 403,
    sentence: "Your e-mail address is not verified",
    next: "Confirm the address with your identity provider, then sign in again.",
  }),
  "wrong-domain": (allowed: readonly string[]) => ({
    status: 403,
    sentence: "Your e-mail address is not in an allowed domain",
    next: `Only addresses at ${either(allowed)} may log in. Sign in with another account, or ask ${ADMIN} to add your domain to auth.oidc.allowed_domains.`,
  }),
  inactive: (title: string) => ({
    status: 403,
    sentence: `Your ${title} account is not active`,
    next: `Confirm its e-mail address, or ask an administrator of ${title} to unblock it. Then sign in again.`,
  }),
  /** The callback belongs to no login that this browser started here in the last minutes. */
  "unknown-attempt": (address: string) => ({
    status: 400,
    sentence: "This sign-in was not started here, was already used or took longer than 10 minutes",
    next: `Start again from the sign-in page of ${address}. If this happens every time, your browser may block cookies or use another address of this service.`,
  }),
  cancelled: (title: string) => ({
    status: 403,
    sentence: `You did not give access at ${title}`,
    next: "Sign in again and grant the access there.",
  }),
  "provider-error": (title: string, code: string, description: string) => ({
    status: 502,
    sentence: `${title} refused the sign-in`,
    next: `It said: ${code}${description === "" ? "" : ` (${description})`}. Try again. If that does not help, show this to ${ADMIN}.`,
  }),
  "client-refused": (title: string, keys: string) => ({
    status: 502,
    sentence: `${title} does not accept this application`,
    next: `Ask ${ADMIN} to check ${keys}, and that the application still exists there.`,
  }),
  "code-refused": (title: string) => ({
    status: 400,
    sentence: `${title} no longer accepts this sign-in`,
    next: "It was already used or took too long. Sign in again.",
  }),
  "bad-answer": (title: string, problem: string) => ({
    status: 502,
    sentence: `The answer of ${title} could not be trusted`,
    next: `${problem} You were not logged in. Sign in again. If that does not help, ask ${ADMIN} to look at the log.`,
  }),
  unreachable: (title: string, key: string) => ({
    status: 502,
    sentence: `${title} could not be reached`,
    next: `Try again in a minute. If that does not help, ask ${ADMIN} to check ${key} and the network.`,
  }),
  "wrong-password": () => ({
    status: 401,
    sentence: "Wrong username or password",
    next: `Check both. The users are listed in auth.basic of the configuration.`,
  }),
  "bad-request": (problem: string) => ({
    status: 400,
    sentence: problem,
    next: "Send `username` and `password`, as JSON or as a form.",
  }),
  "plain-http": (cure: string) => ({
    status: 400,
    sentence: "This sign-in used plain http, but the session cookie needs HTTPS",
    next: cure,
  }),
  "too-many": (seconds: number) => ({
    status: 429,
    sentence: "Too many sign-ins from your address",
    next: `Wait ${seconds} seconds and try again. Sign-ins of others behind the same address count as well.`,
  }),
};

function either(names: readonly string[]): string {
  const shown = names.slice(0, 5);
  const more = names.length > shown.length ? [`${names.length - shown.length} more`] : [];
  return [...shown, ...more].join(", ").replace(/, ([^,]*)$/, " or $1");
}
