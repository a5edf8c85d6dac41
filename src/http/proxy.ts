import { Agent, EnvHttpProxyAgent, type Dispatcher } from "undici";

/** The proxies of this process, as addresses. */
export interface Proxies {
  /** For `http:` addresses, and for `https:` ones if they have no proxy of their own. */
  readonly httpProxy: string | undefined;
  readonly httpsProxy: string | undefined;
  /** Hosts that are reached directly, between commas; each stands for its subdomains as well. */
  readonly noProxy: string;
}

export interface ConnectionOptions extends Pick<Agent.Options, "headersTimeout" | "bodyTimeout" | "maxHeaderSize"> {
  /** Accept any certificate of the server. */
  readonly insecure: boolean;
  /** For a connection, in milliseconds. */
  readonly connectTimeout: number;
}

let used: { readonly proxies: Proxies; readonly dispatcher: Dispatcher } | undefined;

/** Sends every later request of this process through proxies, by `CONNECT`. Without this call there are none. */
export function useProxies({ httpProxy, httpsProxy, noProxy }: Proxies): void {
  const proxies = { httpProxy, httpsProxy, noProxy };
  used = { proxies, dispatcher: new EnvHttpProxyAgent(proxies) };
}

/** Connections of their own for one server. */
export function createDispatcher({ insecure, connectTimeout, ...limits }: ConnectionOptions): Dispatcher {
  const tls = { rejectUnauthorized: !insecure, timeout: connectTimeout };
  const options = { ...limits, connect: tls };
  if (used === undefined) return new Agent(options);
  return new EnvHttpProxyAgent({ ...options, ...used.proxies, requestTls: tls, proxyTls: { timeout: connectTimeout } });
}

/** What `fetch` needs to go the right way. It keeps a dispatcher of its own. */
export function proxied(init: RequestInit): RequestInit {
  if (used === undefined || "dispatcher" in init) return init;
  return Object.assign({ ...init }, { dispatcher: used.dispatcher });
}

/** The end of a sentence about a connection that failed; empty without proxies. */
export function proxyHint(): string {
  return used === undefined
    ? ""
    : "; svc connects through the proxy of HTTP_PROXY or HTTPS_PROXY, except to the hosts in NO_PROXY";
}
