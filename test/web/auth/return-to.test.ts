import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { safeReturnTo } from "../../../src/web/auth/return-to.js";

describe("where a login leads", () => {
  test.each([
    ["/", "/"],
    ["/users", "/users"],
    ["/changes/hostb/group%2Fsub/project/7?app=web#diff", "/changes/hostb/group%2Fsub/project/7?app=web#diff"],
    ["/activity?q=a//b", "/activity?q=a//b"],
    ["/a b", "/a%20b"],
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
        },
      ),
      { numRuns: 2000 },
    );
  });
});
