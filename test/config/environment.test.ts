import { describe, expect, test } from "@jest/globals";
import { proxiesIn } from "../../src/config/environment.js";
import { configOf, problemsOf, SMALLEST, withKey } from "./server-file.js";

describe("environment variables", () => {
  const secretOf = (value: string, env: Readonly<Record<string, string>>) =>
    configOf([`${SMALLEST}auth: {session_secret: ${value}}`], env).auth.sessionSecret;

  test.each([
    ["'${A}'", "one"],
    ["'x-${A}-${B}-y'", "x-one-two-y"],
    ["'${A}${A}'", "oneone"],
    ["'$${A}'", "${A}"],
    ["'$A $ {A} $'", "$A $ {A} $"],
    ['"${C}"', "k: v\n- '#\""],
    ["'${D}'", "${A}"],
  ])("%s is %j", (written, expected) => {
    expect(secretOf(written, { A: "one", B: "two", C: "k: v\n- '#\"", D: "${A}" })).toBe(expected);
  });

  test("an unset variable is named with the key, once, and nothing else is said of that value", () => {
    expect(problemsOf(`${SMALLEST}server:\n  port: \${PORT}\n  host: "\${A}-\${A}"`)).toEqual([
      "svc.yaml:5:9 server.port: the environment variable PORT is not set",
      "svc.yaml:6:9 server.host: the environment variable A is not set",
    ]);
  });

  test("names that every object has are not variables", () => {
    expect(problemsOf(`${SMALLEST}server: {host: "\${constructor}"}`).join()).toContain("constructor is not set");
  });

  test.each(["${", "${}", "${A-B}", "${A:-x}", "${1A}", "a${ A }"])("%s is refused", (value) => {
    expect(problemsOf(`${SMALLEST}server: {host: '${value}'}`, { A: "1" })).toEqual([
      "svc.yaml:4:16 server.host: `${` must be followed by a variable's name and `}`; `$${` stands for itself",
    ]);
  });

  test("keys are not expanded", () => {
    expect(problemsOf(`${SMALLEST}server: {"\${A}": 1}`, { A: "port" }).join()).toContain(
      'server["${A}"]: unknown key',
    );
  });

  test("values of variables never stand in a message", () => {
    const keys = [
      "server.port",
      "server.log_level",
      "deployer.server_url",
      "kvstore.address",
      "auth.enabled",
      "hosta.app_id",
    ];
    for (const key of [
      ...keys,
      "hosta.private_key",
      "hostb.signing_token",
      "defaults.allowed_repos",
      "server.base_url",
    ]) {
      const problems = problemsOf(withKey(key, '"a${SECRET}"'), { SECRET: "hunter2 hunter2" });
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join()).not.toContain("hunter2");
    }
  });

  test("the parser's mistakes never quote the text", () => {
    for (const broken of [
      'token: "hunter2',
      "token: hunter2: x",
      "[hunter2",
      "'hunter2' hunter2",
      "a: |x hunter2",
      "!hunter2 a",
      "&hunter2 *hunter2",
    ]) {
      expect(problemsOf(`deployer:\n  ${broken}\n`).join()).not.toContain("hunter2");
    }
  });
});

describe("proxies", () => {
  const proxies = { kind: "proxies", httpProxy: undefined, httpsProxy: undefined, noProxy: "" };

  test.each([
    [{}, { kind: "none" }],
    [{ NO_PROXY: "*", HTTPS_PROXY: " " }, { kind: "none" }],
    [{ HTTPS_PROXY: "http://p:3128" }, { ...proxies, httpsProxy: "http://p:3128" }],
    [
      { HTTP_PROXY: "https://u:s@p", https_proxy: "q:1", HTTPS_PROXY: "http://r", NO_PROXY: "a.svc, .b" },
      { kind: "proxies", httpProxy: "https://u:s@p", httpsProxy: "http://q:1", noProxy: "a.svc, .b" },
    ],
    [{ HTTPS_PROXY: "socks5://p:1080" }, { kind: "wrong", variable: "HTTPS_PROXY" }],
    [{ http_proxy: "http://" }, { kind: "wrong", variable: "HTTP_PROXY" }],
  ])("%j", (env, expected) => {
    expect(proxiesIn(env)).toEqual(expected);
  });
});
