import type { CustomFetch } from "openid-client";
import { fetchText, responseOf } from "../../http/fetch-text.js";

/** What an answer of a provider may take. */
export const PROVIDER_LIMITS = { timeoutMs: 10_000, maxBytes: 2 * 1024 * 1024 } as const;

/** The same limits for openid-client, whose own deadline comes first and has its own error. */
export const providerFetch: CustomFetch = async (url, { method, headers, body, redirect, signal }) => {
  const limits = { ...PROVIDER_LIMITS, timeoutMs: PROVIDER_LIMITS.timeoutMs + 1_000, signal };
  return responseOf(await fetchText(url, { method, headers, body, redirect }, limits));
};
