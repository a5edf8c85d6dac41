import nock from "nock";
import { repositoryName, revision } from "../../../src/core/model/brand.js";
import type { ChangeRequest } from "../../../src/core/model/change-request.js";
import { createGitLabHost } from "../../../src/hosts/gitlab/host.js";
import { recordingLog } from "../../recording-log.js";
import { hostParts } from "../host-parts.js";
import { skippingClock } from "../skipping-clock.js";

export const HEAD = revision("1".repeat(40));
export const BASE = revision("2".repeat(40));
export const FORK_POINT = revision("3".repeat(40));
export const OTHER = revision("4".repeat(40));

export const PROJECT = "/projects/acme%2Fplatform%2Fgitops";
export const MERGE_REQUEST = `${PROJECT}/merge_requests/17`;

export const ref = { host: "hostb", repository: repositoryName("acme/platform/gitops"), number: 17 } as const;
export const change: ChangeRequest = {
  ...ref,
  repositoryId: "42",
  title: "Raise replicas",
  webUrl: "https://gitlab.example.com/git/acme/platform/gitops/-/merge_requests/17",
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

/** A GitLab host below a path, and the API it asks; requests without the token are not answered. */
export function gitlabUnderTest() {
  const clock = skippingClock();
  const parts = hostParts(clock, recordingLog());
  const config = { url: "https://gitlab.example.com/git/", token: "glpat-secret", aliases: ["git.example.com"] };
  const host = createGitLabHost(config, parts);
  const api = nock("https://gitlab.example.com/git/api/v4", { reqheaders: { "private-token": "glpat-secret" } });
  return { host, api, clock, waits: parts.waits };
}

/** The answer to `GET /projects/:id/merge_requests/17`. */
export function mergeRequest(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    iid: 17,
    title: "Raise replicas",
    web_url: "https://gitlab.example.com/git/acme/platform/gitops/-/merge_requests/17",
    state: "opened",
    draft: false,
    author: { id: 101, username: "ana" },
    source_branch: "feat/x",
    target_branch: "main",
    source_project_id: 42,
    target_project_id: 42,
    sha: HEAD,
    detailed_merge_status: "mergeable",
    merge_status: "can_be_merged",
    has_conflicts: false,
    merge_error: null,
    ...changes,
  };
}
