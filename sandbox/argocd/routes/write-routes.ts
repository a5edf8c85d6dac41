import { enforce } from "../accounts.js";
import { invalid } from "../api-error.js";
import { findApplication, projectFor } from "../find-application.js";
import { isObject, mergePatch, same, type Json, type JsonObject } from "../json.js";
import { knownTo, normalizeSpec, presentApplication } from "../present.js";
import { zeroStatus, type Application, type ApplicationSpec, type Metadata } from "../resource.js";
import type { ApplicationRequest, EndpointId } from "../schemas/endpoints.js";
import { validateSpec } from "../validate-spec.js";
import { controlNamespace } from "../world.js";
import { accountOf, flag, text, type Handler } from "./call.js";

const kubernetesName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export const writeRoutes = {
  async create(call) {
    const { world } = call;
    const account = accountOf(call);
    const { metadata, spec, status } = call.body as ApplicationRequest;
    const name = metadata.name ?? "";
    const namespace = metadata.namespace ?? controlNamespace;
    enforce(account, "applications", "create", world.rbacName(namespace, name, world.projectOf(spec)));
    projectFor(world, world.projectOf(spec), namespace);
    const stored: Metadata & { name: string } = {
      name,
      namespace,
      annotations: metadata.annotations,
      labels: metadata.labels,
      finalizers: metadata.finalizers,
      ownerReferences: metadata.ownerReferences,
    };
    const proposed: Application = {
      metadata: { ...stored, namespace },
      spec: normalizeSpec(spec),
      status: {},
      history: [],
    };
    if (name === "") throw invalid("application name is required");
    await validateSpec(world, call.controller, proposed, flag(call, "validate", true));
    if (!kubernetesName.test(name) || name.length > 253) throw invalid(invalidName(name));
    const existing = world.find(namespace, name);
    if (existing !== undefined) return existingIfEqual(existing, proposed);
    // A posted status is stored, a posted operation is not.
    const merged = mergePatch(zeroStatus(), status ?? {});
    const created = world.store(stored, proposed.spec, isObject(merged) ? merged : zeroStatus());
    world.log(account, "create", created);
    return presentApplication(created);
  },
  async "update-spec"(call) {
    const { world, controller } = call;
    const account = accountOf(call);
    const wanted = {
      name: call.parameters.name ?? "",
      namespace: text(call, "appNamespace"),
      project: text(call, "project"),
    };
    const application = findApplication(world, account, "update", wanted);
    const spec = knownTo(world.options.version, normalizeSpec(call.body as ApplicationSpec));
    await validateSpec(world, controller, { ...application, spec }, flag(call, "validate", true));
    // There is no optimistic concurrency: the last write wins.
    application.spec = spec;
    world.touch(application);
    world.log(account, "update", application);
    controller.markStale(application);
    controller.markParentsStale(application);
    return spec;
  },
} satisfies Partial<Record<EndpointId, Handler>>;

/** Creating an Application that exists with the same content returns the existing one. */
function existingIfEqual(existing: Application, proposed: Application): JsonObject {
  const view = ({ metadata, spec }: Application): Json =>
    [spec, metadata.labels ?? {}, metadata.annotations ?? {}, metadata.finalizers ?? []] as Json;
  if (same(view(existing), view(proposed))) return presentApplication(existing);
  throw invalid("existing application spec is different, use upsert flag to force update");
}

function invalidName(name: string): string {
  const value = `metadata.name: Invalid value: "${name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character`;
  const hint =
    "(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  return `error creating application: Application.argoproj.io "${name}" is invalid: ${value} ${hint}`;
}
