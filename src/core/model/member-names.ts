import { isJsonObject, type Json } from "./json.js";

/** Members whose value is free text with keys of its own. */
const FREE = new Set([
  ...["annotations", "commonAnnotations", "commonLabels", "elements", "labels", "map", "matchLabels", "options"],
  ...["values", "valuesObject"],
]);

/**
 * Every other member of an Application's or ApplicationSet's definition (Argo CD v3.5, `assets/swagger.json`), but for the
 * hosts that generators can ask.
 */
const NAMES: readonly string[] = [
  ...["accessTokenRef", "allBranches", "allowEmpty", "annotationSelector", "annotations", "api", "apiVersion"],
  ...["apiVersions", "appPasswordRef", "appSecretName", "applicationsSync", "applyNestedSelectors", "array"],
  ...["automated", "awsCodeCommit", "azureDevOps", "azuredevops", "backoff", "basicAuth", "bearerToken", "bitbucket"],
  ...["bitbucketServer", "branchMatch", "caRef", "chart", "cloneProtocol", "clusterDecisionResource", "clusters"],
  ...["code", "commonAnnotations", "commonAnnotationsEnvsubst", "commonLabels", "components", "configMapName"],
  ...["configMapRef", "continueOnRepoNotFoundError", "count", "deletionOrder", "destination", "directories"],
  ...["directory", "disableExtensionFilter", "drySource", "duration", "elements", "elementsYaml", "enabled", "env"],
  ...["exclude", "excludeArchivedRepos", "extVars", "factor", "fileParameters", "files", "filters", "finalizers"],
  ...["flatList", "forceCommonAnnotations", "forceCommonLabels", "forceString", "generators", "git", "gitea"],
  ...["goTemplate", "goTemplateOptions", "group", "gvk", "helm", "hydrateTo"],
  ...["ignoreApplicationDifferences", "ignoreDifferences", "ignoreMissingComponents", "ignoreMissingValueFiles"],
  ...["images", "include", "includeArchivedRepos", "includeSharedProjects", "includeSubgroups", "info", "input"],
  ...["insecure", "intVal", "jqPathExpressions", "jsonPointers", "jsonnet", "key", "kind", "kubeVersion", "kustomize"],
  ...["labelIncludeTemplates", "labelMatch", "labelSelector", "labelWithoutSelector", "labels", "libs", "limit"],
  ...["list", "managedFieldsManagers", "managedNamespaceMetadata", "map", "matchExpressions", "matchLabels"],
  ...["matrix", "maxDuration", "maxUpdate", "merge", "mergeKeys", "metadata", "name", "namePrefix", "nameSuffix"],
  ...["namespace", "operator", "options", "organization", "owner", "ownerReferences", "parameters"],
  ...["passCredentials", "passwordRef", "patch", "patches", "path", "pathParamPrefix", "pathsDoNotExist"],
  ...["pathsExist", "plugin", "preserveResourcesOnDeletion", "preservedFields", "project", "prune", "pullRequest"],
  ...["pullRequestState", "recurse", "ref", "refresh", "region", "releaseName", "replicas", "repo", "repoURL"],
  ...["repositoryMatch", "requeueAfterSeconds", "resId", "resourceVersion", "retry", "revision"],
  ...["revisionHistoryLimit", "role", "rollingSync", "scmProvider", "secretName", "selector", "selfHeal", "server"],
  ...["skipCrds", "skipSchemaValidation", "skipTests", "source", "sourceHydrator", "sources", "spec", "steps"],
  ...["strVal", "strategy", "string", "syncOptions", "syncPolicy", "syncSource", "tagFilters", "tagPrefix", "target"],
  ...["targetBranch", "targetBranchMatch", "targetRevision", "teamProject", "template", "templatePatch"],
  ...["titleMatch", "tlas", "tokenRef", "topic", "type", "user", "username", "value", "valueFiles", "values"],
  ...["valuesObject", "version"],
];
const KNOWN: ReadonlySet<string> = new Set(NAMES);
const MEMBERS = new Map(NAMES.map((name) => [folded(name), name]));

/**
 * A key in a definition that Argo CD would take for a member although it is spelled otherwise, with that member. Its API
 * decodes bodies with Go's `encoding/json`, which ignores upper and lower case; svc and Kubernetes do not.
 */
export function misspelledMember(value: Json | undefined): Misspelled | undefined {
  return misspelled(value)[0];
}

export interface Misspelled {
  readonly key: string;
  readonly member: string;
}

function misspelled(value: Json | undefined): readonly Misspelled[] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(misspelled);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const member = KNOWN.has(key) ? undefined : MEMBERS.get(folded(key));
    if (member !== undefined) return [{ key, member }];
    const free = FREE.has(key) || (key === "parameters" && isJsonObject(inner));
    return free ? [] : misspelled(inner);
  });
}

/** Upper case first: Go also takes letters such as `ſ` for those that they become. */
function folded(key: string): string {
  return key.toUpperCase().toLowerCase();
}
