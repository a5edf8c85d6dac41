import { applicationName, type ApplicationName } from "../../core/model/brand.js";

/** An Application in Kubernetes; no namespace means Argo CD's own. */
export interface ResourceId {
  readonly namespace: string | undefined;
  readonly resourceName: string;
}

/** Kubernetes accepts no other names, so others need no request. */
const RESOURCE_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** svc's name: the bare one in Argo CD's own namespace, else with the namespace in front. */
export function nameOfResource(
  namespace: string | undefined,
  resourceName: string,
  controllerNamespace: string,
): ApplicationName {
  const own = ownNamespace(namespace, controllerNamespace);
  return applicationName(own === undefined ? resourceName : `${own}/${resourceName}`);
}

/** Undefined for Argo CD's own namespace, however it is written. */
export function ownNamespace(namespace: string | null | undefined, controllerNamespace: string): string | undefined {
  if (namespace === undefined || namespace === null || namespace === "") return undefined;
  return namespace === controllerNamespace ? undefined : namespace;
}

/** The inverse of `nameOfResource`; undefined if no Kubernetes object can have the name. */
export function parseName(name: ApplicationName, controllerNamespace: string): ResourceId | undefined {
  const slash = name.indexOf("/");
  const resourceName = name.slice(slash + 1);
  const namespace = slash === -1 ? undefined : name.slice(0, slash);
  if (!RESOURCE_NAME.test(resourceName)) return undefined;
  if (namespace !== undefined && !RESOURCE_NAME.test(namespace)) return undefined;
  return { namespace: ownNamespace(namespace, controllerNamespace), resourceName };
}

/** An application's name in Argo CD's tracking and in `ARGOCD_APP_NAME`: `<namespace>_<name>` outside its own namespace. */
export function instanceName(resource: ResourceId): string {
  return resource.namespace === undefined ? resource.resourceName : `${resource.namespace}_${resource.resourceName}`;
}

/** The inverse of `instanceName`: neither namespaces nor names can contain a `_`. */
export function nameOfInstance(instance: string, controllerNamespace: string): ApplicationName {
  const cut = instance.indexOf("_");
  if (cut === -1) return applicationName(instance);
  return nameOfResource(instance.slice(0, cut), instance.slice(cut + 1), controllerNamespace);
}
