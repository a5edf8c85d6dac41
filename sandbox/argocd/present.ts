import { isObject, listAt, omit, zeroless, type JsonObject } from "./json.js";
import type { Application, ApplicationSpec, Metadata } from "./resource.js";

/** As one GET shows it: the health of each resource is not stored, this call alone adds it. */
export function presentWithHealth(application: Application): JsonObject {
  return { ...presentApplication(application), status: statusOf(application) };
}

/** An Application as it goes out: empty members are left out, structures never are. */
export function presentApplication(application: Application): JsonObject {
  const { metadata, spec, operation } = application;
  const status = statusOf(application);
  const resources = listAt(status, "resources").map((resource) =>
    isObject(resource) ? omit(resource, "health") : resource,
  );
  return {
    metadata: presentMetadata(metadata),
    spec,
    status: resources.length === 0 ? status : { ...status, resources },
    ...(operation === undefined ? {} : { operation }),
  };
}

function statusOf({ status, history, operationState }: Application): JsonObject {
  return {
    ...status,
    ...(history.length === 0 ? {} : { history: history.map((entry): JsonObject => ({ ...entry })) }),
    ...(operationState === undefined ? {} : { operationState }),
  };
}

export function presentMetadata(metadata: Metadata): JsonObject {
  return zeroless(metadata);
}

/** A spec as it is stored: the project is filled in, what Go leaves out is gone, empty tool blocks too. */
export function normalizeSpec(spec: ApplicationSpec): ApplicationSpec {
  const { source, sources, syncPolicy, ignoreDifferences, info, ...rest } = spec;
  const policy =
    syncPolicy === undefined
      ? undefined
      : zeroless({ ...(syncPolicy as JsonObject), automated: undefined, retry: undefined });
  return {
    ...rest,
    project: spec.project === undefined || spec.project === "" ? "default" : spec.project,
    destination: zeroless(spec.destination),
    ...(source === undefined ? {} : { source: normalizeSource(source) }),
    ...(sources === undefined || sources.length === 0 ? {} : { sources: sources.map(normalizeSource) }),
    ...(policy === undefined ? {} : { syncPolicy: withPointers(policy, syncPolicy ?? {}) }),
    ...((ignoreDifferences?.length ?? 0) === 0 ? {} : { ignoreDifferences }),
    ...((info?.length ?? 0) === 0 ? {} : { info }),
  };
}

/** Without `retry.refresh`, which versions before 3.2 do not know and so do not store. */
export function knownTo(version: string, spec: ApplicationSpec): ApplicationSpec {
  const { retry } = spec.syncPolicy ?? {};
  if (retry?.refresh === undefined || !/^v(?:2|3\.[01])\./.test(version)) return spec;
  return { ...spec, syncPolicy: { ...spec.syncPolicy, retry: omit(retry, "refresh") } };
}

/** Members that are pointers in Go stay, even when they point to something empty: `automated: {}` means something. */
function withPointers(
  policy: JsonObject,
  { automated, retry, managedNamespaceMetadata }: NonNullable<ApplicationSpec["syncPolicy"]>,
): ApplicationSpec["syncPolicy"] {
  const { enabled, ...rest } = automated ?? {};
  const kept = { ...zeroless(rest), ...(enabled === undefined ? {} : { enabled }) };
  return {
    ...(policy as ApplicationSpec["syncPolicy"]),
    ...(automated === undefined ? {} : { automated: kept }),
    ...(retry === undefined ? {} : { retry: zeroless(retry) }),
    ...(managedNamespaceMetadata && { managedNamespaceMetadata: zeroless(managedNamespaceMetadata) }),
  };
}

function normalizeSource(source: NonNullable<ApplicationSpec["source"]>): NonNullable<ApplicationSpec["source"]> {
  const { repoURL, helm, kustomize, directory, plugin, ...rest } = source;
  return {
    ...zeroless(rest),
    repoURL,
    ...zeroless({
      helm: helmWithoutZeros(helm),
      kustomize: zeroless(kustomize ?? {}),
      directory: zeroless({ ...directory, jsonnet: zeroless(directory?.jsonnet ?? {}) }),
    }),
    ...(plugin === undefined ? {} : { plugin: zeroless(plugin) }),
  };
}

function helmWithoutZeros(helm: NonNullable<ApplicationSpec["source"]>["helm"]): JsonObject {
  const parameters = helm?.parameters?.map((parameter) => zeroless(parameter));
  const { valuesObject, ...rest } = helm ?? {};
  return {
    ...zeroless({ ...rest, parameters }),
    ...(valuesObject === undefined ? {} : { valuesObject: valuesObject }),
  };
}
