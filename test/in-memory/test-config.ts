import { stringify } from "yaml";
import { loadServerConfig, type ServerConfig } from "../../src/config/server/server.js";
import { describeProblem } from "../../src/config/yaml-tree.js";

/** The configuration of a service whose outside world is in memory, through the real parser. */
export function testConfig(defaults: Readonly<Record<string, unknown>> = {}): ServerConfig {
  const text = stringify({
    deployer: { server_url: "https://argocd.example.com", token: "t" },
    hostb: { url: "https://git.example.com", token: "t", webhook_secret: "hook-secret-of-tests" },
    defaults,
  });
  const loaded = loadServerConfig([{ name: "svc.yaml", text }], {});
  if (loaded.kind === "invalid") throw new Error(loaded.problems.map(describeProblem).join("\n"));
  return loaded.config;
}
