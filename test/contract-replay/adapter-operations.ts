/** Every call that the Argo CD adapter makes, as the swagger file spells it; a whole replay must show each of them. */
export const adapterOperations: readonly string[] = [
  "GET /api/version",
  "GET /api/v1/session/userinfo",
  "GET /api/v1/settings",
  "GET /api/v1/applications",
  "GET /api/v1/applications/{name}",
  "GET /api/v1/applications/{name}/manifests",
  "GET /api/v1/applications/{applicationName}/managed-resources",
  "GET /api/v1/applications/{applicationName}/resource-tree",
  "POST /api/v1/applications",
  "DELETE /api/v1/applications/{name}",
  "PUT /api/v1/applications/{name}/spec",
  "POST /api/v1/applications/{name}/sync",
  "GET /api/v1/applicationsets",
  "GET /api/v1/applicationsets/{name}",
  "POST /api/v1/applicationsets/generate",
];
