import * as z from "zod";
import { privateKey } from "../config/server/server-parts.js";
import { HostFailure } from "../core/model/errors.js";
import { parseJson } from "../core/model/json.js";
import type { Clock } from "../core/ports/clock.js";
import { GITHUB } from "../hosts/github/words.js";
import { createHostFetch } from "../hosts/host-fetch.js";
import { refusalOf, type FailureWords } from "../hosts/host-refusal.js";
import { decodeAnswer, refusalMessage } from "../hosts/json-answer.js";
import { SERVICE } from "../names.js";

/** An App that GitHub has just registered, with the secrets that it shows this once. */
export interface RegisteredApp {
  readonly id: number;
  readonly slug: string;
  readonly privateKey: string;
  readonly webhookSecret: string;
  /** Where the owner chooses the repositories. */
  readonly installUrl: string;
}

/** Root of the REST API, without a final slash. */
export function apiOf(web: string): string {
  const { hostname } = new URL(web);
  if (hostname === "github.com") return "https://api.github.com";
  // https://docs.github.com/enterprise-cloud@latest/admin/data-residency/network-details-for-ghecom
  return hostname.endsWith(".ghe.com") ? `https://api.${hostname}` : `${web}/api/v3`;
}

const REQUEST_TIMEOUT_MS = 30_000;

const WORDS: FailureWords = {
  ...GITHUB,
  credentials: "to answer without credentials",
  credentialsCure: "register the App by hand, as the installation guide describes.",
  permissionCure: "register the App by hand, as the installation guide describes.",
  visibilityCure: "its code was used already, or is older than an hour. Start again on the page before.",
  addressKey: "--github",
};

const pem = z
  .string()
  .max(16_384)
  .transform((text) => privateKey(() => "").safeParse(text))
  .refine(({ success }) => success)
  .transform(({ data }) => data ?? "");
const appSchema = z.object({
  id: z.int().positive(),
  slug: z.string().regex(/^[A-Za-z0-9_-]{1,255}$/),
  pem,
  webhook_secret: z.string().regex(/^[!-~]{1,1024}$/),
  html_url: z.string().max(2048),
});

/**
 * Fetches the secrets of an App that was registered from a manifest. GitHub answers once, within an hour.
 * https://docs.github.com/rest/apps/apps#create-a-github-app-from-a-manifest
 * @param code Letters and digits that GitHub sent the browser back with.
 * @throws {HostFailure}
 */
export async function fetchRegisteredApp(web: string, code: string, clock: Clock): Promise<RegisteredApp> {
  const asked = "hand over the key of the new App";
  const api = apiOf(web);
  const hostFetch = createHostFetch({
    words: WORDS,
    origin: new URL(api).origin,
    clock,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    isRead: () => false,
    followsOwnRedirects: false,
    waits: () => ({ extend: () => undefined, end: () => undefined }),
  });
  const response = await hostFetch(`${api}/app-manifests/${encodeURIComponent(code)}/conversions`, {
    method: "POST",
    headers: { accept: "application/vnd.github+json", "user-agent": SERVICE },
  });
  const text = await response.text();
  if (!response.ok) {
    throw refusalOf(WORDS, asked, {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      message: refusalMessage(text),
      changing: true,
      now: clock.now(),
    });
  }
  try {
    const app = decodeAnswer(appSchema, parseJson(text), WORDS, asked, true);
    const { id, slug, webhook_secret: webhookSecret } = app;
    return { id, slug, privateKey: app.pem, webhookSecret, installUrl: installUrl(web, app.html_url, slug) };
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    const cure = "Delete the new App at GitHub, and register one by hand, as the installation guide describes.";
    throw new HostFailure(error.reason, `${error.message} ${cure}`, { cause: error });
  }
}

/** Self-hosted servers have Apps at another path than github.com, so the address comes from GitHub. */
function installUrl(web: string, htmlUrl: string, slug: string): string {
  const own = URL.canParse(htmlUrl) && new URL(htmlUrl).origin === new URL(web).origin;
  return own
    ? `${new URL(htmlUrl).href.replace(/[?#].*$/, "")}/installations/new`
    : `${web}/settings/apps/${slug}/installations`;
}
