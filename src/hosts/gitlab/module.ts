import { changeRequestAddress } from "../../core/model/change-request.js";
import type { HostModule } from "../host-module.js";
import { GITLAB, OLDEST_GITLAB } from "./words.js";

export const gitlab: HostModule = {
  ...GITLAB,
  oldest: OLDEST_GITLAB,
  cure: "check gitlab.url and gitlab.token (scope api), and that the server can reach GitLab",
  unlisted: "give the token's account the role Developer in the project",
  rateLimitOf: () => "api",
  configured({ hostb }) {
    if (hostb === undefined) return undefined;
    const { url, webhookSecret: secret, signingToken } = hostb;
    return {
      apiUrl: url,
      changeRequestUrl: (change) => changeRequestAddress(url, { ...change, host: "hostb" }),
      async connect(parts) {
        const { clock, log } = parts;
        const { createGitLabHost } = await import("./host.js");
        const { gitlabWebhook } = await import("./webhook.js");
        const host = createGitLabHost(hostb, parts);
        if (secret === undefined && signingToken === undefined) return { host, webhook: undefined };
        return { host, webhook: (intake) => gitlabWebhook({ ...intake, secret, signingToken, clock, log }) };
      },
    };
  },
};
