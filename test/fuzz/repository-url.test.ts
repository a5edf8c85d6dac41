import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { canonicalRepository, isOwnRepository, redactUserInfo } from "../../src/core/detect/tree/repository-url.js";
import { fuzz } from "./fuzz.js";
import { hostileText } from "./hostile-text.js";

const host = fc.constantFrom(
  "git.test",
  "GIT.test",
  "git.test.",
  "evil.test",
  "git.test.evil.test",
  "[::1]",
  "xn--git",
  "ssh.git.test",
);
const segment = fc.constantFrom(
  "acme",
  "deploy",
  "Deploy",
  "deploy.git",
  "..",
  ".",
  "%2e%2e",
  "%2F",
  "a b",
  "~",
  "",
  "1",
  ".git",
  "acme%00",
);
const path = fc.array(segment, { maxLength: 5 }).map((parts) => parts.join("/"));
const user = fc.constantFrom("", "git@", "bot:zqpassword@", "bot:zq/password@", "bot:zq@password@", "evil.test@", ":@");
const port = fc.constantFrom("", ":22", ":443", ":8443", ":0", ":99999", ":x");
const scheme = fc.constantFrom(
  "https://",
  "http://",
  "ssh://",
  "git+ssh://",
  "HTTPS://",
  "git://",
  "oci://",
  "file://",
  "",
  "https:/",
  "javascript:",
);
const url = fc.oneof(
  fc.tuple(scheme, user, host, port, fc.constantFrom("/", ":", "//", ""), path).map((parts) => parts.join("")),
  fc.tuple(scheme, user, host, fc.constant("/"), hostileText(6)).map((parts) => parts.join("")),
  hostileText(10),
);

const isSame = (own: string, other: string) => isOwnRepository({ repositoryUrls: [own] }, other);

test("a repository is no other one, whatever its form, and no password is printed", () => {
  fuzz("repository-url", fc.tuple(url, url), ([left, right]) => {
    const canonical = canonicalRepository(left);
    expect(isSame(left, right)).toBe(isSame(right, left));
    if (canonical !== undefined) {
      expect(canonical).toBe(canonical.toLowerCase());
      expect(canonical).not.toMatch(/\.git$|\/$/);
      expect(hostOf(canonical)).not.toMatch(/@|zqpassword/);
      // Parts of the host's name decide: the same path elsewhere is another repository.
      for (const elsewhere of ["evil.example", "git.test.evil.example"]) {
        expect(isSame(left, `https://${elsewhere}/${canonical.slice(canonical.indexOf("/") + 1)}`)).toBe(false);
      }
    }
    const other = canonicalRepository(right);
    if (isSame(left, right)) expect(hostOf(canonical ?? "")).toBe(hostOf(other ?? ""));
    else if (canonical !== undefined && canonical === other) expect([left, right].some(hasPort)).toBe(true);
    // No scheme, no URL: what stands in front of such a text is not known to be a user.
    if (/^https?:\/\/bot:zqpassword@/i.test(left)) expect(redactUserInfo(left)).not.toContain("zqpassword");
    if (/^[a-z+]+:\/\//i.test(left)) expect(redactUserInfo(left).length).toBeLessThanOrEqual(left.length);
  });
});

function hostOf(canonical: string): string {
  return canonical.split("/")[0] ?? "";
}

function hasPort(text: string): boolean {
  return /:\d+/.test(text);
}
