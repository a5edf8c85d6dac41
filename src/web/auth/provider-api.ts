import type { CustomFetch } from "openid-client";
import { type Answer, AnswerTooLarge, fetchText, responseOf } from "../../http/fetch-text.js";

/** Why an answer of a provider's API cannot be used. */
export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
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
      let answer: Answer;
      try {
        answer = await fetchText(
          apiUrl + path,
          {
            headers: { accept: "application/json", ...headers, authorization: `Bearer ${token}` },
            redirect: "manual",
          },
          PROVIDER_LIMITS,
        );
      } catch (cause) {
        if (cause instanceof AnswerTooLarge) throw new ProviderFailure("the answer is too large", { cause });
        throw new ProviderFailure("no answer came", { cause });
      }
      const { status } = answer;
      if (status >= 300 && status < 400) throw new ProviderFailure("it sends elsewhere");
      return { status, headers: answer.headers, body: parsed(answer.text) };
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // JSON.parse has no way to ask first
  }
}

/** What an answer of a provider may take. */
export const PROVIDER_LIMITS = { timeoutMs: 10_000, maxBytes: 2 * 1024 * 1024 } as const;

/** The same limits for openid-client, whose own deadline comes first and has its own error. */
export const providerFetch: CustomFetch = async (url, { method, headers, body, redirect, signal }) => {
  const limits = { ...PROVIDER_LIMITS, timeoutMs: PROVIDER_LIMITS.timeoutMs + 1_000, signal };
  return responseOf(await fetchText(url, { method, headers, body, redirect }, limits));
};
