import { z } from "zod";
import type { OidcSection } from "../../config/server-config.js";
import type { LoginFacts } from "./login-provider.js";
import { shortText } from "./provider-refusal.js";
import type { LoginRefusal } from "./refusal.js";

/** What an OpenID Connect provider says about a person, in its two places. */
export interface Claims {
  readonly idToken: Readonly<Record<string, unknown>>;
  readonly userInfo: Readonly<Record<string, unknown>>;
}

type Rules = Pick<
  OidcSection,
  "usernameClaim" | "emailClaim" | "groupsClaim" | "allowedDomains" | "requireVerifiedEmail"
>;

/** An address with exactly one `@`, so that the domain that is compared is the one that was verified. */
const address = z.string().regex(/^[^\s@]+@[^\s@]+$/);

/** The person, or the refusal. An e-mail address is always required. */
export function factsOfClaims({ idToken, userInfo }: Claims, rules: Rules): LoginFacts | LoginRefusal {
  const all = { ...userInfo, ...idToken };
  const email = address.safeParse(all[rules.emailClaim]).data;
  if (email === undefined) return { reason: "no-email", claim: rules.emailClaim };
  const verified = [idToken.email_verified, userInfo.email_verified].map(asFlag);
  if (verified.includes(false) || (rules.requireVerifiedEmail && !verified.includes(true))) {
    return { reason: "email-not-verified" };
  }
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  if (rules.allowedDomains.length > 0 && !rules.allowedDomains.includes(domain)) {
    return { reason: "wrong-domain", allowed: rules.allowedDomains };
  }
  const named = z.string().min(1).safeParse(all[rules.usernameClaim]).data;
  return {
    provider: "oidc",
    subject: String(all.sub),
    username: shortText(named ?? email, 100),
    email,
    groups: rules.groupsClaim === undefined ? [] : groupsIn(all[rules.groupsClaim]),
    unproven: new Map(),
  };
}

/** Some providers send the flag as text. Anything but a clear yes counts as no. */
function asFlag(claim: unknown): boolean | undefined {
  if (claim === undefined || claim === null) return undefined;
  return claim === true || claim === "true";
}

/** A list of names, or a single name. */
function groupsIn(claim: unknown): readonly string[] {
  return z.union([z.array(z.string()), z.string().transform((one) => [one])]).safeParse(claim).data ?? [];
}
