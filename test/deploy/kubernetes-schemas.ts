import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { schemasPath } from "./deploy-tool.js";
import type { KubernetesObject } from "./kubernetes-objects.js";

/** Minor versions of Kubernetes that the chart and the manifests are for. */
export const KUBERNETES = ["1.28", "1.29", "1.30", "1.31", "1.32", "1.33", "1.34", "1.35"] as const;

type Version = (typeof KUBERNETES)[number];

/**
 * What the API server of a version would say against the objects, field by field; unknown fields count. Objects of the
 * Prometheus Operator and of the Gateway API are no part of Kubernetes and are left out.
 */
export function schemaProblems(version: Version, objects: readonly KubernetesObject[]): readonly string[] {
  return objects.flatMap(({ apiVersion, kind, ...rest }) => {
    const [group = "", named] = apiVersion.split("/");
    if (/\.(?:coreos\.com|networking\.k8s\.io)$/.test(group) && !group.startsWith("networking.")) return [];
    const short = named === undefined ? apiVersion : `${group.split(".")[0]}-${named}`;
    const validate = compiled(version, `${kind.toLowerCase()}-${short}.json`);
    if (validate({ apiVersion, kind, ...rest })) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [`${version}: ${kind} ${rest.metadata.name}:`, instancePath, message, JSON.stringify(params)].join(" "),
    );
  });
}

const schemas = new Map<Version, Ajv>();

function compiled(version: Version, file: string): ValidateFunction {
  const read = (name: string) =>
    JSON.parse(readFileSync(join(schemasPath(), `v${version}.0-local-strict`, name), "utf8")) as object;
  const ajv =
    schemas.get(version) ?? new Ajv({ strict: false, allErrors: true, validateFormats: false, validateSchema: false });
  if (!schemas.has(version)) ajv.addSchema(read("_definitions.json"), "/api/_definitions.json");
  schemas.set(version, ajv);
  return ajv.getSchema(`/${file}`) ?? ajv.addSchema(read(file), `/${file}`).getSchema(`/${file}`) ?? missing(file);
}

function missing(file: string): never {
  throw new Error(`no schema ${file}`);
}
