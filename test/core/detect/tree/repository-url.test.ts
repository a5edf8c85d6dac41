import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  canonicalRepository,
  isOwnRepository,
  redactUserInfo,
} from "../../../../src/core/detect/tree/repository-url.js";

const SAME = [
  "git@GITHUB.com:argoproj/test",
  "git@github.com:argoproj/test.git",
  "ssh://git@github.com/argoproj/test.git",
  "ssh://git@ssh.github.com:443/argoproj/test.git",
  "https://github.com/argoproj/test",
  "https://user:tok@github.com/argoproj/test.git",
  "https://github.com:443/ARGOPROJ/Test.git/",
  " http://github.com/argoproj/test ",
  "ssh://git@altssh.github.com:2222/argoproj/test",
  "ssh://git@github.com:argoproj/test.git",
  "git+ssh://git@github.com/argoproj/test",
  "git://github.com:9418/argoproj/test.git",
  "https://www.github.com./argoproj//test.GIT/",
  "https://github.com/argoproj/%74est?tab=readme#top",
  "git@github.com:/argoproj/test",
  "git@github.com:~/argoproj/test",
];

describe("canonicalRepository", () => {
  test.each(SAME)("%s is github.com/argoproj/test", (url) => {
    expect(canonicalRepository(url)).toBe("github.com/argoproj/test");
  });

  test.each([
    ["https://github.com/argoproj/test2", "github.com/argoproj/test2"],
    ["https://github.example.com/argoproj/test", "github.example.com/argoproj/test"],
    ["https://gitlab.com/group/sub/test", "gitlab.com/group/sub/test"],
    ["https://github.com@evil.example/argoproj/test", "evil.example/argoproj/test"],
    ["git@gitlab.com:7999/argoproj/test.git", "gitlab.com/7999/argoproj/test"],
    ["git@gitlab.com:22/test.git", "gitlab.com/22/test"],
    ["ssh://git@gitlab.com:2222/123/test.git", "gitlab.com/123/test"],
    ["https://gitlab.com/2222/argoproj/test", "gitlab.com/2222/argoproj/test"],
    ["https://git.example.com/acme/50%25", "git.example.com/acme/50%"],
    ["https://git.example.com/acme/100%zz", "git.example.com/acme/100%zz"],
  ])("%s is another repository", (url, canonical) => {
    expect(canonicalRepository(url)).toBe(canonical);
  });

  test.each([
    "",
    "  ",
    "oci://registry.example.com/charts/web",
    "/srv/git/deploy.git",
    "github.com/argoproj/test",
    "https://",
    "https://github.com",
    "https://git.example.com:port/acme/deploy",
    "ssh://git@git.example.com:99999/acme/deploy",
    "file:///srv/git/deploy",
  ])("%j is no Git repository", (url) => {
    expect(canonicalRepository(url)).toBeUndefined();
  });

  test("a URL of absurd length is no repository", () => {
    expect(canonicalRepository(`https://git.example.com/${".git".repeat(1000)}`)).toBeUndefined();
  });

  test("stays the same when it is written as a URL again", () => {
    const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._~-]{0,12}$/);
    fc.assert(
      fc.property(fc.domain(), fc.array(name, { minLength: 1, maxLength: 4 }), fc.boolean(), (host, parts, ssh) => {
        const url = ssh ? `git@${host}:${parts.join("/")}` : `https://${host}/${parts.join("/")}`;
        const once = canonicalRepository(url);
        fc.pre(once !== undefined);
        expect(canonicalRepository(`https://${once}`)).toBe(once);
      }),
    );
  });
});

describe("isOwnRepository", () => {
  const isSame = (own: string, url: string) => isOwnRepository({ repositoryUrls: [own] }, url);

  test.each([
    ["git@git.example.com:2222/acme/deploy.git", "https://git.example.com/acme/deploy", false],
    ["git@git.example.com:2222/acme/deploy.git", "ssh://git@git.example.com:2222/acme/deploy.git", false],
    ["git@git.example.com:2222/acme/deploy.git", "https://git.example.com/2222/acme/deploy", true],
    ["git@git.example.com:2222/acme/deploy.git", "https://git.example.com/2223/acme/deploy", false],
    ["https://git.example.com:8443/acme/deploy", "https://git.example.com/acme/deploy", true],
    ["https://git.example.com:8443/acme/deploy", "https://git.example.com:8080/acme/deploy", false],
    ["https://git.example.com:8443/acme/deploy", "ssh://git@git.example.com:2222/acme/deploy", true],
    ["https://github.com/argoproj/test", "https://github.com/argoproj/test2", false],
    ["https://gitlab.com/group/sub/test", "https://gitlab.com/group/test", false],
    ["https://github.com/argoproj/test", "https://github.example.com/argoproj/test", false],
  ])("%s and %s: %s", (left, right, same) => {
    expect(isSame(left, right)).toBe(same);
    expect(isSame(right, left)).toBe(same);
  });

  test("every form of one repository equals every other", () => {
    fc.assert(
      fc.property(fc.constantFrom(...SAME), fc.constantFrom(...SAME), (left, right) => {
        expect(isSame(left, right)).toBe(true);
      }),
    );
  });

  test("a change request's repository is known by any of its URLs", () => {
    const change = {
      repositoryUrls: ["https://git.example.com/acme/deploy.git", "git@ssh-git.example.net:acme/deploy.git"],
    };
    expect(isOwnRepository(change, "ssh://git@ssh-git.example.net/acme/deploy")).toBe(true);
    expect(isOwnRepository(change, "https://git.example.net/acme/deploy")).toBe(false);
  });

  test("a group that is called as the path below which GitLab answers makes no repository another one", () => {
    const urls = (path: string) => ({
      repositoryUrls: [`https://git.example.com/gitlab/${path}.git`, `git@git.example.com:${path}.git`],
    });
    expect(isOwnRepository(urls("gitlab/acme/deploy"), "https://git.example.com/gitlab/acme/deploy")).toBe(false);
    expect(isOwnRepository(urls("acme/deploy"), "git@git.example.com:gitlab/acme/deploy")).toBe(false);
    for (const own of ["http://git.example.com/gitlab/acme/deploy", "ssh://git@git.example.com:2222/acme/deploy"]) {
      expect(isOwnRepository(urls("acme/deploy"), own)).toBe(true);
    }
  });

  test("where the host gives no address of a kind, the others tell", () => {
    const change = { repositoryUrls: ["https://git.example.com/12/deploy.git"] };
    expect(isOwnRepository(change, "git@git.example.com:12/deploy.git")).toBe(true);
    expect(isOwnRepository(change, "ssh://git@git.example.com:12/deploy.git")).toBe(false);
  });
});

describe("redactUserInfo", () => {
  test.each([
    ["https://user:tok@github.com/argoproj/test.git", "https://github.com/argoproj/test.git"],
    ["https://tok@github.com/a/b", "https://github.com/a/b"],
    ["https://user:p/a?ss@github.com/a/b", "https://github.com/a/b"],
    ["https://user:p@ss@github.com/a/b", "https://github.com/a/b"],
    ["https://github.com/a@b/c", "https://github.com/a@b/c"],
    ["https://[::1]:8443/a@b/c", "https://[::1]:8443/a@b/c"],
    ["https://git.example.com:8443/a/b", "https://git.example.com:8443/a/b"],
    ["git@github.com:a/b", "git@github.com:a/b"],
    ["", ""],
  ])("%s becomes %s", (url, redacted) => {
    expect(redactUserInfo(url)).toBe(redacted);
  });

  test("no password is left, whatever is in it", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]\S{6,20}$/), (password) => {
        fc.pre(!password.includes("x.test"));
        expect(redactUserInfo(`https://bot:${password}@x.test/acme/deploy`)).toBe("https://x.test/acme/deploy");
      }),
    );
  });
});
