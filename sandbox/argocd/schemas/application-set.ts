import { z } from "zod";
import { applicationSpec, map } from "./application-spec.js";
import { metadata } from "./application.js";

/*
 * ApplicationSets. Generators that the sandbox runs are strict; those that it refuses are open.
 * https://github.com/argoproj/argo-cd/blob/v3.5.1/pkg/apis/application/v1alpha1/applicationset_types.go
 */

const text = z.string();
const open = z.record(text, z.json());

const template = z.strictObject({
  metadata: z.strictObject({
    annotations: map.optional(),
    finalizers: z.array(text).optional(),
    labels: map.optional(),
    name: text.optional(),
    namespace: text.optional(),
  }),
  spec: applicationSpec,
});

/** A generator's own template overrides parts of the set's template. */
const partialTemplate = z.strictObject({ metadata: open.optional(), spec: open.optional() });

const git = z.strictObject({
  directories: z.array(z.strictObject({ exclude: z.boolean().optional(), path: text })).optional(),
  files: z.array(z.strictObject({ exclude: z.boolean().optional(), path: text })).optional(),
  repoURL: text,
  requeueAfterSeconds: z.int().optional(),
  revision: text.optional(),
  template: partialTemplate.optional(),
});

const list = z.strictObject({
  elements: z.array(open).optional(),
  template: partialTemplate.optional(),
});

const clusters = z.strictObject({
  template: partialTemplate.optional(),
});

const simple = {
  clusterDecisionResource: open.optional(),
  clusters: clusters.optional(),
  git: git.optional(),
  list: list.optional(),
  plugin: open.optional(),
  pullRequest: open.optional(),
  scmProvider: open.optional(),
};
const nested = z.strictObject({ ...simple, matrix: open.optional(), merge: open.optional() });
const matrix = z.strictObject({ generators: z.array(nested), template: partialTemplate.optional() });
const merge = matrix.extend({ mergeKeys: z.array(text) });
const generator = z.strictObject({ ...simple, matrix: matrix.optional(), merge: merge.optional() });

export const applicationSetSpec = z.strictObject({
  applyNestedSelectors: z.boolean().optional(),
  generators: z.array(generator),
  goTemplate: z.boolean().optional(),
  goTemplateOptions: z.array(text).optional(),
  ignoreApplicationDifferences: z.array(open).optional(),
  preservedFields: open.optional(),
  strategy: open.optional(),
  syncPolicy: z
    .strictObject({ applicationsSync: text.optional(), preserveResourcesOnDeletion: z.boolean().optional() })
    .optional(),
  template,
  templatePatch: text.optional(),
});

export const applicationSet = z.strictObject({
  apiVersion: text.optional(),
  kind: text.optional(),
  metadata,
  spec: applicationSetSpec,
  status: open.optional(),
});

export type ApplicationSet = z.infer<typeof applicationSet>;
export type Generator = z.infer<typeof generator>;
export type GitGenerator = z.infer<typeof git>;
