import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { GitLabForge } from "../../sandbox/gitlab/gitlab-forge.js";
import { GITLAB_TOKEN } from "../../sandbox/world.js";
import { CLIENT, startLoginGitLab } from "../web/auth/forges.js";
import { BASE_URL } from "../web/auth/site.js";

const CALLBACK = `${BASE_URL}/auth/hostb/callback`;
const VERIFIER = "a-verifier-of-forty-three-characters-or-more";
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");
const PKCE = { code_challenge: CHALLENGE, code_challenge_method: "S256" };

type Members = Readonly<Record<string, string>>;

async function authorize(gitlab: GitLabForge, query: Members = {}): Promise<Response> {
  const usual = {
    client_id: CLIENT.client_id,
    redirect_uri: CALLBACK,
    response_type: "code",
    scope: "read_api",
    state: "s",
  };
  const search = new URLSearchParams({ ...usual, ...query });
  return fetch(`${gitlab.url}/oauth/authorize?${search.toString()}`, { redirect: "manual" });
}

async function backFrom(gitlab: GitLabForge, query?: Members): Promise<Members> {
  return Object.fromEntries(new URL((await authorize(gitlab, query)).headers.get("location") ?? "").searchParams);
}

async function exchange(gitlab: GitLabForge, members: Members): Promise<[number, Members]> {
  const usual = { ...CLIENT, redirect_uri: CALLBACK, grant_type: "authorization_code" };
  const body = new URLSearchParams({ ...usual, ...members });
  const response = await fetch(`${gitlab.url}/oauth/token`, { method: "POST", body });
  return [response.status, (await response.json()) as Members];
}

describe("GitLab's pages", () => {
  test("lead back with code and state", async () => {
    const gitlab = await startLoginGitLab();
    expect(await backFrom(gitlab)).toEqual({ code: expect.stringMatching(/^[0-9a-f]{64}$/), state: "s" });
  });

  test.each<[Members, string]>([
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ scope: "read_api api" }, "invalid_scope"],
    [{ code_challenge: CHALLENGE, code_challenge_method: "plain" }, "invalid_code_challenge_method"],
  ])("lead back with an error for %j", async (query, error) => {
    const gitlab = await startLoginGitLab();
    expect(await backFrom(gitlab, query)).toMatchObject({ error, state: "s" });
  });

  test.each<[Members, number]>([
    [{ client_id: "unknown" }, 401],
    [{ redirect_uri: `${CALLBACK}/else` }, 400],
  ])("show a page of their own for %j", async (query, status) => {
    const gitlab = await startLoginGitLab();
    const answer = await authorize(gitlab, query);
    expect([answer.status, answer.headers.get("location")]).toEqual([status, null]);
  });
});

describe("GitLab's tokens", () => {
  test("are given once for a code, whose verifier must fit", async () => {
    const gitlab = await startLoginGitLab();
    const { code = "" } = await backFrom(gitlab, PKCE);
    const [status, given] = await exchange(gitlab, { code, code_verifier: VERIFIER });
    expect([status, given]).toEqual([200, expect.objectContaining({ token_type: "Bearer", expires_in: 7200 })]);
    expect((await exchange(gitlab, { code, code_verifier: VERIFIER }))[1].error).toBe("invalid_grant");
  });

  test.each<[Members, number, string]>([
    [{ code: "unknown" }, 400, "invalid_grant"],
    [{ client_secret: "wrong" }, 401, "invalid_client"],
    [{ redirect_uri: `${CALLBACK}/else` }, 400, "invalid_grant"],
    [{ code_verifier: "another-verifier-of-forty-three-characters-x" }, 400, "invalid_grant"],
    [{ grant_type: "password" }, 400, "unsupported_grant_type"],
    [{}, 400, "invalid_grant"],
  ])("are refused for %j", async (members, status, error) => {
    const gitlab = await startLoginGitLab();
    const { code = "" } = await backFrom(gitlab, PKCE);
    const [answered, body] = await exchange(gitlab, { code, ...members });
    expect([answered, body.error]).toEqual([status, error]);
  });

  test("open what their scopes allow, and end after two hours", async () => {
    const gitlab = await startLoginGitLab();
    gitlab.setTeam("acme", ["ana"]);
    const { code = "" } = await backFrom(gitlab, { scope: "read_user" });
    const [, { access_token: token = "" }] = await exchange(gitlab, { code });
    const ask = async (path: string, bearer = token): Promise<number> =>
      (await fetch(`${gitlab.url}/api/v4${path}`, { headers: { authorization: `Bearer ${bearer}` } })).status;
    expect(await ask("/user")).toBe(200);
    expect(await ask("/groups?min_access_level=10")).toBe(403);
    expect(await ask("/user", "0".repeat(64))).toBe(401);
    expect(await ask("/user", GITLAB_TOKEN)).toBe(200);
    gitlab.login.now = () => Date.now() + 7_200_000;
    expect(await ask("/user")).toBe(401);
    expect(gitlab.violations).toEqual([]);
  });
});
