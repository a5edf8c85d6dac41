import { createHash } from "node:crypto";
import { IN_CLUSTER } from "../core/model/application.js";
import { isUrl } from "../core/model/effect.js";
import type { ShownDeployment } from "../core/ports/code-host.js";

/**
 * The same on every host: https://docs.github.com/actions/how-tos/deploy/configure-and-manage-deployments/manage-environments
 * and https://gitlab.com/gitlab-org/gitlab/-/blob/master/app/models/environment.rb
 */
const LONGEST = 255;
const HASH_DIGITS = 8;

/**
 * Names the environment of an application, with letters, digits, dots, dashes, underscores and slashes, which every host accepts.
 * Names of clusters and namespaces get no slash, so that two applications never get the same name.
 * @param template from the configuration, with `{application}`, `{cluster}` and `{namespace}`.
 */
export function environmentName(
  template: string,
  { application, destination }: Pick<ShownDeployment, "application" | "destination">,
): string {
  const values: Readonly<Record<string, string>> = {
    application: application.split("/").map(plain).join("/"),
    cluster: plain(clusterName(destination.cluster)),
    namespace: plain(destination.namespace),
  };
  const name = template.replace(/\{(\w+)\}/g, (all, key: string) => values[key] ?? all);
  if (name.length <= LONGEST) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, HASH_DIGITS);
  return `${name.slice(0, LONGEST - HASH_DIGITS - 1)}-${hash}`;
}

function clusterName(cluster: string): string {
  if (cluster === IN_CLUSTER) return "in-cluster";
  return isUrl(cluster) ? cluster.replace(/^https?:\/\//i, "") : cluster;
}

/** Replaces other characters. Never empty: an empty part would shift the others. */
function plain(text: string): string {
  const allowed = text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+|[.-]+$/g, "");
  return allowed === "" ? "_" : allowed;
}
