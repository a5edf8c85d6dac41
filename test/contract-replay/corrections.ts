import { isObject, mapObjects, objectAt, type JsonObject } from "./json.js";
import type { Swagger } from "./read-swagger.js";

/** Members of answers that are sent as `null` where the swagger file only knows them absent or present. */
const NULLABLE = ["items", "annotations", "labels", "deletionTimestamp"] as const;
/** Marks a schema that in answers allows `null`, https://swagger.io/specification/v2/#specification-extensions. */
export const NULLABLE_MARK = "x-nullable";

const CAN_I = "/api/v1/account/can-i/{resource}/{action}/{subresource}";
const LIST = "/api/v1/applications";
const OVERRIDES = "resourceOverrides";

interface Correction {
  readonly says: string;
  /** Undefined for what no swagger file can express; the checker itself does it. */
  readonly apply?: (swagger: Swagger) => Swagger;
}

/**
 * Where Argo CD's generated swagger file is known to differ from what its server (3.5) sends and reads. The list is
 * closed: whatever else differs is a finding.
 */
const corrections: readonly Correction[] = [
  { says: "int64 members are JSON numbers, not strings", apply: withNumbers },
  { says: `absent members may be null in answers: ${NULLABLE.join(", ")}`, apply: withNullables },
  { says: "404 for unknown paths, 405 and 415 are plain text" },
  { says: "can-i is called with four path segments: resource, action, project, application", apply: withFourSegments },
  { says: `members of ${OVERRIDES} in the settings are not described`, apply: withOpenOverrides },
  { says: `GET ${LIST} has the query parameter fields`, apply: withFields },
  { says: "GET /healthz exists and answers text", apply: withHealth },
];

/** One sentence for each correction. */
export const correctionTexts: readonly string[] = corrections.map(({ says }) => says);

export function corrected(swagger: Swagger): Swagger {
  return corrections.reduce((result, { apply }) => apply?.(result) ?? result, swagger);
}

function withNumbers(swagger: Swagger): Swagger {
  const numbered = (schema: JsonObject): JsonObject =>
    schema.type === "string" && schema.format === "int64" ? { ...schema, type: "integer" } : schema;
  return {
    ...swagger,
    paths: mapObjects(swagger.paths, numbered) as Swagger["paths"],
    definitions: mapObjects(swagger.definitions, numbered) as Swagger["definitions"],
  };
}

function withNullables(swagger: Swagger): Swagger {
  const definitions = Object.entries(swagger.definitions).map(([name, definition]) => {
    const properties = objectAt(definition, "properties");
    const marked = NULLABLE.filter((member) => isObject(properties[member])).map(
      (member) => [member, { ...objectAt(properties, member), [NULLABLE_MARK]: true }] as const,
    );
    if (marked.length === 0) return [name, definition];
    return [name, { ...definition, properties: { ...properties, ...Object.fromEntries(marked) } }];
  });
  return { ...swagger, definitions: Object.fromEntries(definitions) as Swagger["definitions"] };
}

function withFourSegments(swagger: Swagger): Swagger {
  const { [CAN_I]: operations, ...paths } = swagger.paths;
  if (operations === undefined) return swagger;
  return { ...swagger, paths: { ...paths, [CAN_I.replace("{subresource}", "{project}/{application}")]: operations } };
}

function withOpenOverrides(swagger: Swagger): Swagger {
  const { clusterSettings: settings } = swagger.definitions;
  const properties = objectAt(settings ?? {}, "properties");
  if (settings === undefined || properties[OVERRIDES] === undefined) return swagger;
  const opened = { ...properties, [OVERRIDES]: { type: "object", additionalProperties: true } };
  return { ...swagger, definitions: { ...swagger.definitions, clusterSettings: { ...settings, properties: opened } } };
}

function withFields(swagger: Swagger): Swagger {
  const operations = swagger.paths[LIST];
  if (!isObject(operations?.get)) return swagger;
  const parameters: readonly unknown[] = Array.isArray(operations.get.parameters) ? operations.get.parameters : [];
  const get = { ...operations.get, parameters: [...parameters, { name: "fields", in: "query", type: "string" }] };
  return { ...swagger, paths: { ...swagger.paths, [LIST]: { ...operations, get } } };
}

function withHealth(swagger: Swagger): Swagger {
  const get = { responses: { 200: { description: "It is well.", schema: { type: "string" } } } };
  return { ...swagger, paths: { ...swagger.paths, "/healthz": { get } } };
}
