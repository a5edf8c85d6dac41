import { enforce, type Account } from "../accounts.js";
import { ApiError, codes, invalid, unknown } from "../api-error.js";
import { isObject, mergePatch, objectAt, type Json, type JsonObject } from "../json.js";
import { normalizeSpec, presentMetadata } from "../present.js";
import { repaired } from "../read-request.js";
import { zeroStatus, type ApplicationSpec, type Metadata } from "../resource.js";
import type { ApplicationSet, Generator } from "../schemas/application-set.js";
import { applicationSpec } from "../schemas/application-spec.js";
import { metadata as metadataSchema } from "../schemas/application.js";
import { controlNamespace, type World } from "../world.js";
import { readYaml } from "../yaml.js";
import { generatorParameters } from "./generator-parameters.js";
import { renderText, renderTexts, type TemplateStyle } from "./render-template.js";

/**
 * The Applications that a set would generate now. The set need not exist.
 * https://github.com/argoproj/argo-cd/blob/v3.5.1/server/applicationset/applicationset.go
 */
export async function generateApplications(world: World, account: Account, set: ApplicationSet): Promise<JsonObject[]> {
  const name = set.metadata.name ?? "";
  const namespace = set.metadata.namespace ?? controlNamespace;
  if (!world.isEnabled(namespace)) throw unknown(`namespace '${namespace}' is not permitted`);
  const project = set.spec.template.spec.project ?? "";
  if (project.includes("{{")) {
    throw unknown(
      "error validating ApplicationSets: the Argo CD API does not currently support creating ApplicationSets with templated `project` fields",
    );
  }
  enforce(account, "applicationsets", "create", world.rbacName(namespace, name, project));
  if (!world.projects.has(project)) throw invalid(`ApplicationSet references project ${project} which does not exist`);
  return generatedBy(world, set);
}

/** What the generators and the template of a set make. @throws {ApiError} if one of them fails. */
export async function generatedBy(world: World, set: ApplicationSet): Promise<JsonObject[]> {
  const style: TemplateStyle = {
    goTemplate: set.spec.goTemplate === true,
    strict: set.spec.goTemplateOptions?.includes("missingkey=error") === true,
  };
  const applications: JsonObject[] = [];
  for (const generator of set.spec.generators) applications.push(...(await ofGenerator(world, set, generator, style)));
  return applications;
}

async function ofGenerator(
  world: World,
  set: ApplicationSet,
  generator: Generator,
  style: TemplateStyle,
): Promise<JsonObject[]> {
  try {
    const parameters = await generatorParameters(generator, world.repositories, style);
    return parameters.map((one) => fromTemplate(set, generator, one, style));
  } catch (error) {
    // Errors of the repo-server pass through; of all others only the text survives.
    if (error instanceof ApiError && (error.code === codes.internal || error.code === codes.notFound)) throw error;
    const reason = error instanceof Error ? error.message : "";
    const log = `time="${world.timestamp()}" level=error msg="error generating application from params" applicationset=${set.metadata.name ?? ""}`;
    throw unknown(
      `unable to generate Applications of ApplicationSet: error generating applications: ${reason}\n${log}\n`,
    );
  }
}

function fromTemplate(
  set: ApplicationSet,
  generator: Generator,
  parameters: JsonObject,
  style: TemplateStyle,
): JsonObject {
  const own = [generator.list, generator.git, generator.clusters, generator.matrix, generator.merge].find(
    (one) => one !== undefined,
  )?.template;
  const template = own === undefined ? (set.spec.template as Json) : mergePatch(set.spec.template, own);
  const rendered = renderTexts(template, parameters, style);
  const ignore = (): void => undefined;
  const metadata = repaired(
    metadataSchema,
    objectAt(rendered, "metadata"),
    "ApplicationSetTemplateMeta",
    ignore,
  ) as Metadata;
  const spec = repaired(applicationSpec, objectAt(rendered, "spec"), "ApplicationSpec", ignore) as ApplicationSpec;
  const preserve = set.spec.syncPolicy?.preserveResourcesOnDeletion === true;
  const finalizers = metadata.finalizers ?? (preserve ? [] : ["resources-finalizer.argocd.argoproj.io"]);
  const application: JsonObject = {
    metadata: presentMetadata({ ...metadata, namespace: metadata.namespace ?? set.metadata.namespace, finalizers }),
    spec: normalizeSpec(spec),
    status: zeroStatus(),
  };
  const patch = readYaml(renderText(set.spec.templatePatch ?? "{}", parameters, style));
  const patched = mergePatch(application, patch as Json) as JsonObject;
  if (!isObject(patched.operation)) return patched;
  return { ...patched, operation: { initiatedBy: {}, retry: {}, ...patched.operation } };
}
