import type { RoleAssignment } from "../../config/server/server.js";
import type { LoginProvider } from "../../core/model/account.js";
import type { Role } from "../../core/model/settings.js";
import type { LoginFacts } from "./login-provider.js";

type PatternMeaning =
  | { readonly kind: "everyone" }
  /** `group`: also the whole name of a group, as Google's groups are called by their address. */
  | { readonly kind: "email"; readonly group: string | undefined }
  /** `name` as the provider spells teams and groups: `<org>/<team-slug>`, a full path, or OIDC's own word. */
  | { readonly kind: "group"; readonly provider: Exclude<LoginProvider, "basic">; readonly name: string }
  /** A group without a provider. Matches nobody; a warning says so. */
  | { readonly kind: "nothing" };

/** The role, or the first undecided pattern: the provider could not say whether it matches. */
type AssignedRole =
  | { readonly kind: "role"; readonly role: Role }
  | { readonly kind: "unproven"; readonly pattern: string; readonly hint: string };

/** The first matching assignment wins; without one, the default role applies. Only verified e-mail addresses count. */
export function assignRole(
  assignments: readonly RoleAssignment[],
  defaultRole: Role,
  facts: Pick<LoginFacts, "provider" | "email" | "groups" | "unproven">,
): AssignedRole {
  for (const { pattern, provider, role } of assignments) {
    if (provider !== undefined && provider !== facts.provider) continue;
    if (matches(meaningOf({ pattern, provider }), pattern, facts)) return { kind: "role", role };
    const hint = facts.unproven.get(pattern);
    if (hint !== undefined) return { kind: "unproven", pattern, hint };
  }
  return { kind: "role", role: defaultRole };
}

/** `*` is everyone, `@<org>/<team>` a team on GitHub, another text with `@` an e-mail address, the rest the provider's groups. */
export function meaningOf({ pattern, provider }: Pick<RoleAssignment, "pattern" | "provider">): PatternMeaning {
  if (pattern === "*") return { kind: "everyone" };
  if (pattern.startsWith("@") && provider !== "oidc") {
    return { kind: "group", provider: provider ?? "hosta", name: pattern.slice(1) };
  }
  if (pattern.includes("@") && !pattern.startsWith("@")) {
    return { kind: "email", group: provider === "oidc" && !pattern.includes("*") ? pattern : undefined };
  }
  return provider === undefined ? { kind: "nothing" } : { kind: "group", provider, name: pattern };
}

/** Whether a name matches a pattern in which `*` stands for any characters. Linear time per star. */
export function matchesWildcard(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

function matches(
  meaning: PatternMeaning,
  pattern: string,
  { provider, email, groups }: Pick<LoginFacts, "provider" | "email" | "groups">,
): boolean {
  switch (meaning.kind) {
    case "everyone":
      return true;
    case "email":
      if (meaning.group !== undefined && groups.includes(meaning.group)) return true;
      return email !== undefined && matchesEmail(pattern.toLowerCase(), email.toLowerCase());
    case "group": {
      if (meaning.provider !== provider) return false;
      // Both hosts ignore the case of team and group names; OIDC groups are exact.
      const spelled = (name: string) => (provider === "oidc" ? name : name.toLowerCase());
      return groups.some((group) => matchesWildcard(spelled(meaning.name), spelled(group)));
    }
    case "nothing":
      return false;
  }
}

/** Matches the name and the domain separately, so that no star spans the last `@`. */
function matchesEmail(pattern: string, email: string): boolean {
  const [patternAt, at] = [pattern.lastIndexOf("@"), email.lastIndexOf("@")];
  if (at <= 0) return false;
  return (
    matchesWildcard(pattern.slice(0, patternAt), email.slice(0, at)) &&
    matchesWildcard(pattern.slice(patternAt + 1), email.slice(at + 1))
  );
}
