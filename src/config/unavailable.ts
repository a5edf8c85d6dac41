import type { ServerConfig } from "./server-config.js";

/**
 * Settings that this version understands and does not act on yet. A gate that is configured and not there is worse than
 * a start that is refused, so each is one problem.
 */
export function unavailableSettings(config: ServerConfig): readonly string[] {
  const { kvstore, server, auth } = config;
  return [
    ...(kvstore.sentinel === undefined ? [] : ["kvstore.sentinel: use kvstore.address with a single Redis"]),
    ...(kvstore.cluster === undefined ? [] : ["kvstore.cluster: use kvstore.address with a single Redis"]),
    ...(server.metricsPort === undefined ? [] : ["server.metrics_port: leave it out"]),
    ...(auth.enabled ? ["auth.enabled: leave it false; the pages can be kept private by the ingress"] : []),
  ].map((text) => `not available in this version: ${text}`);
}
