import { randomBytes } from "node:crypto";
import { describesWebhook, wrongInPermissions } from "./description.js";
import { isObject, type JsonObject } from "./examples.js";

/** A registered App, until its secrets are fetched. */
export interface Registration {
  readonly manifest: JsonObject;
  readonly expiresAt: number;
}

/** "You must complete this step of the GitHub App Manifest flow within one hour." */
const LIFETIME_MS = 60 * 60_000;
const LONGEST_NAME = 34;

/** The parameters of https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest */
const PARAMETERS: Readonly<Record<string, string>> = {
  name: "string",
  url: "string",
  hook_attributes: "object",
  redirect_url: "string",
  callback_urls: "array",
  setup_url: "string",
  description: "string",
  public: "boolean",
  default_events: "array",
  default_permissions: "object",
  request_oauth_on_install: "boolean",
  setup_on_update: "boolean",
};

/** What each event needs to be received: https://docs.github.com/webhooks/webhook-events-and-payloads */
const NEEDED: Readonly<Record<string, string>> = {
  pull_request: "pull_requests",
  pull_request_review: "pull_requests",
  issue_comment: "issues",
  push: "contents",
};

/** Apps that were registered from a manifest. */
export class Registrations {
  readonly #byCode = new Map<string, Registration>();

  /** @returns The code that its secrets are fetched with, once. */
  add(manifest: JsonObject, now: number): string {
    const code = randomBytes(20).toString("hex");
    this.#byCode.set(code, { manifest, expiresAt: now + LIFETIME_MS });
    return code;
  }

  take(code: string, now: number): Registration | undefined {
    const found = this.#byCode.get(code);
    this.#byCode.delete(code);
    return found !== undefined && found.expiresAt > now ? found : undefined;
  }
}

/** What GitHub would not accept; empty for a manifest that it does. */
export function wrongInManifest(manifest: unknown): string[] {
  if (!isObject(manifest)) return ["the manifest is no JSON object"];
  const {
    name,
    url,
    hook_attributes: hook,
    redirect_url: redirect,
    default_permissions: asked,
    default_events: events,
  } = manifest;
  const permissions = isObject(asked) ? asked : {};
  return [
    ...Object.entries(manifest).flatMap(([key, value]) => {
      const kind = Array.isArray(value) ? "array" : typeof value;
      return PARAMETERS[key] === kind
        ? []
        : [`manifest.${key} is not described, or no ${PARAMETERS[key] ?? "parameter"}`];
    }),
    ...(typeof name === "string" && name.length > LONGEST_NAME ? ["Name is too long (maximum is 34 characters)"] : []),
    ...(isAddress(url) ? [] : ["Url can't be blank"]),
    ...(hook === undefined || (isObject(hook) && isAddress(hook.url)) ? [] : ["Hook url can't be blank"]),
    ...(hook === undefined && Array.isArray(events) && events.length > 0 ? ["Hook url can't be blank"] : []),
    ...(redirect === undefined || isAddress(redirect) ? [] : ["Redirect url must be an address"]),
    ...wrongInPermissions(permissions),
    ...(Array.isArray(events) ? events : []).flatMap((event: unknown) => {
      if (typeof event !== "string" || !describesWebhook(event)) {
        return [`Default events: ${String(event)} is no event`];
      }
      const needed = NEEDED[event];
      return needed === undefined || needed in permissions
        ? []
        : [`Default events are not supported by permissions: ${event}`];
    }),
  ];
}

function isAddress(value: unknown): boolean {
  return typeof value === "string" && /^https?:/.test(value) && URL.canParse(value);
}
