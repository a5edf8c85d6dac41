import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import formats from "ajv-formats";
import { NULLABLE_MARK } from "./corrections.js";
import { mapObjects, type JsonObject } from "./json.js";
import type { Swagger } from "./read-swagger.js";

export interface Problem {
  /** JSON pointer. */
  readonly pointer: string;
  readonly problem: string;
}

/** Types, formats and required members of a value by a schema of the swagger file. */
export type SchemaCheck = (schema: JsonObject, value: unknown) => Problem[];

/** `nulls`: whether the members that the corrections allow to be null may be. */
export function createSchemaCheck(swagger: Swagger, { nulls }: { readonly nulls: boolean }): SchemaCheck {
  const ajv = new Ajv({ strict: false, validateSchema: false, allErrors: true, logger: false });
  formats.default(ajv);
  const plain = (schema: JsonObject) => inWordsOfJsonSchema(schema, nulls);
  ajv.addSchema({ definitions: mapObjects(swagger.definitions, plain) }, "swagger");
  const compiled = new Map<string, ValidateFunction>();
  return (schema, value) => {
    const key = JSON.stringify(schema);
    let validate = compiled.get(key);
    if (validate === undefined) {
      validate = ajv.compile(mapObjects(schema, (object) => fromOutside(plain(object))) as JsonObject);
      compiled.set(key, validate);
    }
    return validate(value) ? [] : problemsOf(validate.errors ?? []);
  };
}

function inWordsOfJsonSchema(schema: JsonObject, nulls: boolean): JsonObject {
  const { [NULLABLE_MARK]: mark, ...rest } = schema;
  if (mark !== true) return schema;
  return nulls ? { anyOf: [{ type: "null" }, rest] } : rest;
}

/** References of a schema that is not part of the registered file. */
function fromOutside(schema: JsonObject): JsonObject {
  return typeof schema.$ref === "string" ? { ...schema, $ref: `swagger${schema.$ref}` } : schema;
}

/** Without what a value that may be null adds to its real mistake. */
function problemsOf(errors: readonly ErrorObject[]): Problem[] {
  const real = errors.filter(({ keyword, params }) => keyword !== "anyOf" && params.type !== "null");
  return (real.length === 0 ? errors : real).map(({ instancePath, message = "is wrong" }) => ({
    pointer: instancePath,
    problem: message,
  }));
}
