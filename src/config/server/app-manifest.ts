import { readFileSync } from "node:fs";
import { parse } from "yaml";
import * as z from "zod";
import { WEBHOOK_PATHS } from "../../names.js";
import { shippedFile } from "../files.js";

const manifestSchema = z.strictObject({
  name: z.string(),
  url: z.string(),
  description: z.string(),
  public: z.boolean(),
  hook_attributes: z.strictObject({ url: z.string(), active: z.literal(true) }),
  default_permissions: z.record(z.string(), z.enum(["read", "write"])),
  default_events: z.array(z.string()),
});

/** A manifest as GitHub takes it: https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest */
export interface AppManifest extends Omit<z.output<typeof manifestSchema>, "hook_attributes" | "default_events"> {
  readonly redirect_url: string;
  /** An App without a webhook has neither. */
  readonly hook_attributes?: { readonly url: string; readonly active: true };
  readonly default_events?: readonly string[];
}

/** Reads the App of `app.yml` for one installation of svc, with another name if one is given. */
export function appManifest(app: {
  readonly name: string | undefined;
  /** Its home page. */
  readonly url: string;
  /** Public address of svc, without a trailing slash; undefined if no webhooks reach it. */
  readonly hooks: string | undefined;
  readonly redirectUrl: string;
  /** Whether others than its owner may install it. */
  readonly isPublic: boolean;
}): AppManifest {
  const text = readFileSync(shippedFile("app.yml"), "utf8");
  const { hook_attributes: hook, default_events: events, ...file } = manifestSchema.parse(parse(text));
  return {
    ...file,
    name: app.name ?? file.name,
    url: app.url,
    public: app.isPublic,
    redirect_url: app.redirectUrl,
    // GitHub refuses the attributes without an address, and creates no webhook if there are none.
    ...(app.hooks !== undefined && {
      hook_attributes: { ...hook, url: `${app.hooks}${WEBHOOK_PATHS.hosta}` },
      default_events: events,
    }),
  };
}
