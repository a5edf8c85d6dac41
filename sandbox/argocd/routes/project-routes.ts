import { isDeepStrictEqual } from "node:util";
import { enforce, mayDo } from "../accounts.js";
import { ApiError, codes, invalid } from "../api-error.js";
import type { Project } from "../projects.js";
import type { EndpointId } from "../schemas/endpoints.js";
import type { CreateProjectRequest, PresentedProject } from "../schemas/project.js";
import { controlNamespace } from "../world.js";
import { accountOf, type Handler } from "./call.js";

/** https://github.com/argoproj/argo-cd/blob/v3.5.1/server/project/project.go */
export const projectRoutes = {
  "list-projects"(call) {
    const account = accountOf(call);
    const items = [...call.world.projects.values()]
      .filter(({ name }) => mayDo(account, "projects", "get", name))
      .map(presented);
    return { metadata: { resourceVersion: call.world.version }, items };
  },
  "create-project"(call) {
    const { world } = call;
    const { project, upsert = false } = call.body as CreateProjectRequest;
    const { name = "", labels } = project.metadata;
    enforce(accountOf(call), "projects", "create", name);
    const existing = world.projects.get(name);
    // What a project's spec leaves out it refuses.
    const wanted = { sourceRepos: [], destinations: [], clusterResourceWhitelist: [], ...project.spec };
    if (existing !== undefined && !upsert) {
      const differs = !isDeepStrictEqual(presented(existing).spec, presented({ name, ...wanted }).spec);
      if (differs) throw invalid("existing project spec is different, use upsert flag to force update");
      return presented(existing);
    }
    if (existing !== undefined) enforce(accountOf(call), "projects", "update", name);
    const created: Project = { name, ...wanted, labels: existing?.labels ?? labels };
    world.projects.set(name, created);
    return presented(created);
  },
  "delete-project"(call) {
    const { world } = call;
    const name = call.parameters.name ?? "";
    if (name === "default") throw invalid("name 'default' is reserved and cannot be deleted");
    enforce(accountOf(call), "projects", "delete", name);
    if (!world.projects.has(name)) {
      throw new ApiError(codes.notFound, `appprojects.argoproj.io "${name}" not found`);
    }
    const users = [...world.applications.values()].filter(({ spec }) => world.projectOf(spec) === name).length;
    if (users > 0) throw invalid(`project is referenced by ${users} applications`);
    world.projects.delete(name);
    return {};
  },
} satisfies Partial<Record<EndpointId, Handler>>;

function presented({ name, labels, ...project }: Project): PresentedProject {
  const { clusterResourceWhitelist, description, destinations, sourceRepos } = project;
  return {
    metadata: { name, namespace: controlNamespace, ...(labels === undefined ? {} : { labels: { ...labels } }) },
    spec: { clusterResourceWhitelist, description, destinations, sourceRepos } as PresentedProject["spec"],
    status: {},
  };
}
