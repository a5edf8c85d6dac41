import type { ApplicationSet } from "../model/application.js";
import { isJsonObject } from "../model/json.js";

/** What the controller does with applications that a set generated before, by the set's own `spec.syncPolicy`. */
export interface ApplicationSetPolicy {
  /** `applicationsSync`; `sync` when the set does not say. */
  readonly name: string;
  /** A changed definition is written to an application that exists. */
  readonly updates: boolean;
  /** An application that is no longer generated is deleted. */
  readonly deletes: boolean;
  /** What a deleted application has deployed stays in the cluster. */
  readonly keepsResources: boolean;
}

const RESOURCES_FINALIZER = "resources-finalizer.argocd.argoproj.io";

/**
 * The policy as the set has it (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Controlling-Resource-Modification/).
 * A policy of the whole controller (`--policy`) is not visible to clients.
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

/** Generated applications get the finalizer unless the template names its own ones. */
function hasFinalizer(spec: unknown): boolean {
  const template = isJsonObject(spec) && isJsonObject(spec.template) ? spec.template.metadata : undefined;
  const finalizers = isJsonObject(template) ? template.finalizers : undefined;
  if (!Array.isArray(finalizers) || finalizers.length === 0) return true;
  return finalizers.some((one: unknown) => typeof one === "string" && one.startsWith(RESOURCES_FINALIZER));
}
