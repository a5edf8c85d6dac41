import { HOST_TITLES } from "../../names.js";
import type { HostWords } from "../host-refusal.js";

/** How messages speak of GitHub. */
export const GITHUB: HostWords = {
  title: HOST_TITLES.hosta,
  credentials: "the App's credentials",
  credentialsCure: "check hosta.app_id and hosta.private_key, and that the App was not suspended.",
  permissionCure:
    "look at the App's permissions (app.yml lists those it needs) and accept the new ones in its installation.",
  visibilityCure: "check that it still exists and that the GitHub App is installed on the repository.",
  addressKey: "hosta.api_url",
};
