import { loadServerConfig, type ServerConfig } from "../../src/config/server/server.js";
import { describeProblem } from "../../src/config/yaml-tree.js";

type Env = Readonly<Record<string, string | undefined>>;

/** The smallest valid file. */
export const SMALLEST = `
deployer: { server_url: "https://argocd.example.org", token: t }
hostb: { token: t, webhook_secret: hook-secret-of-tests }
`;

/** The mistakes as lines; empty if the file is valid. */
export function problemsOf(text: string, env: Env = {}): readonly string[] {
  const result = loadServerConfig([{ name: "svc.yaml", text }], env);
  return result.kind === "invalid" ? result.problems.map(describeProblem) : [];
}

/** The configuration of valid texts, later over earlier ones. */
export function configOf(texts: readonly string[], env: Env = {}): ServerConfig {
  const files = texts.map((text, index) => ({ name: `${index + 1}.yaml`, text }));
  const result = loadServerConfig(files, env);
  if (result.kind === "invalid") throw new Error(result.problems.map(describeProblem).join("\n"));
  return result.config;
}

/** The smallest file plus `key: value`, such as `server.port` and `80`; lists of sections as `a[].b`. */
export function withKey(path: string, value: string): string {
  const base: Record<string, unknown> = {
    deployer: { server_url: "https://argocd.example.org", token: "t" },
    hostb: { token: "t", webhook_secret: "hook-secret-of-tests" },
  };
  const marker = "@value@";
  put(base, path.split("."), marker);
  return JSON.stringify(base).replace(JSON.stringify(marker), value);
}

/** Keys that the sections require besides the one under test. */
const BESIDE: Readonly<Record<string, object>> = {
  hosta: { app_id: 1, webhook_secret: "hook-secret-of-tests" },
  "auth.hosta": { client_id: "i", client_secret: "s" },
  "auth.hostb": { client_id: "i", client_secret: "s" },
  "auth.oidc": { name: "n", issuer_url: "https://id.example.org", client_id: "i", client_secret: "s" },
  "kvstore.sentinel": { master: "m", addresses: ["h:1"] },
  "kvstore.cluster": { addresses: ["h:1"] },
  "auth.role_assignments": { pattern: "a@b", role: "user" },
  "auth.api_tokens": { name: "ci", hash: `sha256:${"0".repeat(64)}`, role: "user" },
  "auth.basic.users": { username: "u", password: "p", role: "user" },
  checks: { name: "c", command: ["c"] },
  application_repositories: { application: "a", repositories: ["b/c"] },
  notifications: { name: "n", url: "https://chat.example.org/hook", format: "slack" },
};

function put(target: Record<string, unknown>, parts: readonly string[], value: string, before = ""): void {
  const [part = "", ...rest] = parts;
  const name = part.replace("[]", "");
  const path = before === "" ? name : `${before}.${name}`;
  if (rest.length === 0) {
    target[name] = part.endsWith("[]") ? [value] : value;
    return;
  }
  const next = { ...BESIDE[path], ...(target[name] as object | undefined) };
  target[name] = part.endsWith("[]") ? [next] : next;
  put(next, rest, value, path);
}
