import { Agent, EnvHttpProxyAgent, type Dispatcher } from "undici";

/** Addresses of the proxies that this process uses. */
export interface Proxies {
  /** Used for `http:` addresses, and for `https:` ones without `httpsProxy`. */
  readonly httpProxy: string | undefined;
  readonly httpsProxy: string | undefined;
  /** Hosts that are reached directly, between commas; each stands for its subdomains as well. */
  readonly noProxy: string;
}

interface ConnectionOptions extends Pick<Agent.Options, "headersTimeout" | "bodyTimeout" | "maxHeaderSize"> {
  /** Accepts any certificate of the server. */
  readonly insecure: boolean;
  /** Milliseconds to open a connection. */
  readonly connectTimeout: number;
}

let used: { readonly proxies: Proxies; readonly dispatcher: Dispatcher } | undefined;

/** Sends every later request of this process through proxies, by `CONNECT`. Without this call there are none. */
export function useProxies({ httpProxy, httpsProxy, noProxy }: Proxies): void {
  const proxies = { httpProxy, httpsProxy, noProxy };
  used = { proxies, dispatcher: new EnvHttpProxyAgent(proxies) };
}

/** Creates connections for one server, apart from those of the process. */
export function createDispatcher({ insecure, connectTimeout, ...limits }: ConnectionOptions): Dispatcher {
  const tls = { rejectUnauthorized: !insecure, timeout: connectTimeout };
  const options = { ...limits, connect: tls };
  if (used === undefined) return new Agent(options);
  return new EnvHttpProxyAgent({ ...options, ...used.proxies, requestTls: tls, proxyTls: { timeout: connectTimeout } });
}

/** Sends a request of `fetch` through the proxies, unless it brings its own dispatcher. */
export function proxied(init: RequestInit): RequestInit {
  if (used === undefined || "dispatcher" in init) return init;
  return Object.assign({ ...init }, { dispatcher: used.dispatcher });
}

/** Ends a sentence about a failed connection; empty without proxies. */
export function proxyHint(): string {
  return used === undefined
    ? ""
    : "; svc connects through the proxy of HTTP_PROXY or HTTPS_PROXY, except to the hosts in NO_PROXY";
}
