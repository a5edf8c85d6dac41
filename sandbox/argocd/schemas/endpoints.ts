import { z } from "zod";
import { applicationSet } from "./application-set.js";
import { applicationSpec, retry } from "./application-spec.js";
import { application, infos, metadata } from "./application.js";
import { createProjectRequest, project } from "./project.js";

/*
 * The part of Argo CD's REST API that clients of the sandbox use: paths, query parameters, bodies and answers.
 * https://github.com/argoproj/argo-cd/blob/v3.5.1/assets/swagger.json
 */

const text = z.string();

/** Type of a query parameter; the plural forms may be repeated. */
export type QueryType = "string" | "boolean" | "integer" | "strings" | "integers";

export interface Endpoint {
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** `{name}` is one segment. */
  readonly path: string;
  readonly query: Readonly<Record<string, QueryType>>;
  readonly body?: z.ZodType;
  /** Go type of the body, as error messages name it. */
  readonly bodyName?: string;
  readonly answer: z.ZodType;
}

const selection = { appNamespace: "string", project: "string" } as const;
const list = {
  name: "string",
  projects: "strings",
  project: "strings",
  selector: "string",
  repo: "string",
  appNamespace: "string",
  refresh: "string",
  resourceVersion: "string",
} as const;

const nullable = {
  metadata: z.strictObject({
    annotations: metadata.shape.annotations.nullable(),
    creationTimestamp: text.nullish(),
    deletionTimestamp: text.nullish(),
    labels: metadata.shape.labels.nullable(),
    name: text.optional(),
    namespace: text.optional(),
  }),
  spec: applicationSpec
    .partial()
    .extend({
      source: applicationSpec.shape.source.nullable(),
      sourceHydrator: applicationSpec.shape.sourceHydrator.nullable(),
      sources: applicationSpec.shape.sources.nullable(),
      syncPolicy: applicationSpec.shape.syncPolicy.nullable(),
    })
    .optional(),
  status: z.record(text, z.json()).nullish(),
  operation: z.record(text, z.json()).nullish(),
};

/** A list item reduced to the selected `fields`. */
const selectedItem = z.strictObject({ ...nullable, metadata: nullable.metadata.optional() });
const listMetadata = z.strictObject({ resourceVersion: text });

const syncWindow = z.strictObject({ duration: text, kind: text, manualSync: z.boolean(), schedule: text });

const resourceDiff = z.strictObject({
  group: text.optional(),
  kind: text,
  liveState: text,
  modified: z.literal(true).optional(),
  name: text,
  namespace: text.optional(),
  normalizedLiveState: text,
  predictedLiveState: text,
  resourceVersion: text.optional(),
  targetState: text,
});

const syncRequest = z.strictObject({
  appNamespace: text.optional(),
  dryRun: z.boolean().optional(),
  infos: infos.optional(),
  name: text.optional(),
  project: text.optional(),
  prune: z.boolean().optional(),
  retryStrategy: retry.optional(),
  revision: text.optional(),
  revisions: z.array(text).optional(),
  sourcePositions: z.array(z.int()).optional(),
  syncOptions: z.strictObject({ items: z.array(text).optional() }).optional(),
});

/** An Application as a client writes it. */
export const applicationRequest = z.strictObject({
  apiVersion: text.optional(),
  kind: text.optional(),
  metadata,
  operation: z.record(text, z.json()).optional(),
  spec: applicationSpec,
  status: z.record(text, z.json()).optional(),
});

const settings = z.strictObject({
  appLabelKey: text,
  appsInAnyNamespaceEnabled: z.boolean().optional(),
  controllerNamespace: text.optional(),
  googleAnalytics: z.strictObject({ anonymizeUsers: z.boolean() }).optional(),
  help: z.strictObject({}).optional(),
  kustomizeOptions: z.strictObject({ BuildOptions: text, BinaryPath: text, Versions: z.null() }).optional(),
  passwordPattern: text.optional(),
  resourceOverrides: z.record(text, z.record(text, text)).optional(),
  syncWithReplaceAllowed: z.boolean().optional(),
  trackingMethod: z.enum(["annotation", "label", "annotation+label"]),
  url: text,
});

const version = z.strictObject({
  BuildDate: text.optional(),
  Compiler: text.optional(),
  GitCommit: text.optional(),
  GitTreeState: text.optional(),
  GoVersion: text.optional(),
  HelmVersion: text.optional(),
  JsonnetVersion: text.optional(),
  KubectlVersion: text.optional(),
  KustomizeVersion: text.optional(),
  Platform: text.optional(),
  Version: text,
});

const empty = z.strictObject({});
const apps = "/api/v1/applications";

const resourceRef = z.strictObject({
  group: text.optional(),
  kind: text,
  name: text,
  namespace: text.optional(),
  uid: text,
  version: text,
});

const resourceNode = resourceRef.extend({
  health: z.strictObject({ message: text.optional(), status: text }).optional(),
  parentRefs: z.array(resourceRef).optional(),
});

const cluster = z.strictObject({
  name: text,
  server: text,
  serverVersion: text,
  info: z.strictObject({ applicationsCount: z.int(), serverVersion: text }),
});

// oxfmt-ignore
export const endpoints = [
  { id: "health", method: "GET", path: "/healthz", query: {}, answer: text },
  { id: "version", method: "GET", path: "/api/version", query: {}, answer: version },
  { id: "user", method: "GET", path: "/api/v1/session/userinfo", query: {},
    answer: z.strictObject({ groups: z.array(text).optional(), iss: text.optional(), loggedIn: z.boolean().optional(), username: text.optional() }) },
  { id: "settings", method: "GET", path: "/api/v1/settings", query: {}, answer: settings },
  { id: "list", method: "GET", path: apps, query: { ...list, fields: "string" },
    answer: z.strictObject({ metadata: listMetadata, items: z.array(z.union([application, selectedItem])).nullable() }) },
  { id: "get", method: "GET", path: `${apps}/{name}`, query: list, answer: application },
  { id: "manifests", method: "GET", path: `${apps}/{name}/manifests`,
    query: { ...selection, revision: "string", sourcePositions: "integers", revisions: "strings", noCache: "boolean" },
    answer: z.strictObject({ manifests: z.array(text).optional() }) },
  { id: "managed-resources", method: "GET", path: `${apps}/{applicationName}/managed-resources`,
    query: { ...selection, namespace: "string", name: "string", version: "string", group: "string", kind: "string" },
    answer: z.strictObject({ items: z.array(resourceDiff).optional() }) },
  { id: "resource-tree", method: "GET", path: `${apps}/{applicationName}/resource-tree`,
    query: { ...selection, namespace: "string", name: "string", version: "string", group: "string", kind: "string" },
    answer: z.strictObject({ nodes: z.array(resourceNode).optional() }) },
  { id: "sync-windows", method: "GET", path: `${apps}/{name}/syncwindows`, query: selection,
    answer: z.strictObject({ activeWindows: z.array(syncWindow).optional(), assignedWindows: z.array(syncWindow).optional(), canSync: z.boolean().optional() }) },
  { id: "create", method: "POST", path: apps, query: { validate: "boolean" },
    body: applicationRequest, bodyName: "Application", answer: application },
  { id: "update-spec", method: "PUT", path: `${apps}/{name}/spec`, query: { ...selection, validate: "boolean" },
    body: applicationSpec, bodyName: "ApplicationSpec", answer: applicationSpec },
  { id: "delete", method: "DELETE", path: `${apps}/{name}`, query: { ...selection, cascade: "boolean", propagationPolicy: "string" }, answer: empty },
  { id: "sync", method: "POST", path: `${apps}/{name}/sync`, query: {}, body: syncRequest, bodyName: "ApplicationSyncRequest", answer: application },
  { id: "terminate", method: "DELETE", path: `${apps}/{name}/operation`, query: selection, answer: empty },
  { id: "list-sets", method: "GET", path: "/api/v1/applicationsets",
    query: { projects: "strings", appsetNamespace: "string" },
    answer: z.strictObject({ metadata: listMetadata, items: z.array(applicationSet).nullable() }) },
  { id: "get-set", method: "GET", path: "/api/v1/applicationsets/{name}", query: { appsetNamespace: "string" }, answer: applicationSet },
  { id: "generate", method: "POST", path: "/api/v1/applicationsets/generate", query: {},
    body: z.strictObject({ applicationSet }), bodyName: "ApplicationSetGenerateRequest",
    answer: z.strictObject({ applications: z.array(application).optional() }) },
  { id: "list-clusters", method: "GET", path: "/api/v1/clusters", query: {},
    answer: z.strictObject({ metadata: z.strictObject({}), items: z.array(cluster) }) },
  { id: "list-projects", method: "GET", path: "/api/v1/projects", query: { name: "string" },
    answer: z.strictObject({ metadata: listMetadata, items: z.array(project) }) },
  { id: "create-project", method: "POST", path: "/api/v1/projects", query: {},
    body: createProjectRequest, bodyName: "ProjectCreateRequest", answer: project },
  { id: "delete-project", method: "DELETE", path: "/api/v1/projects/{name}", query: {}, answer: empty },
] as const satisfies readonly Endpoint[];

export type EndpointId = (typeof endpoints)[number]["id"];
export type PresentedApplication = z.infer<typeof application>;
export type SyncRequest = z.infer<typeof syncRequest>;
export type ApplicationRequest = z.infer<typeof applicationRequest>;

/** The body of the API's error answers. */
export const apiErrorBody = z.strictObject({ error: text, code: z.int(), message: text });
