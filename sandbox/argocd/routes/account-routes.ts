import type { EndpointId } from "../schemas/endpoints.js";
import { controlNamespace } from "../world.js";
import type { Handler } from "./call.js";

/** Argo CD 3's default settings for comparisons. */
const defaultOverrides = {
  "*/*": {
    ignoreDifferences: "jqPathExpressions: null\njsonPointers:\n- /status\nmanagedFieldsManagers: null\n",
    ignoreResourceUpdates: "jqPathExpressions: null\njsonPointers: null\nmanagedFieldsManagers: null\n",
  },
};

export const accountRoutes = {
  health: () => "ok",
  version: ({ account, world }) =>
    account === undefined
      ? { Version: world.options.version }
      : {
          Version: world.options.version,
          BuildDate: "2026-08-01T00:00:00Z",
          Compiler: "gc",
          GoVersion: "go1.25.0",
          Platform: "linux/amd64",
          HelmVersion: "v4.2.1",
          KustomizeVersion: "v5.8.1",
        },
  user: ({ account }) => (account === undefined ? {} : { loggedIn: true, username: account.name, iss: "argocd" }),
  settings: ({ account, world }) => ({
    url: "https://argocd.example.com",
    appLabelKey: world.tracking.labelKey,
    trackingMethod: world.tracking.method,
    googleAnalytics: { anonymizeUsers: true },
    help: {},
    kustomizeOptions: { BuildOptions: "", BinaryPath: "", Versions: null },
    passwordPattern: "^.{8,32}$",
    appsInAnyNamespaceEnabled: true,
    ...(account === undefined
      ? {}
      : {
          controllerNamespace: controlNamespace,
          resourceOverrides: defaultOverrides,
          syncWithReplaceAllowed: true,
        }),
  }),
} satisfies Partial<Record<EndpointId, Handler>>;
