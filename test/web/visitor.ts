/** What a request was answered with, read to its end. */
export interface Visited {
  readonly status: number;
  /** The address as the visitor sees it. */
  readonly url: URL;
  readonly headers: Headers;
  readonly text: string;
}

export interface VisitOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: Readonly<Record<string, string>>;
}

export interface Cookie {
  readonly value: string;
  /** Epoch milliseconds; undefined: until the visitor leaves. */
  readonly expires: number | undefined;
  readonly secure: boolean;
  readonly attributes: string;
}

const MOST_REDIRECTS = 15;

/**
 * Somebody with a browser that keeps cookies and runs no script. Cookies belong to host names, whatever the port, and
 * secure ones go over https alone.
 */
export class Visitor {
  /** By host name, then by the cookie's name. */
  readonly #jars = new Map<string, Map<string, Cookie>>();
  /** Every address that was asked for, in order. */
  readonly seen: string[] = [];

  /**
   * @param home the root address of the service as people know it.
   * @param elsewhere where addresses of an origin really lead, such as the service's listening port.
   */
  constructor(
    readonly home: string,
    private readonly elsewhere: Readonly<Record<string, string>> = {},
  ) {}

  /** Opens an address (a path of the service, or a whole URL) and follows where it leads. */
  async open(address: string, options: VisitOptions = {}): Promise<Visited> {
    let visited = await this.ask(address, options);
    for (let hops = 0; visited.status >= 300 && visited.status < 400; hops += 1) {
      if (hops === MOST_REDIRECTS) throw new Error(`more than ${MOST_REDIRECTS} redirects: ${this.seen.join(" ")}`);
      visited = await this.ask(new URL(visited.headers.get("location") ?? "", visited.url).href);
    }
    return visited;
  }

  /** One request and its answer; redirects are not followed. */
  async ask(address: string, { method, headers = {}, json, form }: VisitOptions = {}): Promise<Visited> {
    const url = new URL(address, this.home);
    this.seen.push(url.href);
    const body = json === undefined ? form && new URLSearchParams(form).toString() : JSON.stringify(json);
    const type = json === undefined ? "application/x-www-form-urlencoded" : "application/json";
    const cookie = this.#cookiesFor(url);
    const response = await fetch(this.#real(url), {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        accept: json === undefined ? "text/html,application/xhtml+xml,*/*;q=0.8" : "application/json",
        ...(body === undefined ? {} : { "content-type": type }),
        ...(cookie === "" ? {} : { cookie }),
        ...headers,
      },
      body,
      redirect: "manual",
    });
    this.#keep(url, response.headers.getSetCookie());
    return { status: response.status, url, headers: response.headers, text: await response.text() };
  }

  /** A cookie that the visitor holds for the service. */
  cookie(name: string): Cookie | undefined {
    return this.#jars.get(new URL(this.home).hostname)?.get(name);
  }

  /** Puts a cookie for the service into the jar; without a value it is removed. */
  setCookie(name: string, value: string | undefined): void {
    const jar = this.#jarOf(new URL(this.home));
    if (value === undefined) jar.delete(name);
    else jar.set(name, { value, expires: undefined, secure: false, attributes: "" });
  }

  #real(url: URL): URL {
    const target = this.elsewhere[url.origin];
    return target === undefined ? url : new URL(url.pathname + url.search, target);
  }

  #cookiesFor(url: URL): string {
    return [...this.#jarOf(url)]
      .filter(([, { secure, expires }]) => (!secure || url.protocol === "https:") && (expires ?? Infinity) > Date.now())
      .map(([name, { value }]) => `${name}=${value}`)
      .join("; ");
  }

  #keep(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [, name = "", value = "", attributes = ""] = /^([^=;]+)=([^;]*)(.*)$/.exec(line) ?? [];
      const expires = /;\s*expires=([^;]+)/i.exec(attributes)?.[1];
      const until = expires === undefined ? undefined : Date.parse(expires);
      const secure = /;\s*secure\b/i.test(attributes);
      if (until !== undefined && until <= Date.now()) this.#jarOf(url).delete(name);
      else this.#jarOf(url).set(name, { value, expires: until, secure, attributes });
    }
  }

  #jarOf(url: URL): Map<string, Cookie> {
    const known = this.#jars.get(url.hostname);
    if (known !== undefined) return known;
    const fresh = new Map<string, Cookie>();
    this.#jars.set(url.hostname, fresh);
    return fresh;
  }
}
