import type { ApplicationSpec } from "./application.js";
import { isJsonObject } from "./json.js";

/** Where an Application deploys to. */
export interface Destination {
  /** The cluster's address or name as the definition writes it. */
  readonly cluster: string;
  /** The namespace of objects that name none; empty if the definition has none. */
  readonly namespace: string;
}

/** Argo CD's own cluster has both: https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters */
export const IN_CLUSTER = "https://kubernetes.default.svc";

/** Reads `spec.destination`; members that are absent or of the wrong type are empty. */
export function destinationOf({ destination }: ApplicationSpec): Destination {
  const { server, name, namespace } = isJsonObject(destination) ? destination : {};
  const cluster = text(server) || text(name);
  return { cluster: cluster === "in-cluster" ? IN_CLUSTER : cluster.replace(/\/+$/, ""), namespace: text(namespace) };
}

/** Whether a cluster is written as its address, and not as its name. */
export function isUrl(cluster: string): boolean {
  return /^https?:\/\//i.test(cluster);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
