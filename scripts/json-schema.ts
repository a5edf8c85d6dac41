import * as z from "zod";
import { repositorySchema } from "../src/config/repository/repository-schema.js";
import { OTHER_NAMES } from "../src/config/server/section-names.js";
import { serverSchema } from "../src/config/server/server-schema.js";
import { REPOSITORY_FILE, SERVER_FILE } from "../src/names.js";

/** The members of a JSON Schema (draft 7) that editors and the reference use. */
export interface JsonSchema {
  /** Name of the type, for people. */
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly propertyNames?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly required?: readonly string[];
  readonly dependencies?: Readonly<Record<string, readonly string[] | JsonSchema>>;
  readonly items?: JsonSchema;
  readonly if?: JsonSchema;
  readonly then?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly $ref?: string;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
}

/** The schema of the server's file after its variables are expanded. */
export function serverJsonSchema(): JsonSchema {
  return jsonSchemaOf(
    serverSchema(
      () => "",
      () => "",
    ),
    `${SERVER_FILE}, the server's configuration`,
  );
}

/** The schema of a repository's file. */
export function repositoryJsonSchema(): JsonSchema {
  return jsonSchemaOf(repositorySchema(), `${REPOSITORY_FILE}, the configuration of a repository`);
}

/** The schema of the file as written: `${NAME}` may stand wherever a value is not free text. */
export function withVariables(schema: JsonSchema): JsonSchema {
  const variable = {
    type: "string",
    pattern: "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}",
    description: "${NAME} is replaced by the environment variable NAME",
  };
  return { ...allowVariables(schema), definitions: { variable } };
}

/** Allows either name of a section, but not both. */
export function withOtherNames(schema: JsonSchema): JsonSchema {
  return OTHER_NAMES.reduce((all, one) => withOtherName(all, one.within, one), schema);
}

/** @param within The keys that lead from `schema` to the map that holds the section. */
function withOtherName(
  schema: JsonSchema,
  [part, ...rest]: readonly string[],
  one: (typeof OTHER_NAMES)[number],
): JsonSchema {
  const { properties = {}, required = [], anyOf = [] } = schema;
  if (part !== undefined) {
    const inner = properties[part];
    if (inner === undefined) return schema;
    return { ...schema, properties: { ...properties, [part]: withOtherName(inner, rest, one) } };
  }
  const { name, other } = one;
  const left = required.filter((key) => key !== name);
  const needs = (key: string): JsonSchema => ({ required: [key] });
  const either = required.includes(name) ? [{ anyOf: [needs(name), needs(other)] }] : [];
  const others = anyOf.flatMap((each) => (each.required?.includes(name) === true ? [needs(other)] : []));
  return {
    ...schema,
    properties: {
      ...properties,
      [other]: { $ref: `#/${[...one.within, name].map((each) => `properties/${each}`).join("/")}` },
    },
    required: left.length === 0 ? undefined : left,
    ...(anyOf.length === 0 ? {} : { anyOf: [...anyOf, ...others] }),
    allOf: [...(schema.allOf ?? []), ...either, { not: { type: "object", required: [name, other] } }],
  };
}

function allowVariables(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties: values } = schema;
  if (typeof values === "object") return { ...schema, additionalProperties: allowVariables(values) };
  if (properties !== undefined) return { ...schema, properties: mapValues(properties, allowVariables) };
  if (items !== undefined) return { ...schema, items: allowVariables(items) };
  if (schema.enum === undefined && schema.pattern !== undefined && new RegExp(schema.pattern, "u").test("${NAME}")) {
    return schema;
  }
  const { title, description, default: byDefault, ...form } = schema;
  const said = Object.entries({ title, description, default: byDefault }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(said), anyOf: [form, { $ref: "#/definitions/variable" }] };
}

function jsonSchemaOf(schema: z.ZodType, title: string): JsonSchema {
  const json = z.toJSONSchema(schema, { io: "input", target: "draft-7" }) as JsonSchema;
  return { ...allowNothing(json), title };
}

/** Allows an empty section, unless it has required keys. */
function allowNothing(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties: values, required = [] } = schema;
  if (typeof values === "object") {
    return { ...schema, type: ["object", "null"], additionalProperties: allowNothing(values) };
  }
  if (items !== undefined) return { ...schema, items: allowNothing(items) };
  if (properties === undefined) return schema;
  const type = required.length === 0 ? { type: ["object", "null"] } : {};
  return { ...schema, ...type, properties: mapValues(properties, allowNothing) };
}

function mapValues<T>(values: Readonly<Record<string, T>>, change: (value: T) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}
