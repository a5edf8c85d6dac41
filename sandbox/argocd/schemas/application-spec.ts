import { z } from "zod";

/*
 * The spec of argoproj.io/v1alpha1 Applications: every member that Argo CD v3.5 knows, and nothing else. The real server
 * drops a misspelt member silently; these schemas report it.
 * https://github.com/argoproj/argo-cd/blob/v3.5.1/pkg/apis/application/v1alpha1/types.go
 */

const text = z.string();
const texts = z.array(text);
const flag = z.boolean();
const integer = z.int();
export const map = z.record(text, text);

const helm = z.strictObject({
  apiVersions: texts.optional(),
  fileParameters: z.array(z.strictObject({ name: text.optional(), path: text.optional() })).optional(),
  ignoreMissingValueFiles: flag.optional(),
  kubeVersion: text.optional(),
  namespace: text.optional(),
  parameters: z
    .array(z.strictObject({ name: text.optional(), value: text.optional(), forceString: flag.optional() }))
    .optional(),
  passCredentials: flag.optional(),
  releaseName: text.optional(),
  skipCrds: flag.optional(),
  skipSchemaValidation: flag.optional(),
  skipTests: flag.optional(),
  valueFiles: texts.optional(),
  values: text.optional(),
  valuesObject: z.record(text, z.json()).optional(),
  version: text.optional(),
});

const selector = z.strictObject({
  annotationSelector: text.optional(),
  group: text.optional(),
  kind: text.optional(),
  labelSelector: text.optional(),
  name: text.optional(),
  namespace: text.optional(),
  version: text.optional(),
});

const kustomize = z.strictObject({
  apiVersions: texts.optional(),
  commonAnnotations: map.optional(),
  commonAnnotationsEnvsubst: flag.optional(),
  commonLabels: map.optional(),
  components: texts.optional(),
  forceCommonAnnotations: flag.optional(),
  forceCommonLabels: flag.optional(),
  ignoreMissingComponents: flag.optional(),
  images: texts.optional(),
  kubeVersion: text.optional(),
  labelIncludeTemplates: flag.optional(),
  labelWithoutSelector: flag.optional(),
  namePrefix: text.optional(),
  nameSuffix: text.optional(),
  namespace: text.optional(),
  patches: z
    .array(
      z.strictObject({
        options: z.record(text, flag).optional(),
        patch: text.optional(),
        path: text.optional(),
        target: selector.optional(),
      }),
    )
    .optional(),
  replicas: z.array(z.strictObject({ name: text, count: z.json() })).optional(),
  version: text.optional(),
});

const jsonnetVariable = z.strictObject({ name: text, value: text, code: flag.optional() });
const directory = z.strictObject({
  disableExtensionFilter: flag.optional(),
  exclude: text.optional(),
  include: text.optional(),
  jsonnet: z
    .strictObject({
      extVars: z.array(jsonnetVariable).optional(),
      libs: texts.optional(),
      tlas: z.array(jsonnetVariable).optional(),
    })
    .optional(),
  recurse: flag.optional(),
});

const plugin = z.strictObject({
  env: z.array(z.strictObject({ name: text, value: text })).optional(),
  name: text.optional(),
  parameters: z.array(z.json()).optional(),
});

const tools = {
  directory: directory.optional(),
  helm: helm.optional(),
  kustomize: kustomize.optional(),
  plugin: plugin.optional(),
};

export const source = z.strictObject({
  ...tools,
  chart: text.optional(),
  name: text.optional(),
  path: text.optional(),
  ref: text.optional(),
  repoURL: text,
  tagPrefix: text.optional(),
  targetRevision: text.optional(),
});

export const destination = z.strictObject({
  name: text.optional(),
  namespace: text.optional(),
  server: text.optional(),
});

export const retry = z.strictObject({
  backoff: z
    .strictObject({ duration: text.optional(), factor: integer.optional(), maxDuration: text.optional() })
    .optional(),
  limit: integer.optional(),
  refresh: flag.optional(),
});

export const ignoreDifferences = z.array(
  z.strictObject({
    group: text.optional(),
    jqPathExpressions: texts.optional(),
    jsonPointers: texts.optional(),
    kind: text,
    managedFieldsManagers: texts.optional(),
    name: text.optional(),
    namespace: text.optional(),
  }),
);

const namespaceMetadata = z.strictObject({ annotations: map.optional(), labels: map.optional() });

export const applicationSpec = z.strictObject({
  destination,
  ignoreDifferences: ignoreDifferences.optional(),
  info: z.array(z.strictObject({ name: text, value: text })).optional(),
  project: text.optional(),
  revisionHistoryLimit: integer.optional(),
  source: source.optional(),
  sourceHydrator: z
    .strictObject({
      drySource: z.strictObject({ ...tools, path: text, repoURL: text, targetRevision: text }),
      hydrateTo: z.strictObject({ targetBranch: text }).optional(),
      syncSource: z.strictObject({ path: text, repoURL: text.optional(), targetBranch: text }),
    })
    .optional(),
  sources: z.array(source).optional(),
  syncPolicy: z
    .strictObject({
      automated: z
        .strictObject({
          allowEmpty: flag.optional(),
          enabled: flag.optional(),
          prune: flag.optional(),
          selfHeal: flag.optional(),
        })
        .optional(),
      managedNamespaceMetadata: namespaceMetadata.optional(),
      retry: retry.optional(),
      syncOptions: texts.optional(),
    })
    .optional(),
});
