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

/** The keys of labels and annotations, and the values of labels (`IsQualifiedName` and `IsValidLabelValue` of Kubernetes). */
const MEMBER_NAME = /^(?=.{1,63}$)[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/;

/** How a set fails if Kubernetes refuses one of its applications: the controller creates the others, but deletes none. */
export function failureToCreate(generated: readonly Application[]): SetFailure | undefined {
  const refused = generated.map(refusedOf).find((one) => one !== undefined);
  if (refused === undefined) return undefined;
  return { why: `Kubernetes refuses ${refused}`, then: "it removes none of its applications until that is fixed" };
}

function refusedOf({ resourceName, labels, annotations }: Application): string | undefined {
  if (!isObjectName(resourceName)) return `an application named ${resourceName}`;
  const label = Object.entries(labels).find(
    ([key, value]) => !isKey(key) || (value !== "" && !MEMBER_NAME.test(value)),
  );
  if (label !== undefined) return `the label ${label[0]} of the application ${resourceName}`;
  const annotation = Object.keys(annotations).find((key) => !isKey(key.toLowerCase()));
  return annotation === undefined ? undefined : `the annotation ${annotation} of the application ${resourceName}`;
}

function isKey(key: string): boolean {
  const [name = "", prefix, ...more] = key.split("/").reverse();
  return more.length === 0 && MEMBER_NAME.test(name) && (prefix === undefined || isObjectName(prefix));
}

function isObjectName(name: string): boolean {
  return name.length <= MAX_OBJECT_NAME && OBJECT_NAME.test(name);
}
