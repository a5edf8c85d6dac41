import * as z from "zod";
import { isJsonObject, isNestedDeeper, type JsonObject } from "../../core/model/json.js";
import { MAX_DEPTH } from "./read-large.js";

const texts = z
  .record(z.string(), z.string())
  .nullish()
  .transform((value) => value ?? {});

export const json = z.custom<JsonObject>(
  (value) => isJsonObject(value) && !isNestedDeeper(MAX_DEPTH, value),
  "not an object, or nested too deep",
);

const metadata = z.object({
  name: z.string().min(1),
  namespace: z.string().nullish(),
  labels: texts,
  annotations: texts,
  deletionTimestamp: z.string().nullish(),
  finalizers: z.array(z.string()).nullish(),
  ownerReferences: z
    .array(z.object({ apiVersion: z.string().nullish(), kind: z.string(), name: z.string() }))
    .nullish(),
});

/** What list items, generated and whole Applications share. A member that `fields` selects is null if it is absent. */
export const applicationItem = z.object({ metadata, spec: json });
export type ApplicationItem = z.infer<typeof applicationItem>;

/** `{"items": null}` if nothing is visible, `{}` if nothing is generated. */
export const applicationList = z.object({ items: z.array(z.unknown()).nullish() });
export const generatedList = z.object({ applications: z.array(applicationItem).nullish() });

const info = z
  .array(z.object({ name: z.string().nullish(), value: z.string().nullish() }))
  .nullish()
  .transform((value) => value ?? []);

const resource = z.object({
  group: z.string().nullish(),
  kind: z.string().nullish(),
  namespace: z.string().nullish(),
  name: z.string().nullish(),
  status: z.string().nullish(),
  message: z.string().nullish(),
});
export type SyncedObject = z.infer<typeof resource>;

/** One object as Argo CD compares it. Argo CD 3.0 and newer report its health only in the GET of one Application. */
const managedResource = resource.extend({
  health: z.object({ status: z.string().nullish(), message: z.string().nullish() }).nullish(),
});

const revisions = { revision: z.string().nullish(), revisions: z.array(z.string()).nullish() };

const operationState = z.object({
  operation: z.object({ info }).nullish(),
  phase: z.string().nullish(),
  message: z.string().nullish(),
  startedAt: z.string().nullish(),
  finishedAt: z.string().nullish(),
  syncResult: z.object({ ...revisions, resources: z.array(resource).nullish() }).nullish(),
});
export type OperationState = z.infer<typeof operationState>;

/** What hangs together with an application in its cluster: managed objects, and what they own, down to the pods. */
export const resourceTree = z.object({
  nodes: z
    .array(
      resource.extend({
        uid: z.string().nullish(),
        parentRefs: z.array(z.object({ uid: z.string().nullish() })).nullish(),
        health: z.object({ status: z.string().nullish(), message: z.string().nullish() }).nullish(),
      }),
    )
    .nullish(),
});
export type ResourceNode = NonNullable<z.infer<typeof resourceTree>["nodes"]>[number];

/** One Application from a full GET. */
export const wholeApplication = applicationItem.extend({
  operation: z.object({ info }).nullish(),
  status: z
    .object({
      sync: z.object(revisions).nullish(),
      health: z.object({ status: z.string().nullish(), lastTransitionTime: z.string().nullish() }).nullish(),
      reconciledAt: z.string().nullish(),
      resources: z.array(managedResource).nullish(),
      sourceType: z.string().nullish(),
      sourceTypes: z.array(z.string()).nullish(),
      operationState: operationState.nullish(),
      history: z.array(z.object({ ...revisions, deployedAt: z.string().nullish() })).nullish(),
    })
    .nullish(),
});
export type WholeApplication = z.infer<typeof wholeApplication>;
