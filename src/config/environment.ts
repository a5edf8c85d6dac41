import { Expanded } from "./schema-parts.js";
import { type ConfigProblem, type ConfigTree, keyPath, type MapTree } from "./yaml-tree.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that child processes inherit: where to find programs, and whom to trust. */
const PASSED_ON = ["PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"] as const;

/** Proxies for svc's requests, and for those of git. */
type ProxiesRead =
  | { readonly kind: "none" }
  | {
      readonly kind: "proxies";
      readonly httpProxy: string | undefined;
      readonly httpsProxy: string | undefined;
      readonly noProxy: string;
    }
  /** A variable that is not the address of a proxy. */
  | { readonly kind: "wrong"; readonly variable: string };

/** Reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY. The lower-case name wins, and an address may lack `http://`. */
export function proxiesIn(env: Environment): ProxiesRead {
  const valueOf = (name: string) =>
    [env[name.toLowerCase()], env[name]].find((one) => (one ?? "").trim() !== "")?.trim();
  const [http, https] = ["HTTP_PROXY", "HTTPS_PROXY"].map((variable) => ({
    variable,
    address: proxyAddress(valueOf(variable)),
  }));
  const wrong = [http, https].find((one) => one?.address === WRONG);
  if (wrong !== undefined) return { kind: "wrong", variable: wrong.variable };
  const [httpProxy, httpsProxy] = [http?.address, https?.address];
  if (httpProxy === undefined && httpsProxy === undefined) return { kind: "none" };
  return { kind: "proxies", httpProxy, httpsProxy, noProxy: valueOf("NO_PROXY") ?? "" };
}

const WRONG = "";

/** Undefined without a proxy; `WRONG` if the text is not an address. */
function proxyAddress(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol) ? address : WRONG;
}

/** Replaces `${NAME}` in parsed values by environment variables; `$${` stands for `${`. Problems never contain a value. */
export function expandEnvironment(tree: MapTree, env: Environment) {
  const problems: ConfigProblem[] = [];
  return { tree: expandMap(tree, [], env, problems), problems };
}

function expandMap(tree: MapTree, path: readonly PropertyKey[], env: Environment, problems: ConfigProblem[]): MapTree {
  const entries = [...tree.entries].map(
    ([key, { keyAt, value }]) => [key, { keyAt, value: expand(value, [...path, key], env, problems) }] as const,
  );
  return { ...tree, entries: new Map(entries) };
}

function expand(
  tree: ConfigTree,
  path: readonly PropertyKey[],
  env: Environment,
  problems: ConfigProblem[],
): ConfigTree {
  if (tree.kind === "map") return expandMap(tree, path, env, problems);
  if (tree.kind === "list") {
    return { ...tree, items: tree.items.map((item, index) => expand(item, [...path, index], env, problems)) };
  }
  const { value } = tree;
  if (typeof value !== "string" || !value.includes("${")) return tree;
  const report = (message: string): string => {
    problems.push({ ...tree.at, key: keyPath(path), message });
    return "";
  };
  const expanded = value.replace(
    /\$?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?/g,
    (found: string, name: string | undefined) => {
      if (found.startsWith("$$")) return found.slice(1);
      if (name === undefined) {
        return report("`${` must be followed by a variable's name and `}`; `$${` stands for itself");
      }
      const known = Object.hasOwn(env, name) ? env[name] : undefined;
      return known ?? report(`the environment variable ${name} is not set`);
    },
  );
  return { ...tree, value: new Expanded(expanded) };
}

/**
 * The environment of child processes. They inherit nothing else, so no secret reaches them. git gets the proxies of svc's own
 * requests: by itself it ignores HTTP_PROXY, and takes no other proxy in the place of HTTPS_PROXY.
 */
export function childEnvironment(env: Environment = process.env): Readonly<Record<string, string>> {
  const proxies = proxiesIn(env);
  const { httpProxy, httpsProxy = httpProxy, noProxy } = proxies.kind === "proxies" ? proxies : {};
  const variables = {
    ...Object.fromEntries(PASSED_ON.map((name) => [name, env[name]])),
    http_proxy: httpProxy,
    https_proxy: httpsProxy,
    // git has no `*.example.org`, and takes `.example.org` for the same.
    no_proxy: noProxy?.replaceAll("*.", "."),
  };
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Sends a signal to a child process and to the processes that it has started; it has to lead a process group. */
export function signalGroup({ pid }: { readonly pid?: number | undefined }, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended already.
  }
}
