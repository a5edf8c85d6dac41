import { describe, expect, test } from "@jest/globals";
import { configOf, problemsOf, SMALLEST } from "./server-file.js";

const ARGOCD = 'argocd: { server_url: "https://argocd.example.org", token: t }\n';
const GITLAB = "gitlab: { token: t, webhook_secret: hook-secret-of-tests }\n";
const LOGIN = "{ client_id: i, client_secret: s, allowed_orgs: [acme] }";

describe("sections under the names of the products", () => {
  test("are the same sections", () => {
    const config = configOf([
      `${ARGOCD}${GITLAB}redis: { address: "redis:6379" }\nauth: { github: ${LOGIN}, role_assignments: [{ pattern: "@a/b", provider: github, role: admin }] }\n`,
    ]);
    expect(config.deployer.serverUrl).toBe("https://argocd.example.org");
    expect(config.hostb?.token).toBe("t");
    expect(config.kvstore.address).toEqual({ host: "redis", port: 6379 });
    expect(config.auth.hosta?.allowedOrgs).toEqual(["acme"]);
    expect(config.auth.roleAssignments).toEqual([{ pattern: "@a/b", provider: "hosta", role: "admin" }]);
  });

  test("of one file are laid over those of another, whatever each calls them", () => {
    expect(configOf([SMALLEST, "argocd: { token: other }\ngitlab: { aliases: [git.example.org] }\n"])).toMatchObject({
      deployer: { serverUrl: "https://argocd.example.org", token: "other" },
      hostb: { token: "t", aliases: ["git.example.org"] },
    });
    expect(configOf([ARGOCD + GITLAB, "deployer: { token: other }\n"]).deployer.token).toBe("other");
  });

  test.each([
    [`${SMALLEST}gitlab:\n`, ["4:1 gitlab: is another name of `hostb`, which is set as well: keep one of them"]],
    [
      `${GITLAB}${SMALLEST}argocd: {}\n`,
      ["1:1 gitlab: is another name of", "5:1 argocd: is another name of `deployer`"],
    ],
    [
      `${SMALLEST}auth: { github: ${LOGIN}, hosta: ${LOGIN} }\n`,
      ["4:9 auth.github: is another name of `hosta`, which is set as well"],
    ],
    [
      `${ARGOCD}gitlab: { tokn: t }\n`,
      ["gitlab.tokn: unknown key", "gitlab.token: is required", "gitlab.webhook_secret: is"],
    ],
    [
      `argocd: { token: "\${NONE}" }\n${GITLAB}`,
      ["argocd.token: the environment variable NONE", "argocd.server_url: is"],
    ],
    [
      `${SMALLEST}redis: { address: redis, adress: x }\n`,
      ["redis.address: expected host:port", "redis.adress: unknown key"],
    ],
    [
      `${SMALLEST}auth: { gitlab: {} }\n`,
      ["auth.gitlab.client_id: is required", "auth.gitlab.client_secret: is required"],
    ],
    ["server: {}\n", ["argocd: is required", "a section `github` or `gitlab`"]],
    ["hosta: { app_id: 1 }\n", ["deployer: is required", "hosta.private_key: is", "hosta.webhook_secret: is"]],
    [`${SMALLEST}githb: {}\n`, ["githb: unknown key; did you mean `github`?"]],
    [`${SMALLEST}host_a: {}\n`, ["host_a: unknown key; did you mean `hosta`?"]],
    [`${SMALLEST}server: { github: 1 }\n`, ["server.github: unknown key"]],
  ])("are named as they are written: %j", (text, expected) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(expected.length);
    for (const part of expected) expect(problems.join("\n")).toContain(part);
  });
});
