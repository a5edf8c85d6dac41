import { HOST_TITLES } from "../../names.js";
import type { HostWords } from "../host-refusal.js";

/** How messages speak of GitLab. */
export const GITLAB: HostWords = {
  title: HOST_TITLES.hostb,
  credentials: "the access token",
  credentialsCure: "check hostb.token; it may have expired or been revoked.",
  permissionCure: "the token needs the scope api, and its account at least the role Developer in the project.",
  visibilityCure: "check that it still exists and that the token's account is a member of the project.",
  addressKey: "hostb.url",
};
