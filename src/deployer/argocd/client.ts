import type { Json } from "../../core/model/json.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import {
  type AnswerHeaders,
  type AnswerLimits,
  AnswerTimedOut,
  AnswerTooLarge,
  type BinaryAnswer,
  createDispatcher,
  requestBytes,
} from "../../http/fetch-text.js";
import { SERVICE } from "../../names.js";
import { ArgoCdFailure, connectionProblem, interpretError, isHtml, readAnswer } from "./argocd-failure.js";
import { beginningOf, MAXIMUM_BODY, tooLarge, type UnreadAnswer } from "./unread-answer.js";

/** How to reach Argo CD. Times are in milliseconds. */
export interface ArgoCdConfig {
  /** Base URL; its path is kept as a prefix (Argo CD's `--rootpath`). */
  readonly serverUrl: string;
  readonly token: string;
  /** Accepts any certificate, for this client only. */
  readonly insecure: boolean;
  readonly renderConcurrency: number;
  readonly renderTimeoutMs: number;
  readonly syncTimeoutMs: number;
  /** For every call except renders. */
  readonly requestTimeoutMs: number;
  readonly pollIntervalMs: number;
}

const MEBIBYTE = 1024 * 1024;
/** One over gRPC-Web answers a question of some hundred KiB. */
const MAXIMUM_GRPC_BODY = 16 * MEBIBYTE;
/** An error over gRPC-Web is a header, and Kubernetes quotes whole templates of Pods. */
const MAXIMUM_HEADERS = MEBIBYTE;
/** Waits before the first and the second retry of a read. */
const RETRY_WAITS_MS = [250, 1000] as const;

/**
 * Every query parameter that svc sends. Argo CD silently ignores unknown names, and a misspelt `cascade` deletes the live
 * objects: so the names are written only here, and `cascade` can only be false.
 */
export interface Query {
  readonly fields?: string;
  readonly selector?: string;
  readonly project?: string;
  readonly appNamespace?: string;
  readonly appsetNamespace?: string;
  readonly revision?: string;
  readonly sourcePositions?: readonly number[];
  readonly revisions?: readonly string[];
  readonly noCache?: boolean;
  readonly refresh?: "normal";
  readonly validate?: false;
  readonly cascade?: false;
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path below the server's URL, segment by segment, not encoded. */
  readonly path: readonly string[];
  readonly query?: Query | undefined;
  readonly body?: Json;
  /** The permission that the call needs, for messages: `applications, get`. */
  readonly permission: string;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The call has no effect, so it is retried after a transient failure, like every `GET`. */
  readonly repeatable?: boolean;
}

/** A call without an effect over gRPC-Web, for what Argo CD does not offer over REST. It is not retried. */
interface GrpcCall extends Pick<Call, "permission" | "signal"> {
  /** `/<service>/<method>`. */
  readonly path: string;
  readonly message: Uint8Array;
  readonly timeoutMs: number;
}

/** Argo CD's API. Calls throw an `ArgoCdFailure`. */
export interface Client {
  call(call: Call): Promise<unknown>;
  /** For answers that may be too large to be read here; see `readLarge`. */
  unread(call: Call): Promise<UnreadAnswer>;
  grpc(call: GrpcCall): Promise<Uint8Array>;
  close(): Promise<void>;
}

export function createClient(config: ArgoCdConfig, parts: { clock: Clock; log: Log }): Client {
  const base = new URL(config.serverUrl);
  const prefix = base.pathname.replace(/\/+$/, "");
  // `requestBytes` sets the time-outs. The certificate check is off for these connections only, never for the process.
  const connections = createDispatcher({
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAXIMUM_HEADERS,
    insecure: config.insecure,
    connectTimeout: config.requestTimeoutMs,
  });

  async function answerOf(asked: Call, leavePacked: boolean): Promise<BinaryAnswer> {
    const deadline = performance.now() + (asked.timeoutMs ?? config.requestTimeoutMs);
    const waits = asked.method === "GET" || asked.repeatable === true ? [...RETRY_WAITS_MS] : [];
    for (;;) {
      try {
        return await once(asked, leavePacked, deadline - performance.now());
      } catch (error) {
        const wait = waits.shift();
        if (!(error instanceof ArgoCdFailure) || !error.transient || wait === undefined) throw error;
        const pause = Math.max(wait, error.retryAfterMs ?? 0);
        if (pause >= deadline - performance.now()) throw error;
        await parts.clock.sleep(pause, asked.signal);
      }
    }
  }

  async function once(asked: Call, leavePacked: boolean, timeoutMs: number): Promise<BinaryAnswer> {
    asked.signal?.throwIfAborted();
    const path = `${prefix}/${asked.path.map(encodeSegment).join("/")}`;
    const url = new URL(path + queryText(asked.query ?? {}), base.origin);
    const started = performance.now();
    const limits = { timeoutMs: Math.max(1, timeoutMs), maxBytes: MAXIMUM_BODY, signal: asked.signal };
    const whole = asked.timeoutMs ?? config.requestTimeoutMs;
    const request = { ...requestOf(url, asked), leavePacked };
    const answer = await explained(requestBytes(connections, request, limits), limits, whole);
    const { status, headers, bytes } = answer;
    const durationMs = Math.round(performance.now() - started);
    parts.log.debug({ method: asked.method, path, status, durationMs }, "called Argo CD");
    if (status >= 300 && status < 400) throw redirectProblem(url, headers.get("location"), path.slice(prefix.length));
    if (status < 200 || status > 299) {
      const { method, permission } = asked;
      const retryAfter = headers.get("retry-after");
      throw interpretError({
        status,
        body: withoutToken(bytes.toString()),
        retryAfter,
        now: parts.clock.now(),
        method,
        path,
        permission,
      });
    }
    if (isHtml(beginningOf(answer))) {
      const where = `${base.origin}${base.pathname}`;
      const message = `Argo CD at ${where} answered with an HTML page instead of JSON: check argocd.server_url`;
      throw new ArgoCdFailure("failed", message, { maybeDone: true });
    }
    return answer;
  }

  async function grpc({ path, message, permission, timeoutMs, signal }: GrpcCall): Promise<Uint8Array> {
    const url = new URL(prefix + path, base.origin);
    const headers = { "content-type": GRPC_WEB, "user-agent": SERVICE, token: config.token };
    const limits = { timeoutMs: Math.max(1, timeoutMs), maxBytes: MAXIMUM_GRPC_BODY, signal };
    const started = performance.now();
    const asked = { url, method: "POST", headers, body: framed(message) } as const;
    const {
      status,
      headers: given,
      bytes,
    } = await explained(requestBytes(connections, asked, limits), limits, timeoutMs);
    const durationMs = Math.round(performance.now() - started);
    parts.log.debug({ method: "POST", path: url.pathname, status, durationMs }, "called Argo CD");
    if (status >= 300 && status < 400) throw redirectProblem(url, given.get("location"), path);
    const request = { method: "POST", path: url.pathname, permission, now: parts.clock.now() };
    const retryAfter = given.get("retry-after");
    if (status !== 200) {
      const body = withoutToken(bytes.toString());
      throw interpretError({ ...request, status, body, retryAfter });
    }
    const answer = readGrpcAnswer(given, bytes);
    switch (answer.kind) {
      case "message":
        return answer.message;
      case "error": {
        const body = JSON.stringify({ code: answer.code, message: withoutValues(withoutToken(answer.text)) });
        throw interpretError({ ...request, status, body, retryAfter });
      }
      case "unreadable":
        throw new ArgoCdFailure(
          "failed",
          `Argo CD at ${base.origin} gave an unreadable answer to a gRPC-Web call: check argocd.server_url and the proxy in front of it`,
        );
    }
  }

  /** @throws the signal's reason if the caller aborted. */
  async function explained<T>(fetched: Promise<T>, limits: AnswerLimits, wholeMs: number): Promise<T> {
    try {
      return await fetched;
    } catch (error) {
      limits.signal?.throwIfAborted();
      if (error instanceof AnswerTooLarge) throw tooLarge(limits.maxBytes, error);
      if (!(error instanceof AnswerTimedOut)) throw connectionProblem(error);
      const seconds = Math.max(1, Math.round(wholeMs / 1000));
      const message = `failed to connect to Argo CD: no answer within ${seconds} s`;
      throw new ArgoCdFailure("unreachable", message, { maybeDone: true, cause: error });
    }
  }

  /** A proxy may send the request's headers back. */
  function withoutToken(text: string): string {
    return config.token === "" ? text : text.replaceAll(config.token, "***");
  }

  function requestOf(url: URL, { method, body }: Call): Parameters<typeof requestBytes>[1] {
    const headers: Record<string, string> = {
      accept: "application/json",
      "accept-encoding": "gzip",
      authorization: `Bearer ${config.token}`,
      "user-agent": SERVICE,
    };
    // Argo CD answers 415 to any other value, even for a call without a body.
    if (method !== "GET") headers["content-type"] = "application/json";
    return { url, method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
  }

  return {
    call: async (asked) => readAnswer((await answerOf(asked, false)).bytes.toString()),
    async unread(asked) {
      const { bytes, packed } = await answerOf(asked, true);
      return packed ? { gzip: bytes } : bytes.toString();
    },
    grpc,
    close: () => connections.close(),
  };
}

function queryText(query: Query): string {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query) as [string, Query[keyof Query]][]) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) text.append(name, String(one));
  }
  return text.size === 0 ? "" : `?${text.toString()}`;
}

/** URL parsing would resolve `.` and `..`; no Kubernetes object has such a name. */
function encodeSegment(segment: string): string {
  if (segment === "" || segment === "." || segment === "..") {
    throw new ArgoCdFailure("not-found", `"${segment}" cannot be the name of an application`);
  }
  return encodeURIComponent(segment);
}

/** https://grpc.io/docs/platforms/web/ */
const GRPC_WEB = "application/grpc-web+proto";

const HEADER_LENGTH = 5;
const TRAILERS = 0x80;

type GrpcAnswer =
  | { readonly kind: "message"; readonly message: Uint8Array }
  | { readonly kind: "error"; readonly code: number; readonly text: string }
  /** Not gRPC-Web, compressed, or cut. */
  | { readonly kind: "unreadable" };

/** A message in its frame: a flag, the length in four bytes, and the message. */
export function framed(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(HEADER_LENGTH + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, HEADER_LENGTH);
  return frame;
}

/** A refused call has its status in the headers and no body. Otherwise a message and a frame with the trailers follow. */
export function readGrpcAnswer(headers: AnswerHeaders, bytes: Uint8Array): GrpcAnswer {
  if (!(headers.get("content-type") ?? "").startsWith("application/grpc-web")) return { kind: "unreadable" };
  const early = statusIn((name) => headers.get(name));
  if (early !== undefined && early.code !== 0) return { kind: "error", ...early };
  const frames = readFrames(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const trailers = frames?.find(({ flag }) => flag === TRAILERS);
  const status = trailers && statusIn(membersOf(trailers.content.toString()));
  if (status === undefined) return { kind: "unreadable" };
  if (status.code !== 0) return { kind: "error", ...status };
  const message = frames?.find(({ flag }) => flag === 0);
  return message === undefined ? { kind: "unreadable" } : { kind: "message", message: message.content };
}

interface Frame {
  readonly flag: number;
  readonly content: Buffer;
}

/** Undefined if the bytes end within a frame. */
function readFrames(bytes: Buffer): readonly Frame[] | undefined {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes.length - at < HEADER_LENGTH) return undefined;
    const end = at + HEADER_LENGTH + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) return undefined;
    frames.push({ flag: bytes.readUInt8(at), content: bytes.subarray(at + HEADER_LENGTH, end) });
    at = end;
  }
  return frames;
}

function membersOf(trailers: string): (name: string) => string | undefined {
  const lines = trailers.split(/\r?\n/).map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  const members = new Map(lines);
  return (name) => members.get(name);
}

function statusIn(member: (name: string) => string | undefined): { code: number; text: string } | undefined {
  const status = member("grpc-status");
  if (status === undefined || !/^\d{1,3}$/.test(status)) return undefined;
  return { code: Number(status), text: unescaped(beginning(member("grpc-message") ?? "")) };
}

/** Characters of an error, which may quote whole objects; people are shown 4,000. */
const MAXIMUM_TEXT = 64 * 1024;

/** Cuts a text after a whole word: the mask for a token would miss half of one. */
function beginning(text: string): string {
  if (text.length <= MAXIMUM_TEXT) return text;
  const cut = text.slice(0, MAXIMUM_TEXT);
  return cut.slice(0, cut.lastIndexOf(" ") + 1);
}

/** gRPC writes everything but printable ASCII as `%` and two digits. Argo CD leaves most texts as they are. */
function unescaped(text: string): string {
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString());
}

const QUOTING = /((?:Invalid|Unsupported|Duplicate) value: )/;

/** An error of Kubernetes without the values that it quotes, which may be long or secret: `spec.selector: field is immutable`. */
export function withoutValues(text: string): string {
  const [first = "", ...rest] = text.split(QUOTING);
  const kept = rest.map((part, index) => {
    if (index % 2 === 1) return "";
    const behind = behindValue(rest[index + 1] ?? "");
    // `field is immutable` says all; what is duplicate or unsupported would be a riddle without the word.
    return part.startsWith("Invalid") ? behind.replace(/^: /, "") : part.replace(/: $/, "") + behind;
  });
  return [first, ...kept].join("").trim();
}

/** What follows a value as Go prints it: a string, a number, JSON, or a struct. Nothing follows one that was cut off. */
function behindValue(text: string): string {
  return text.slice(endOfValue(text));
}

function endOfValue(text: string): number {
  const string = /^"(?:[^"\\]|\\[^]?)*(?:"|$)/.exec(text);
  if (string !== null) return string[0].length;
  const opening = /^[&*\w.[\]]{0,200}[{[]/.exec(text);
  if (opening === null) return /^[^:,\]\n]*/.exec(text)?.[0].length ?? 0;
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[^]?)*(?:"|$)|[[{]|[\]}]/g)) {
    if (token === "{" || token === "[") depth += 1;
    if (token !== "}" && token !== "]") continue;
    depth -= 1;
    // A type such as `[]string{…}` closes a bracket before its braces open.
    if (depth <= 0 && !/^[\w.*]{0,100}\{/.test(text.slice(index + 1, index + 102))) return index + 1;
  }
  return text.length;
}

/**
 * Explains a redirect. svc follows none, because that would send the token along. Argo CD with TLS redirects plain HTTP to
 * https; other redirects come from a proxy or a missing path prefix.
 * @param apiPath The path below the configured URL, from which the right base URL follows.
 */
function redirectProblem(from: URL, location: string | undefined, apiPath: string): ArgoCdFailure {
  const target = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target === undefined) {
    return new ArgoCdFailure(
      "failed",
      `Argo CD at ${from.origin} redirects without saying where: check argocd.server_url`,
    );
  }
  const path = target.pathname.slice(0, 200);
  const cure = path.endsWith(apiPath)
    ? `set argocd.server_url to ${target.origin}${path.slice(0, path.length - apiPath.length)}`
    : "set argocd.server_url to the address that answers the API itself";
  return new ArgoCdFailure(
    "failed",
    `Argo CD at ${from.origin} redirects to ${target.origin}${path}, which is not followed because of the token: ${cure}`,
  );
}
