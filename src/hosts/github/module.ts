import { changeRequestAddress } from "../../core/model/change-request.js";
import type { HostModule } from "../host-module.js";
import { GITHUB } from "./words.js";

/** The limits of the API that svc draws on; all others count as `other`. */
const RATE_LIMITS: readonly string[] = ["core", "graphql"];

export const github: HostModule = {
  ...GITHUB,
  // Older ones do not tell who pushed: https://docs.github.com/rest/repos/repos#list-repository-activities
  oldest: "3.10",
  cure: "check github.app_id, github.private_key and github.api_url, and that the server can reach GitHub",
  unlisted: "install the App on the repository",
  rateLimitOf(headers) {
    const resource = headers["x-ratelimit-resource"] ?? "core";
    return RATE_LIMITS.includes(resource) ? resource : "other";
  },
  configured({ hosta, defaults }) {
    if (hosta === undefined) return undefined;
    const { apiUrl, webUrl, webhookSecret: secret } = hosta;
    return {
      apiUrl,
      changeRequestUrl: (change) => changeRequestAddress(webUrl, { ...change, host: "hosta" }),
      async connect(parts) {
        const { createGitHubHost } = await import("./host.js");
        const { githubWebhook } = await import("./webhook.js");
        const { probot, ...host } = createGitHubHost({ ...hosta, allowedBots: defaults.allowedBots }, parts);
        if (secret === undefined) return { host, webhook: undefined };
        return { host, webhook: (intake) => githubWebhook({ ...intake, secret, probot, log: parts.log }) };
      },
    };
  },
};
