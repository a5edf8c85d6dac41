import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeAll, expect } from "@jest/globals";

interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
type Body = string | Buffer | object;
type Given = readonly [status: number, body: Body, headers?: Readonly<Record<string, string>>];
type Matcher = object | ((sent: unknown) => boolean);
type Query = Readonly<Record<string, string>> | true | ((query: Readonly<Record<string, string>>) => boolean);

let script: Call[] = [];
let unexpected: string[] = [];
let address: string | undefined;

/**
 * Serves what tests script with `argocd()`, over real connections. A test fails if it makes an unexpected request, or does not
 * make an expected one.
 */
export function withArgoCd(): void {
  const server = createServer((request, response) => {
    void (async () => {
      const given = answer(request, await buffer(request));
      if (given === "silence") return;
      const [status, body, headers = {}] = given;
      const sent = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(sent);
    })();
  });
  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    const left = [...neverAsked(), ...unexpected];
    script = [];
    unexpected = [];
    expect(left).toEqual([]);
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
}

function answer(request: IncomingMessage, body: Buffer): Given | "silence" {
  const asked = { headers: request.headers, body };
  const { method = "", url = "" } = request;
  const found = script.find((call) => call.expects(method, url, asked));
  if (found !== undefined) return found.answer(asked);
  unexpected.push(`${method} ${url}`);
  return [501, { code: 12, message: `the test does not expect ${method} ${url}` }];
}

/** The address of the server of `withArgoCd`. */
export function serverUrl(): string {
  if (address === undefined) throw new Error("the file of this test does not call withArgoCd()");
  return address;
}

/** What the test expects and nobody has asked yet. */
export function neverAsked(): readonly string[] {
  return script.filter((call) => call.isOpen()).map(({ name }) => name);
}

export const argocd = {
  get: (path: string) => new Call("GET", path),
  delete: (path: string) => new Call("DELETE", path),
  put: (path: string, body?: Matcher) => new Call("PUT", path, body),
  post: (path: string, body?: Matcher) => new Call("POST", path, body),
};

/** A call that a test expects, in any order with others; of two that fit, the one that was scripted first. */
class Call {
  readonly name: string;
  #query: Query;
  #header: readonly [name: string, value: string] | undefined;
  #left = 1;
  #needed = true;
  #answer: (asked: Asked) => Given | "silence" = () => "silence";

  constructor(
    method: string,
    path: string,
    private readonly body?: Matcher,
  ) {
    const [pathname = "", query] = path.split("?");
    this.name = `${method} ${pathname}`;
    this.#query = query === undefined ? {} : (asked) => isDeepStrictEqual(asked, membersOf(query));
  }

  /** Without it the query must be that of the path. */
  query(query: Query): this {
    this.#query = query;
    return this;
  }

  matchHeader(name: string, value: string): this {
    this.#header = [name, value];
    return this;
  }

  twice(): this {
    this.#left = 2;
    return this;
  }

  persist(): this {
    this.#left = Infinity;
    return this;
  }

  optionally(): this {
    this.#needed = false;
    return this;
  }

  reply(status: number, body: Body = "", headers?: Readonly<Record<string, string>>): this {
    return this.replyWith(() => [status, body, headers]);
  }

  replyWith(answer: (asked: Asked) => Given | "silence"): this {
    this.#answer = answer;
    script.push(this);
    return this;
  }

  isOpen(): boolean {
    return this.#needed && this.#left > 0;
  }

  expects(method: string, url: string, { headers, body }: Asked): boolean {
    const [path = "", query = ""] = url.split("?");
    if (this.#left === 0 || `${method} ${path}` !== this.name) return false;
    if (this.#header !== undefined && headers[this.#header[0]] !== this.#header[1]) return false;
    if (!fits(membersOf(query), this.#query)) return false;
    return this.body === undefined || fits(JSON.parse(body.toString()), this.body);
  }

  answer(asked: Asked): Given | "silence" {
    this.#left -= 1;
    if (this.#left === Infinity) this.#needed = false;
    return this.#answer(asked);
  }
}

function fits<T>(value: T, expected: true | object | ((value: T) => boolean)): boolean {
  if (typeof expected === "function") return (expected as (value: T) => boolean)(value);
  return expected === true || isDeepStrictEqual(value, expected);
}

/** Members that are there several times are joined. */
function membersOf(query: string): Record<string, string> {
  const members: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const before = members[name];
    members[name] = before === undefined ? value : `${before},${value}`;
  }
  return members;
}

export function settings(changes: object = {}): void {
  const answer = {
    appLabelKey: "app.kubernetes.io/instance",
    trackingMethod: "annotation",
    controllerNamespace: "argocd",
    ...changes,
  };
  argocd.get("/api/v1/settings").persist().optionally().reply(200, answer);
}
