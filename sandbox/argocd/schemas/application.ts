import { z } from "zod";
import { applicationSpec, destination, ignoreDifferences, map, retry, source } from "./application-spec.js";

const text = z.string();
const texts = z.array(text);
const flag = z.boolean();
const integer = z.int();

export const metadata = z.strictObject({
  annotations: map.optional(),
  creationTimestamp: text.optional(),
  deletionGracePeriodSeconds: integer.optional(),
  deletionTimestamp: text.optional(),
  finalizers: texts.optional(),
  generateName: text.optional(),
  generation: integer.optional(),
  labels: map.optional(),
  managedFields: z.array(z.json()).optional(),
  name: text.optional(),
  namespace: text.optional(),
  ownerReferences: z
    .array(
      z.strictObject({
        apiVersion: text,
        blockOwnerDeletion: flag.optional(),
        controller: flag.optional(),
        kind: text,
        name: text,
        uid: text,
      }),
    )
    .optional(),
  resourceVersion: text.optional(),
  selfLink: text.optional(),
  uid: text.optional(),
});

export const infos = z.array(z.strictObject({ name: text, value: text }));

export const operation = z.strictObject({
  info: infos.optional(),
  initiatedBy: z.strictObject({ automated: flag.optional(), username: text.optional() }),
  retry,
  sync: z.strictObject({
    dryRun: flag.optional(),
    prune: flag.optional(),
    revision: text.optional(),
    revisions: texts.optional(),
    source: source.optional(),
    sources: z.array(source).optional(),
    syncOptions: texts.optional(),
  }),
});

export const operationState = z.strictObject({
  finishedAt: text.optional(),
  message: text.optional(),
  operation,
  phase: z.enum(["Running", "Terminating", "Succeeded", "Failed", "Error"]),
  retryCount: integer.optional(),
  startedAt: text,
  syncResult: z
    .strictObject({
      resources: z
        .array(
          z.strictObject({
            group: text,
            hookPhase: z.enum(["Running", "Succeeded", "Failed", "Error", "Terminating"]).optional(),
            hookType: text.optional(),
            images: texts.optional(),
            kind: text,
            message: text.optional(),
            name: text,
            namespace: text,
            status: z.enum(["Synced", "SyncFailed", "Pruned", "PruneSkipped"]).optional(),
            syncPhase: z.enum(["PreSync", "Sync", "PostSync", "SyncFail"]).optional(),
            version: text,
          }),
        )
        .optional(),
      revision: text,
      revisions: texts.optional(),
      source: source.optional(),
      sources: z.array(source).optional(),
    })
    .optional(),
});

const health = z.strictObject({
  lastTransitionTime: text.optional(),
  message: text.optional(),
  status: text.optional(),
});

const historyEntry = z.strictObject({
  deployStartedAt: text.optional(),
  deployedAt: text,
  id: integer,
  initiatedBy: z.strictObject({ automated: flag.optional(), username: text.optional() }).optional(),
  revision: text.optional(),
  revisions: texts.optional(),
  source,
  sources: z.array(source).optional(),
});

export const status = z.strictObject({
  conditions: z.array(z.strictObject({ lastTransitionTime: text.optional(), message: text, type: text })).optional(),
  controllerNamespace: text.optional(),
  health,
  history: z.array(historyEntry).optional(),
  observedAt: text.optional(),
  operationState: operationState.optional(),
  reconciledAt: text.optional(),
  resourceHealthSource: text.optional(),
  resources: z
    .array(
      z.strictObject({
        group: text.optional(),
        health: health.optional(),
        hook: flag.optional(),
        kind: text,
        name: text,
        namespace: text.optional(),
        requiresPruning: flag.optional(),
        status: z.enum(["Synced", "OutOfSync", "Unknown"]).optional(),
        syncWave: integer.optional(),
        version: text,
      }),
    )
    .optional(),
  sourceHydrator: z.record(text, z.json()),
  sourceType: text.optional(),
  sourceTypes: texts.optional(),
  summary: z.strictObject({
    externalURLs: texts.optional(),
    images: texts.optional(),
    isAppOfApps: flag.optional(),
  }),
  sync: z.strictObject({
    comparedTo: z.strictObject({
      destination,
      ignoreDifferences: ignoreDifferences.optional(),
      source,
      sources: z.array(source).optional(),
    }),
    revision: text.optional(),
    revisions: texts.optional(),
    status: text,
  }),
});

/** An Application as the API returns it. */
export const application = z.strictObject({
  apiVersion: text.optional(),
  kind: text.optional(),
  metadata,
  operation: operation.optional(),
  spec: applicationSpec,
  status,
});
