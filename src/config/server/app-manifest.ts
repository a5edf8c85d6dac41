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
export interface AppManifest extends z.output<typeof manifestSchema> {
  readonly redirect_url: string;
}

/**
 * Reads the App of `app.yml` for one installation of svc. @param name Name of the App; undefined means that of the
 * file. @param url Public address of svc, without a trailing slash.
 */
export function appManifest(app: {
  readonly name: string | undefined;
  readonly url: string;
  readonly redirectUrl: string;
  /** Whether others than its owner may install it. */
  readonly isPublic: boolean;
}): AppManifest {
  const file = manifestSchema.parse(parse(readFileSync(shippedFile("app.yml"), "utf8")));
  return {
    ...file,
    name: app.name ?? file.name,
    url: app.url,
    public: app.isPublic,
    hook_attributes: { ...file.hook_attributes, url: `${app.url}${WEBHOOK_PATHS.hosta}` },
    redirect_url: app.redirectUrl,
  };
}
