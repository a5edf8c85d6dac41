import nock from "nock";
import { repositoryName, revision } from "../../../src/core/model/brand.js";
import type { ChangeRequest } from "../../../src/core/model/change-request.js";
import { createGitHubHost } from "../../../src/hosts/github/host.js";
import { rsaKey } from "../../config/rsa-key.js";
import { keptLogger } from "../../secrets-in-logs/kept-logger.js";
import { registerSecret } from "../../secrets-in-logs/kept-logs.js";
import { hostParts } from "../host-parts.js";
import { skippingClock } from "../skipping-clock.js";

export const HEAD = revision("1".repeat(40));
export const BASE = revision("2".repeat(40));
export const FORK_POINT = revision("3".repeat(40));
export const OTHER = revision("4".repeat(40));

export const ref = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 } as const;
export const change: ChangeRequest = {
  ...ref,
  title: "Raise replicas",
  webUrl: "https://github.com/acme/deploy/pull/7",
  author: { id: "101", login: "ana", bot: false },
  state: "open",
  draft: false,
  fork: false,
  headBranch: "feat/x",
  baseBranch: "main",
  defaultBranch: "main",
  headRevision: HEAD,
  baseRevision: BASE,
  mergeBase: FORK_POINT,
  mergeability: "mergeable",
  repositoryUrls: [],
};

const privateKey = rsaKey();
let installations = 1000;

/** A GitHub host and the API it asks, with the App installed on `acme/deploy`. */
export function githubUnderTest({ installed = true, key = privateKey, log = keptLogger(key), version = "" } = {}) {
  const clock = skippingClock();
  const parts = hostParts(clock, log);
  const host = createGitHubHost({ appId: 12, privateKey: key, aliases: ["git.example.com"] }, parts);
  const api = nock("https://api.github.com", { reqheaders: { "x-github-api-version": "2022-11-28" } });
  const id = (installations += 1);
  if (installed) {
    api.get("/repos/acme/deploy/installation").reply(200, { id }, { "x-github-enterprise-version": version });
    mintToken(id);
  }
  return { host, api, clock, waits: parts.waits, installation: id };
}

export function mintToken(installation: number, token = "ghs_secret"): void {
  registerSecret("an installation token", token);
  nock("https://api.github.com", { reqheaders: { "x-github-api-version": "2022-11-28" } })
    .post(`/app/installations/${installation}/access_tokens`)
    .reply(201, { token, expires_at: "2099-01-01T00:00:00Z", permissions: { contents: "read" } });
}

/** The answer to `GET /repos/acme/deploy/pulls/7`. */
export function pull(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const repo = {
    id: 1,
    full_name: "acme/deploy",
    default_branch: "main",
    clone_url: "https://github.com/acme/deploy.git",
    ssh_url: "git@github.com:acme/deploy.git",
    html_url: "https://github.com/acme/deploy",
  };
  return {
    number: 7,
    title: "Raise replicas",
    html_url: "https://github.com/acme/deploy/pull/7",
    state: "open",
    merged: false,
    mergeable: true,
    draft: false,
    user: { id: 101, login: "ana", type: "User" },
    head: { ref: "feat/x", sha: HEAD, repo: { id: 1 } },
    base: { ref: "main", sha: OTHER, repo },
    ...changes,
  };
}
