import { z } from "zod";
import { AnswerTimedOut, createDispatcher, fetchText } from "../../src/http/fetch-text.js";
import type { ArgoCdAccess } from "./options.js";

/** Longer than Argo CD lets its repo-server work on one render. */
const ANSWER_MS = 90_000;
const MAXIMUM_BYTES = 64 * 1024 * 1024;

/** A call failed. The message is a sentence for the person who started the run; it never holds the token. */
export class ArgoCdProblem extends Error {
  override readonly name = "ArgoCdProblem";

  constructor(
    message: string,
    /** The HTTP status of Argo CD's own answer. */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface ApiCall {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the address, encoded: `/api/v1/projects`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** Argo CD's API as the person with the token may use it. It shares nothing with svc's own client. */
export class ArgoCdApi {
  readonly #access: ArgoCdAccess;
  readonly #connections;

  constructor(access: ArgoCdAccess) {
    this.#access = access;
    const limits = { headersTimeout: 0, bodyTimeout: 0, connectTimeout: 10_000 };
    this.#connections = createDispatcher({ ...limits, insecure: access.insecure });
  }

  /** @throws {ArgoCdProblem} */
  async call<T>({ method, path, query = {}, body }: ApiCall, schema: z.ZodType<T>): Promise<T> {
    const { url, token } = this.#access;
    const search = new URLSearchParams(query).toString();
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    // Argo CD answers 415 to any other value, even for a call without a body.
    if (method !== "GET") headers["content-type"] = "application/json";
    const init: RequestInit = { method, headers, redirect: "manual", body: body && JSON.stringify(body) };
    const limits = { timeoutMs: ANSWER_MS, maxBytes: MAXIMUM_BYTES };
    const asked = `${url}${path}${search === "" ? "" : `?${search}`}`;
    const answer = await fetchText(asked, Object.assign(init, { dispatcher: this.#connections }), limits).catch(
      (error: unknown) => {
        throw unreachable(url, error);
      },
    );
    const { status, text } = answer;
    const said = messageIn(text).replaceAll(token, "***");
    if (status >= 300 && status < 400) {
      const target = answer.headers.get("location") ?? "";
      const where = URL.canParse(target, url) ? new URL(target, url).origin : "another address";
      throw new ArgoCdProblem(`${url} redirects to ${where}: give --argocd the address that answers itself`, status);
    }
    if (status === 401) {
      throw new ArgoCdProblem(
        `Argo CD does not accept the token: ${said}. Make a new one: argocd account generate-token`,
        401,
      );
    }
    if (status !== 200) throw new ArgoCdProblem(said, status);
    const parsed = schema.safeParse(jsonIn(text));
    if (parsed.success) return parsed.data;
    throw new ArgoCdProblem(`what answers at ${asked} is no Argo CD: check --argocd`, status);
  }

  close(): Promise<void> {
    return this.#connections.close();
  }
}

function unreachable(url: string, error: unknown): ArgoCdProblem {
  if (error instanceof AnswerTimedOut) return new ArgoCdProblem(`Argo CD at ${url} did not answer within 90 seconds`);
  const reason = reasonOf(error);
  const cure = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(reason)
    ? "; if its certificate is its own, add --insecure"
    : "; check --argocd, and that this machine reaches it";
  return new ArgoCdProblem(`Argo CD at ${url} cannot be reached: ${reason}${cure}`, undefined, { cause: error });
}

/** The code of the innermost error that has one: `fetch` wraps the socket's error as its cause. */
export function reasonOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "unknown reason";
  const inner = "cause" in error ? reasonOf(error.cause) : "unknown reason";
  if (inner !== "unknown reason") return inner;
  if ("code" in error && typeof error.code === "string") return error.code;
  return "message" in error && typeof error.message === "string" ? error.message : "unknown reason";
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const errorBody = z.object({ message: z.string() });

/** Argo CD's sentence in an error; routing errors are plain text. */
function messageIn(text: string): string {
  const parsed = errorBody.safeParse(jsonIn(text));
  return parsed.success ? parsed.data.message : text.trim().slice(0, 300);
}
