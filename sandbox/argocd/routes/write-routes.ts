import { enforce, mayDo, type Account } from "../accounts.js";
import { invalid, permissionDenied, unknown } from "../api-error.js";
import { findApplication, projectFor } from "../find-application.js";
import { applyJsonPatch } from "../json-patch.js";
import { isObject, mergePatch, objectAt, same, type Json, type JsonObject } from "../json.js";
import { normalizeSpec, presentApplication } from "../present.js";
import { repaired } from "../read-request.js";
import { zeroStatus, type Application, type ApplicationSpec, type Metadata } from "../resource.js";
import { applicationSpec } from "../schemas/application-spec.js";
import { metadata as metadataSchema } from "../schemas/application.js";
import type { ApplicationRequest, EndpointId, PatchRequest } from "../schemas/endpoints.js";
import { validateSpec } from "../validate-spec.js";
import { accountOf, flag, text, type Call, type Handler } from "./call.js";

const kubernetesName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export const writeRoutes = {
  async create(call) {
    const { world } = call;
    const account = accountOf(call);
    const { metadata, spec, status } = call.body as ApplicationRequest;
    const name = metadata.name ?? "";
    const namespace = metadata.namespace ?? world.options.controlNamespace;
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
    if (existing !== undefined) return updateExisting(call, account, existing, proposed);
    // A posted status is stored, a posted operation is not.
    const merged = mergePatch(zeroStatus(), status ?? {});
    const created = world.store(stored, proposed.spec, isObject(merged) ? merged : zeroStatus());
    world.log(account, "create", created);
    return presentApplication(created);
  },
  async update(call) {
    const { metadata, spec } = call.body as ApplicationRequest;
    const wanted = { name: call.parameters.name ?? "", namespace: metadata.namespace, project: text(call, "project") };
    const application = findApplication(call.world, accountOf(call), "update", wanted);
    await write(
      call,
      application,
      { spec, labels: metadata.labels, annotations: metadata.annotations, finalizers: metadata.finalizers },
      flag(call, "validate", true),
    );
    return presentApplication(application);
  },
  async "update-spec"(call) {
    const wanted = {
      name: call.parameters.name ?? "",
      namespace: text(call, "appNamespace"),
      project: text(call, "project"),
    };
    const application = findApplication(call.world, accountOf(call), "update", wanted);
    const { labels, annotations, finalizers } = application.metadata;
    await write(
      call,
      application,
      { spec: call.body as ApplicationSpec, labels, annotations, finalizers },
      flag(call, "validate", true),
    );
    return application.spec;
  },
  async patch(call) {
    const { appNamespace, patch = "", patchType = "", project } = call.body as PatchRequest;
    const wanted = { name: call.parameters.name ?? "", namespace: appNamespace, project };
    const application = findApplication(call.world, accountOf(call), "get", wanted);
    enforce(accountOf(call), "applications", "update", call.world.rbacNameOf(application));
    const patched = applyPatch(presentApplication(application), patch, patchType);
    const metadata = repaired(
      metadataSchema,
      objectAt(patched, "metadata"),
      "Application.metadata",
      call.report,
    ) as Metadata;
    const spec = repaired(
      applicationSpec,
      objectAt(patched, "spec"),
      "Application.spec",
      call.report,
    ) as ApplicationSpec;
    await write(
      call,
      application,
      { spec, labels: metadata.labels, annotations: metadata.annotations, finalizers: metadata.finalizers },
      true,
    );
    return presentApplication(application);
  },
} satisfies Partial<Record<EndpointId, Handler>>;

interface Written {
  readonly spec: ApplicationSpec;
  readonly labels: Metadata["labels"];
  readonly annotations: Metadata["annotations"];
  readonly finalizers: Metadata["finalizers"];
}

/** Writes over whatever is there: there is no optimistic concurrency. */
async function write(call: Call, application: Application, written: Written, validate: boolean): Promise<void> {
  const { world, controller } = call;
  const account = accountOf(call);
  const spec = normalizeSpec(written.spec);
  const { name, namespace } = application.metadata;
  if (world.projectOf(spec) !== world.projectOf(application.spec)) {
    if (!mayDo(account, "applications", "create", world.rbacName(namespace, name, world.projectOf(spec)))) {
      throw permissionDenied();
    }
  }
  await validateSpec(world, controller, { ...application, spec }, validate);
  application.spec = spec;
  const { labels, annotations, finalizers } = written;
  application.metadata = { ...application.metadata, labels, annotations, finalizers };
  world.touch(application);
  world.log(account, "update", application);
  controller.markStale(application);
  controller.markParentsStale(application);
}

/** Equal is fine; different needs `upsert` and the right to update. Labels and annotations are then merged. */
async function updateExisting(
  call: Call,
  account: Account,
  existing: Application,
  proposed: Application,
): Promise<JsonObject> {
  const view = ({ metadata, spec }: Application): Json =>
    [spec, metadata.labels ?? {}, metadata.annotations ?? {}, metadata.finalizers ?? []] as Json;
  if (same(view(existing), view(proposed))) return presentApplication(existing);
  if (!flag(call, "upsert", false)) {
    throw invalid("existing application spec is different, use upsert flag to force update");
  }
  enforce(account, "applications", "update", call.world.rbacNameOf(proposed));
  const labels = { ...existing.metadata.labels, ...proposed.metadata.labels };
  const annotations = { ...existing.metadata.annotations, ...proposed.metadata.annotations };
  await write(
    call,
    existing,
    { spec: proposed.spec, labels, annotations, finalizers: proposed.metadata.finalizers },
    false,
  );
  return presentApplication(existing);
}

function applyPatch(document: JsonObject, patch: string, patchType: string): Json {
  try {
    const parsed = JSON.parse(patch) as Json;
    if (patchType === "json") return applyJsonPatch(document, Array.isArray(parsed) ? parsed.filter(isObject) : []);
    if (patchType === "merge") return mergePatch(document, parsed);
  } catch (error) {
    throw unknown(`error applying patch: ${error instanceof Error ? error.message : ""}`);
  }
  throw invalid(`Patch type '${patchType}' is not supported`);
}

function invalidName(name: string): string {
  const value = `metadata.name: Invalid value: "${name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character`;
  const hint =
    "(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  return `error creating application: Application.argoproj.io "${name}" is invalid: ${value} ${hint}`;
}
