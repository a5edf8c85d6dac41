import { afterEach, expect } from "@jest/globals";
import { GitStore } from "../../../sandbox/git/git-store.js";
import type { GitHubForge } from "../../../sandbox/github/github-forge.js";
import { startGitHub } from "../../../sandbox/github/start-github.js";
import type { GitLabForge } from "../../../sandbox/gitlab/gitlab-forge.js";
import { startGitLab } from "../../../sandbox/gitlab/gitlab.js";
import { appKeys, GITHUB_APP, GITLAB_TOKEN } from "../../../sandbox/world.js";
import { compareCalls } from "../../host-calls.js";
import { BASE_URL } from "./site.js";

/** The application of the service at either host. */
export const CLIENT = { client_id: "svc-login", client_secret: "a-client-secret-of-the-tests" };

const running: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((stop) => stop()));
});

/** A GitHub at which the service is registered and everybody signs in as `ana`. */
export async function startLoginGitHub(): Promise<GitHubForge> {
  const store = await GitStore.create();
  const github = await startGitHub({ store, app: { ...GITHUB_APP, publicKey: appKeys().publicKey } });
  running.push(async () => {
    await github.stop();
    await store.remove();
    expect(compareCalls(github).undescribed).toEqual([]);
  });
  github.login.registerApp({
    clientId: CLIENT.client_id,
    clientSecret: CLIENT.client_secret,
    callbackUrl: `${BASE_URL}/auth/hosta/callback`,
  });
  github.login.signedIn = "ana";
  return github;
}

/** A GitLab of the same kind. */
export async function startLoginGitLab(): Promise<GitLabForge> {
  const store = await GitStore.create();
  const gitlab = await startGitLab({ store, token: GITLAB_TOKEN });
  running.push(async () => {
    await gitlab.stop();
    await store.remove();
    expect(compareCalls(gitlab).undescribed).toEqual([]);
  });
  gitlab.login.registerApplication({
    clientId: CLIENT.client_id,
    clientSecret: CLIENT.client_secret,
    redirectUris: [`${BASE_URL}/auth/hostb/callback`],
    scopes: ["read_user", "read_api"],
  });
  gitlab.login.signedIn = "ana";
  return gitlab;
}
