import type { Application, ApplicationSet } from "../../model/application.js";
import { DeployerFailure } from "../../model/errors.js";
import { isJsonObject, type Json } from "../../model/json.js";
import type { SetFailure } from "../../model/plan/plan.js";

/**
 * What follows if Argo CD cannot generate a set: its controller leaves every application as it is. Undefined if it is not
 * certain that the controller fails as the API server did, whose settings decide about generators that ask elsewhere.
 */
export function failureToGenerate(set: ApplicationSet, error: unknown): SetFailure | undefined {
  if (!(error instanceof DeployerFailure) || error.reason !== "ungenerated") return undefined;
  const { spec } = set.resource;
  if (!isJsonObject(spec) || !areSettled(spec.generators)) return undefined;
  return { why: error.message, then: "its applications stay as they are" };
}

/** Generators that the API server and the controller run alike. */
const SETTLED: ReadonlySet<string> = new Set(["list", "git", "clusters", "matrix", "merge", "selector"]);

function areSettled(generators: Json | undefined): boolean {
  return (
    Array.isArray(generators) &&
    generators.every(
      (one: Json) =>
        isJsonObject(one) &&
        Object.entries(one).every(([kind, options]) => {
          if (!SETTLED.has(kind)) return false;
          const nests = kind === "matrix" || kind === "merge";
          return !nests || (isJsonObject(options) && areSettled(options.generators));
        }),
    )
  );
}

/** The names of objects (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names). */
const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const OBJECT_NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const MAX_OBJECT_NAME = 253;

/** The failure if Kubernetes refuses the name of a generated application: the controller creates the others, but deletes nothing. */
export function failureToCreate(generated: readonly Application[]): SetFailure | undefined {
  const refused = generated.find(({ resourceName: name }) => name.length > MAX_OBJECT_NAME || !OBJECT_NAME.test(name));
  if (refused === undefined) return undefined;
  return {
    why: `Kubernetes refuses an application named ${refused.resourceName}`,
    then: "it removes none of its applications until that is fixed",
  };
}
