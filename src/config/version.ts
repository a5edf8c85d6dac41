import { readFileSync } from "node:fs";

/** The version of this service, from its `package.json`. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const found = typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : "";
  return typeof found === "string" ? found : "";
}
