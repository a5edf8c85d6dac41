import { stringify } from "yaml";
import { appKeys, GITHUB_APP, GITLAB_TOKEN, type SandboxWorld } from "../sandbox/world.js";
import type { ServerConfig } from "../src/config/server-config.js";
import { loadServerConfig } from "../src/config/server.js";
import { SERVER_FILE } from "../src/names.js";

export const WEBHOOK_SECRET = "demo-webhook-secret";

/** The service's configuration for this world, parsed like any `svc.yaml`. */
export function serviceSettings({ github, gitlab, argocd, argocdToken }: SandboxWorld): ServerConfig {
  if (github === undefined || gitlab === undefined) throw new Error("the demo needs both hosts");
  const sections = {
    server: { host: "127.0.0.1", port: 0, shutdown_grace: "3s" },
    deployer: { server_url: argocd.url, token: argocdToken, poll_interval: "300ms" },
    hosta: {
      app_id: GITHUB_APP.id,
      private_key: appKeys().privateKey,
      webhook_secret: WEBHOOK_SECRET,
      api_url: github.apiUrl,
      web_url: github.url,
    },
    hostb: { url: gitlab.url, token: GITLAB_TOKEN, webhook_secret: WEBHOOK_SECRET },
    defaults: { require_approval: true, auto_merge: true, delete_source_branch: true },
  };
  const loaded = loadServerConfig([{ name: SERVER_FILE, text: stringify(sections) }], {});
  if (loaded.kind === "invalid") throw new Error(`the demo's configuration: ${JSON.stringify(loaded.problems)}`);
  return loaded.config;
}
