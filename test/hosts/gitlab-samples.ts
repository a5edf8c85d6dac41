import { readFileSync } from "node:fs";
import { derive } from "./github-samples.js";

/** A sample of a GitLab webhook's body, composed after GitLab's documentation. */
export function sample(name: string, changes: Record<string, unknown> = {}): Record<string, unknown> {
  const file = new URL(`../fixtures/gitlab/${name}.json`, import.meta.url);
  return derive(JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>, changes);
}
