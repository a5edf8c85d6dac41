import type { ApplicationSet } from "../../model/application.js";
import { isJsonObject } from "../../model/json.js";

/** What the controller does with generated applications, by the set's own `spec.syncPolicy`. */
export interface ApplicationSetPolicy {
  /** `applicationsSync`; `sync` by default. */
  readonly name: string;
  /** Existing applications get changed definitions. */
  readonly updates: boolean;
  /** Applications that are no longer generated are deleted. */
  readonly deletes: boolean;
  /** Objects of a deleted application stay in the cluster. */
  readonly keepsResources: boolean;
}

const RESOURCES_FINALIZER = "resources-finalizer.argocd.argoproj.io";

/**
 * Reads the set's policy
 * (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Controlling-Resource-Modification/).
 * Clients cannot see a policy of the whole controller (`--policy`).
 */
export function policyOf(set: ApplicationSet): ApplicationSetPolicy {
  const { spec } = set.resource;
  const policy = isJsonObject(spec) && isJsonObject(spec.syncPolicy) ? spec.syncPolicy : {};
  const name =
    typeof policy.applicationsSync === "string" && policy.applicationsSync !== "" ? policy.applicationsSync : "sync";
  return {
    name,
    updates: name !== "create-only" && name !== "create-delete",
    deletes: name !== "create-only" && name !== "create-update",
    keepsResources: policy.preserveResourcesOnDeletion === true || !hasFinalizer(spec),
  };
}

/** Generated applications get the finalizer unless the template lists its own. */
function hasFinalizer(spec: unknown): boolean {
  const template = isJsonObject(spec) && isJsonObject(spec.template) ? spec.template.metadata : undefined;
  const finalizers = isJsonObject(template) ? template.finalizers : undefined;
  if (!Array.isArray(finalizers) || finalizers.length === 0) return true;
  return finalizers.some((one: unknown) => typeof one === "string" && one.startsWith(RESOURCES_FINALIZER));
}
