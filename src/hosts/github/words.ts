import type { HostTerms } from "../../core/model/host-words.js";
import { CHANGE_REQUEST_SIGILS, HOST_TITLES } from "../../names.js";
import type { FailureWords } from "../host-answer.js";

export const GITHUB: HostTerms & FailureWords = {
  title: HOST_TITLES.hosta,
  changeRequest: "pull request",
  short: "PR",
  sigil: CHANGE_REQUEST_SIGILS.hosta,
  // GitHub refuses more than 65,536 characters.
  maxComment: 60_000,
  // https://docs.github.com/rest/commits/statuses
  maxStatusDescription: 140,
  maxStatuses: 1000,
  keepsPendingText: false,
  // `@svc` is somebody's account on github.com.
  signs: ["/"],
  credentials: "the App's credentials",
  credentialsCure: "check github.app_id and github.private_key, and that the App was not suspended.",
  permissionCure:
    "look at the App's permissions (app.yml lists those it needs) and accept the new ones in its installation.",
  visibilityCure: "check that it still exists and that the GitHub App is installed on the repository.",
  addressKey: "github.api_url",
};
