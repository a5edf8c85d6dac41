import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { GitHubForge } from "../../sandbox/github/github-forge.js";
import { CLIENT, startLoginGitHub } from "../web/auth/forges.js";
import { BASE_URL } from "../web/auth/site.js";

const CALLBACK = `${BASE_URL}/auth/hosta/callback`;
const VERIFIER = "a-verifier-of-forty-three-characters-or-more";
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");

async function authorize(github: GitHubForge, query: Readonly<Record<string, string>> = {}): Promise<Response> {
  const usual = { client_id: CLIENT.client_id, redirect_uri: CALLBACK, scope: "read:org", state: "s t" };
  const search = new URLSearchParams({ ...usual, ...query });
  return fetch(`${github.url}/login/oauth/authorize?${search.toString()}`, { redirect: "manual" });
}

async function codeOf(github: GitHubForge, query?: Readonly<Record<string, string>>): Promise<string> {
  const back = new URL((await authorize(github, query)).headers.get("location") ?? "");
  return back.searchParams.get("code") ?? "";
}

async function exchange(github: GitHubForge, members: Readonly<Record<string, string>>): Promise<[number, unknown]> {
  const response = await fetch(`${github.url}/login/oauth/access_token`, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({ ...CLIENT, redirect_uri: CALLBACK, ...members }),
  });
  return [response.status, await response.json()];
}

describe("GitHub's pages", () => {
  test("lead back with code, state and issuer", async () => {
    const github = await startLoginGitHub();
    const answer = await authorize(github);
    const back = new URL(answer.headers.get("location") ?? "");
    expect([answer.status, back.origin + back.pathname]).toEqual([302, CALLBACK]);
    expect(Object.fromEntries(back.searchParams)).toEqual({
      code: expect.stringMatching(/^[0-9a-f]{20}$/),
      state: "s t",
      iss: `${github.url}/login/oauth`,
    });
  });

  test.each([
    [{ client_id: "unknown" }, 404],
    [{ redirect_uri: "https://evil.example.org/auth/hosta/callback" }, 400],
    [{ redirect_uri: `${BASE_URL}/auth/hosta/callbacks` }, 400],
    [{ code_challenge: CHALLENGE, code_challenge_method: "plain" }, 400],
  ])("show a page of their own for %j", async (query, status) => {
    const github = await startLoginGitHub();
    const answer = await authorize(github, query);
    expect([answer.status, answer.headers.get("location")]).toEqual([status, null]);
  });
});

describe("GitHub's tokens", () => {
  test("are given once for a code, whose verifier must fit", async () => {
    const github = await startLoginGitHub();
    const code = await codeOf(github, { code_challenge: CHALLENGE, code_challenge_method: "S256" });
    const [status, given] = await exchange(github, { code, code_verifier: VERIFIER });
    const token = { access_token: expect.stringMatching(/^gho_\w{36}$/), scope: "read:org", token_type: "bearer" };
    expect([status, given]).toEqual([200, token]);
    const again = await exchange(github, { code, code_verifier: VERIFIER });
    expect(again).toEqual([200, expect.objectContaining({ error: "bad_verification_code" })]);
  });

  test.each<[Readonly<Record<string, string>>, string]>([
    [{ code: "unknown" }, "bad_verification_code"],
    [{ client_secret: "wrong" }, "incorrect_client_credentials"],
    [{ redirect_uri: `${CALLBACK}/else` }, "redirect_uri_mismatch"],
    [{ code_verifier: "another-verifier-of-forty-three-characters-x" }, "bad_verification_code"],
    [{}, "bad_verification_code"],
  ])("are refused with status 200 for %j", async (members, error) => {
    const github = await startLoginGitHub();
    const code = await codeOf(github, { code_challenge: CHALLENGE, code_challenge_method: "S256" });
    expect(await exchange(github, { code, ...members })).toEqual([200, expect.objectContaining({ error })]);
  });

  test("are refused for a code of ten minutes ago", async () => {
    const github = await startLoginGitHub();
    const code = await codeOf(github);
    github.login.now = () => Date.now() + 600_000;
    expect(await exchange(github, { code })).toEqual([
      200,
      expect.objectContaining({ error: "bad_verification_code" }),
    ]);
  });

  test("come as a form to those who do not ask for JSON", async () => {
    const github = await startLoginGitHub();
    const body = new URLSearchParams({ ...CLIENT, code: await codeOf(github) });
    const response = await fetch(`${github.url}/login/oauth/access_token`, { method: "POST", body });
    expect(response.headers.get("content-type")).toContain("application/x-www-form-urlencoded");
    expect(await response.text()).toMatch(/^access_token=gho_/);
  });

  test("open what their scopes allow, and nothing to whoever has none", async () => {
    const github = await startLoginGitHub();
    github.login.setOrganization("acme", { members: new Map([["ana", "active"]]) });
    github.setTeam("acme/ops", ["ana"]);
    const [, given] = await exchange(github, { code: await codeOf(github) });
    const { access_token: token } = given as { access_token: string };
    const ask = async (path: string, bearer = token): Promise<number> =>
      (await fetch(`${github.apiUrl}${path}`, { headers: { authorization: `Bearer ${bearer}` } })).status;
    expect(await ask("/user")).toBe(200);
    expect(await ask("/user/emails")).toBe(404);
    expect(await ask("/user/memberships/orgs/acme")).toBe(200);
    expect(await ask("/user/teams")).toBe(200);
    expect(await ask("/user", "gho_000000000000000000000000000000000000")).toBe(401);
    expect(github.violations).toEqual([]);
    expect(await ask("/user?colour=red")).toBe(200);
    expect(github.violations).toHaveLength(1);
  });
});
