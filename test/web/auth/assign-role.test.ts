import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { RoleAssignment } from "../../../src/config/server/server.js";
import { assignRole, matchesWildcard } from "../../../src/web/auth/assign-role.js";
import type { LoginFacts } from "../../../src/web/auth/login-provider.js";
import { groupsAskedFor } from "../../../src/web/auth/oauth-login.js";

type Facts = Pick<LoginFacts, "provider" | "email" | "groups" | "unproven">;

const nobody: Facts = { provider: "oidc", email: undefined, groups: [], unproven: new Map() };

function roleOf(assignment: Partial<RoleAssignment>, facts: Partial<Facts>): unknown {
  const rule: RoleAssignment = { pattern: "", role: "admin", ...assignment };
  return assignRole([rule], "user", { ...nobody, ...facts });
}

const admin = { kind: "role", role: "admin" };
const user = { kind: "role", role: "user" };

describe("one assignment", () => {
  test.each<[Partial<RoleAssignment>, Partial<Facts>, boolean]>([
    // e-mail addresses
    [{ pattern: "ana@example.com" }, { email: "ana@example.com" }, true],
    [{ pattern: "Ana@Example.com" }, { email: "aNA@example.COM" }, true],
    [{ pattern: "ana@example.com" }, { email: "ana@example.com.evil.org" }, false],
    [{ pattern: "ana@example.com" }, { email: "banana@example.com" }, false],
    [{ pattern: "ana@example.com" }, {}, false],
    [{ pattern: "ana@example.com", provider: "hosta" }, { email: "ana@example.com" }, false],
    [{ pattern: "ana@example.com", provider: "hosta" }, { provider: "hosta", email: "ana@example.com" }, true],
    [{ pattern: "*@example.com" }, { email: "bo@example.com" }, true],
    [{ pattern: "*@example.com" }, { email: "bo@sub.example.com" }, false],
    [{ pattern: "*@example.com" }, { email: "bo@evilexample.com" }, false],
    [{ pattern: "*@example.com" }, { email: "bo@example.com@evil.org" }, false],
    [{ pattern: "*@*.example.com" }, { email: "bo@a.b.example.com" }, true],
    [{ pattern: "*@*.example.com" }, { email: "bo@example.com" }, false],
    [{ pattern: "ops-*@example.com" }, { email: "ops-bo@example.com" }, true],
    [{ pattern: "ops-*@example.com" }, { email: "dev-bo@example.com" }, false],
    [{ pattern: "*@example.com" }, { email: "@example.com" }, false],
    // teams of GitHub
    [{ pattern: "@acme/ops", provider: "hosta" }, { provider: "hosta", groups: ["acme/ops"] }, true],
    [{ pattern: "@acme/ops" }, { provider: "hosta", groups: ["Acme/Ops"] }, true],
    [{ pattern: "@acme/*", provider: "hosta" }, { provider: "hosta", groups: ["acme/dev"] }, true],
    [{ pattern: "@acme/ops", provider: "hosta" }, { provider: "hosta", groups: ["acme/dev"] }, false],
    [{ pattern: "@acme/ops", provider: "hosta" }, { provider: "oidc", groups: ["acme/ops", "@acme/ops"] }, false],
    [{ pattern: "@acme/ops" }, { provider: "hostb", groups: ["acme/ops"] }, false],
    // groups of GitLab
    [{ pattern: "acme/ops", provider: "hostb" }, { provider: "hostb", groups: ["acme/ops"] }, true],
    [{ pattern: "Acme/Ops", provider: "hostb" }, { provider: "hostb", groups: ["acme/ops"] }, true],
    [{ pattern: "@acme/ops", provider: "hostb" }, { provider: "hostb", groups: ["acme/ops"] }, true],
    [{ pattern: "acme/*", provider: "hostb" }, { provider: "hostb", groups: ["acme/a/b"] }, true],
    [{ pattern: "acme", provider: "hostb" }, { provider: "hostb", groups: ["acme/ops"] }, false],
    // groups of an OpenID Connect provider
    [{ pattern: "ops", provider: "oidc" }, { groups: ["dev", "ops"] }, true],
    [{ pattern: "ops", provider: "oidc" }, { groups: ["Ops"] }, false],
    [{ pattern: "/team/*", provider: "oidc" }, { groups: ["/team/ops"] }, true],
    [{ pattern: "@ops", provider: "oidc" }, { groups: ["@ops"] }, true],
    // Google's groups have addresses as names.
    [{ pattern: "ops@example.com", provider: "oidc" }, { groups: ["ops@example.com"] }, true],
    [{ pattern: "ops@example.com", provider: "oidc" }, { email: "ops@example.com" }, true],
    [{ pattern: "ops@example.com" }, { groups: ["ops@example.com"] }, false],
    [{ pattern: "*@example.com", provider: "oidc" }, { groups: ["ops@example.com"] }, false],
    [{ pattern: "*@example.com", provider: "oidc" }, { groups: ["*@example.com"] }, false],
    [{ pattern: "ops", provider: "oidc" }, { provider: "hosta", groups: ["ops"] }, false],
    [{ pattern: "ops" }, { groups: ["ops"] }, false],
    // everyone
    [{ pattern: "*" }, {}, true],
    [{ pattern: "*", provider: "hosta" }, { provider: "hosta" }, true],
    [{ pattern: "*", provider: "hosta" }, { provider: "hostb" }, false],
  ])("%j for %j: %s", (assignment, facts, matches) => {
    expect(roleOf(assignment, facts)).toEqual(matches ? admin : user);
  });
});

describe("several assignments", () => {
  const rules: readonly RoleAssignment[] = [
    { pattern: "bo@example.com", role: "user" },
    { pattern: "@acme/ops", provider: "hosta", role: "admin" },
    { pattern: "*@example.com", role: "admin" },
  ];

  test("the first match wins; without one, the default applies", () => {
    const bo: Facts = { ...nobody, provider: "hosta", email: "bo@example.com", groups: ["acme/ops"] };
    expect(assignRole(rules, "user", bo)).toEqual(user);
    expect(assignRole([...rules].reverse(), "user", bo)).toEqual(admin);
    expect(assignRole(rules, "admin", nobody)).toEqual(admin);
    expect(assignRole(rules, "user", nobody)).toEqual(user);
  });

  test("an undecided one stops the decision, unless an earlier one matched", () => {
    const unproven = new Map([["@acme/ops", "try again"]]);
    const facts: Facts = { ...nobody, provider: "hosta", unproven };
    const stopped = { kind: "unproven", pattern: "@acme/ops", hint: "try again" };
    expect(assignRole(rules, "user", { ...facts, email: "ana@example.com" })).toEqual(stopped);
    expect(assignRole(rules, "user", { ...facts, email: "bo@example.com" })).toEqual(user);
  });

  test("only the teams that a rule names are requested", () => {
    expect(groupsAskedFor(rules, "hosta")).toEqual([{ pattern: "@acme/ops", name: "acme/ops" }]);
    expect(groupsAskedFor(rules, "hostb")).toEqual([]);
  });
});

const word = fc.string({ unit: fc.constantFrom("a", "b", "@", "/", ".", "*"), maxLength: 8 });
const rule = fc.record({
  pattern: word,
  provider: fc.constantFrom("hosta" as const, "hostb" as const, "oidc" as const, undefined),
  role: fc.constantFrom("admin" as const, "user" as const),
});
const anyone = fc.record({
  provider: fc.constantFrom("hosta" as const, "hostb" as const, "oidc" as const),
  email: fc.option(word, { nil: undefined }),
  groups: fc.array(word, { maxLength: 3 }),
  unproven: fc.constant(new Map<string, string>()),
});

describe("always", () => {
  test("the decision is that of the first rule that matches alone", () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), anyone, (rules, facts) => {
        const alone = rules.find((one) => {
          const [yes, no] = (["admin", "user"] as const).map((fallback) => assignRole([one], fallback, facts));
          return JSON.stringify(yes) === JSON.stringify(no);
        });
        expect(assignRole(rules, "user", facts)).toEqual({ kind: "role", role: alone?.role ?? "user" });
      }),
    );
  });

  test("without a verified address no rule for addresses matters", () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), anyone, (rules, facts) => {
        const others = rules.filter(({ pattern }) => !/^[^@].*@/.test(pattern));
        // Where the provider is named, a group may be called like an address.
        const groups = facts.groups.filter((name) => !name.includes("@"));
        const person = { ...facts, groups, email: undefined };
        expect(assignRole(rules, "user", person)).toEqual(assignRole(others, "user", person));
      }),
    );
  });

  test("a wildcard matches what the regular expression of the same meaning matches", () => {
    fc.assert(
      fc.property(word, word, (pattern, name) => {
        const source = pattern.split("*").map((part) => part.replace(/[.]/g, "\\."));
        expect(matchesWildcard(pattern, name)).toBe(new RegExp(`^${source.join(".*")}$`, "s").test(name));
      }),
    );
  });
});
