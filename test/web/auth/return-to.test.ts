import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { safeReturnTo } from "../../../src/web/auth/routes.js";

describe("where a login leads", () => {
  test.each([
    ["/", "/"],
    ["/users", "/users"],
    ["/changes/hostb/group%2Fsub/project/7?app=web#diff", "/changes/gitlab/group%2Fsub/project/7?app=web#diff"],
    ["/activity?q=a//b", "/activity?q=a//b"],
    ["/activity?before=1#top", "/activity?before=1#top"],
    ["/%61ctivity", "/activity"],
    ["/status?q=a b", "/status?q=a%20b"],
    ["/changes/hosta/acme/deploy/7?", "/changes/github/acme/deploy/7"],
    ["/changes/github/acme/deploy/7", "/changes/github/acme/deploy/7"],
  ])("%j leads to %j", (wish, page) => {
    expect(safeReturnTo(wish)).toBe(page);
  });

  test.each([
    undefined,
    ["/users"],
    "",
    "users",
    "https://evil.example.org",
    "//evil.example.org",
    "///evil.example.org",
    "/\\evil.example.org",
    "\\\\evil.example.org",
    "/%2Fevil.example.org",
    "/%2f%2fevil.example.org",
    "/%252Fevil.example.org",
    "/%5Cevil.example.org",
    "/a/..//evil.example.org",
    "/\tevil",
    "/\n/evil.example.org",
    "/%0a/evil.example.org",
    "/%09/evil.example.org",
    "/\u2028evil",
    "/%",
    "javascript:alert(1)",
    "/login",
    "/LOGIN?return_to=/x",
    "/auth/hosta/login",
    "/./auth/logout",
    "/%61uth/logout",
    "/%2561uth/logout",
    "/auth%2flogout",
    "/users/../auth/logout",
    "/users/%2e%2e/auth/logout",
    "/users%2f..%2fauth/logout",
    "/.%2e/auth/logout",
    "/auth;/logout",
    "/Users",
    "/users/",
    "/users//",
    "/nothing",
    "/api/v1/locks",
    "/assets/live.js",
    "/webhook/hosta",
    "/health",
    "/metrics",
    "/a b",
    "/activity\\",
    "/activity?q=\\",
    "/\ud800",
    "/changes/hostc/acme/deploy/7",
    "/changes/hosta/acme/deploy/7/live",
    "/changes/hosta/acme/deploy/0",
    "/changes/hosta/../deploy/7",
    "/changes/hosta/%2e%2e/auth/7",
    "/changes/hosta/..%2f../auth/7",
    "/changes/hosta/a%5cb/deploy/7",
    "/changes/hosta/a%2561/deploy/7",
    "/changes/hosta/a%0db/deploy/7",
    "/changes/hosta/%ed%a0%80/deploy/7",
    `/${"a".repeat(2000)}`,
  ])("%j leads to the first page", (wish) => {
    expect(safeReturnTo(wish)).toBe("/");
  });

  test("for any input, a browser stays on this site", () => {
    const piece = fc.constantFrom(
      "/",
      "\\",
      "%2f",
      "%5c",
      "%25",
      "2f",
      "..",
      ".",
      "@",
      ":",
      "?",
      "#",
      "\t",
      "\n",
      "%0d",
      "a.org",
      "http:",
      " ",
      "users",
      "%61uth/logout",
      "changes/hosta/",
      "changes/github/",
      "7",
      "%2e",
    );
    const wish = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(
        fc.oneof(
          wish,
          wish.map((rest) => `/${rest}`),
          fc.webUrl(),
          fc.string(),
        ),
        (text) => {
          const page = safeReturnTo(text);
          expect(new URL(page, "https://svc.example.com").origin).toBe("https://svc.example.com");
          expect(page).toMatch(/^\/(?!\/)/);
          expect(page).not.toMatch(/[\\\p{Cc}]/u);
          expect(safeReturnTo(page)).toBe(page);
          const { pathname } = new URL(page, "https://svc.example.com");
          expect(pathname).toMatch(/^\/(?:applications|activity|users|status|changes\/host[ab]\/[^/]+\/[^/]+\/\d+)?$/);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
