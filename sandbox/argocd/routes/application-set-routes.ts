import { mayDo } from "../accounts.js";
import { ApiError, codes, permissionDenied } from "../api-error.js";
import { generateApplications } from "../appsets/generate.js";
import type { ApplicationSet } from "../schemas/application-set.js";
import type { EndpointId } from "../schemas/endpoints.js";
import { controlNamespace, type World } from "../world.js";
import { accountOf, text, texts, type Handler } from "./call.js";

export const applicationSetRoutes = {
  "list-sets"(call) {
    const { world } = call;
    const account = accountOf(call);
    const projects = texts(call, "projects");
    const namespace = text(call, "appsetNamespace");
    const items = [...world.sets.values()]
      .filter((set) => mayDo(account, "applicationsets", "get", rbacName(world, set)))
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
      .filter(({ spec }) => projects.length === 0 || projects.includes(world.projectOf(spec.template.spec)))
      .sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
    return { metadata: { resourceVersion: world.version }, items: items.length === 0 ? null : items.map(presented) };
  },
  "get-set"(call) {
    const { world } = call;
    const name = call.parameters.name ?? "";
    const account = accountOf(call);
    const set = world.sets.get(`${text(call, "appsetNamespace") ?? controlNamespace}/${name}`);
    if (set === undefined) {
      throw new ApiError(
        codes.notFound,
        `error getting ApplicationSet: applicationset.argoproj.io "${name}" not found`,
      );
    }
    if (!mayDo(account, "applicationsets", "get", rbacName(world, set))) throw permissionDenied();
    return presented(set);
  },
  async generate(call) {
    const { applicationSet } = call.body as { applicationSet: ApplicationSet };
    const applications = await generateApplications(call.world, accountOf(call), applicationSet);
    return applications.length === 0 ? {} : { applications };
  },
} satisfies Partial<Record<EndpointId, Handler>>;

/** Answers leave out `apiVersion` and `kind`. */
function presented({ metadata, spec, status }: ApplicationSet): Pick<ApplicationSet, "metadata" | "spec" | "status"> {
  return { metadata, spec, ...(status === undefined ? {} : { status }) };
}

function rbacName(world: World, { metadata, spec }: ApplicationSet): string {
  const namespace = metadata.namespace ?? controlNamespace;
  return world.rbacName(namespace, metadata.name ?? "", world.projectOf(spec.template.spec));
}
