import type { HostTerms } from "../../core/model/host-words.js";
import { CHANGE_REQUEST_SIGILS, HOST_TITLES } from "../../names.js";
import type { FailureWords } from "../host-answer.js";

/** Its GraphQL API names the committers of commits: https://docs.gitlab.com/api/graphql/reference/#commit */
export const OLDEST_GITLAB = "16.4";

export const GITLAB: HostTerms & FailureWords = {
  title: HOST_TITLES.hostb,
  changeRequest: "merge request",
  short: "MR",
  sigil: CHANGE_REQUEST_SIGILS.hostb,
  // GitLab takes about a million characters. Nobody reads that many.
  maxComment: 200_000,
  // https://docs.gitlab.com/api/commits/#set-commit-pipeline-status
  maxStatusDescription: 255,
  maxStatuses: undefined,
  keepsPendingText: true,
  signs: ["/", "@"],
  credentials: "the access token",
  credentialsCure: "check gitlab.token; it may have expired or been revoked.",
  permissionCure: "the token needs the scope api, and its account at least the role Developer in the project.",
  visibilityCure: "check that it still exists and that the token's account is a member of the project.",
  addressKey: "gitlab.url",
};
