import { PROVIDER_TIMEOUT_MS } from "./oauth-client.js";

const MOST_BYTES = 2 * 1024 * 1024;

/** Why an answer of a provider's API cannot be used; `status` is 0 when none came. */
export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
  constructor(
    readonly status: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined when there is none or it is no JSON. */
  readonly body: unknown;
}

/** Reads from a provider's API in the name of one person. */
export interface ProviderApi {
  /**
   * @param path from the API's root, its parts encoded.
   * @throws {ProviderFailure} when no answer came, or one that sends elsewhere or is too large.
   */
  get(path: string): Promise<ApiAnswer>;
}

/** The token goes to `apiUrl` alone: a redirect is not followed. */
export function providerApi(apiUrl: string, token: string, headers: Readonly<Record<string, string>>): ProviderApi {
  return {
    async get(path) {
      let response: Response;
      let text: string | undefined;
      try {
        response = await fetch(apiUrl + path, {
          headers: { accept: "application/json", ...headers, authorization: `Bearer ${token}` },
          redirect: "manual",
          signal: AbortSignal.timeout(PROVIDER_TIMEOUT_MS),
        });
        text = await readText(response);
      } catch (cause) {
        throw new ProviderFailure(0, "no answer came", { cause });
      }
      const { status } = response;
      if (text === undefined) throw new ProviderFailure(status, "the answer is too large");
      if (status >= 300 && status < 400) throw new ProviderFailure(status, "it sends elsewhere");
      return { status, headers: response.headers, body: parsed(text) };
    },
  };
}

async function readText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MOST_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // JSON.parse has no way to ask first
  }
}
