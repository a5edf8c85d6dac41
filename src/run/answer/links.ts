import type { Links } from "../../comments/markdown.js";
import { hostAddresses, type ServerConfig } from "../../config/server/server.js";
import { changePagePath, type ChangeRequest } from "../../core/model/change-request.js";
import type { CodeHost } from "../../core/ports/code-host.js";

interface LinkParts {
  readonly host: Pick<CodeHost, "commitUrl">;
  readonly config: ServerConfig;
}

/** The links of a comment on a change request. A page is linked only if the service has logins. */
export function linksOf(change: ChangeRequest, { host, config }: LinkParts): Links {
  const { server, auth, deployer } = config;
  const { baseUrl } = server;
  return {
    deployer: deployer.uiUrl ?? deployer.serverUrl,
    hosts: hostAddresses(config),
    head: host.commitUrl(change, change.headRevision),
    page: baseUrl === undefined || !auth.enabled ? undefined : baseUrl + changePagePath(change),
  };
}
