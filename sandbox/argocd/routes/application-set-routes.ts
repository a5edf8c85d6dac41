import { mayDo } from "../accounts.js";
import { ApiError, codes, permissionDenied } from "../api-error.js";
import { generateApplications } from "../appsets/generate.js";
import { isObject, mergePatch, type Json, type JsonObject } from "../json.js";
import type { ApplicationSet, Generator } from "../schemas/application-set.js";
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

/** Answers leave out `apiVersion` and `kind`, and have what Go writes of an empty struct in spite of `omitempty`. */
function presented({ metadata, spec, status }: ApplicationSet): JsonObject {
  const generators = spec.generators.map(presentedGenerator);
  return { metadata, spec: { ...spec, generators }, ...(status === undefined ? {} : { status }) };
}

const ZERO_TEMPLATE = { metadata: {}, spec: { destination: {}, project: "" } };
/** Members of the kinds of generators that are structs and not pointers to them, besides `template`. */
const ZERO_MEMBERS: Readonly<Record<string, JsonObject>> = {
  clusters: { selector: {} },
  clusterDecisionResource: { labelSelector: {} },
  git: { revision: "" },
  list: { elements: null },
  plugin: { input: {} },
};

/** A matrix or merge inside of another one is stored as it is written. */
function presentedGenerator(generator: Generator): JsonObject {
  const kinds = Object.entries(generator as JsonObject).map(([kind, options]): [string, Json | undefined] => {
    if (!isObject(options) || kind === "selector") return [kind, options];
    const template = mergePatch(ZERO_TEMPLATE, options.template ?? {});
    const nested = kind === "matrix" || kind === "merge" ? { generators: nestedIn(options) } : {};
    return [kind, { ...ZERO_MEMBERS[kind], ...options, ...nested, template }];
  });
  return Object.fromEntries(kinds);
}

function nestedIn({ generators }: JsonObject): Json[] {
  return (generators as Generator[]).map((one) => {
    const { matrix, merge, ...simple } = one;
    return { ...presentedGenerator(simple), ...(matrix && { matrix }), ...(merge && { merge }) };
  });
}

function rbacName(world: World, { metadata, spec }: ApplicationSet): string {
  const namespace = metadata.namespace ?? controlNamespace;
  return world.rbacName(namespace, metadata.name ?? "", world.projectOf(spec.template.spec));
}
