import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import formats from "ajv-formats";
import { perProcess } from "../per-process.js";
import { isObject, type JsonObject } from "./examples.js";

/** Checks of one call against GitHub's own API description. */
export interface Operation {
  /** Path parameters that may contain slashes, such as a ref. */
  readonly multiSegment: ReadonlySet<string>;
  /** Parameters and members that the description does not know. */
  unknownInRequest(query: JsonObject, body: unknown): string[];
  /** Parameters and members that are missing or of the wrong type. */
  wrongInRequest(query: JsonObject, body: unknown): string[];
  wrongInAnswer(status: number, body: unknown): string[];
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
  readonly components: Readonly<Record<"schemas" | "parameters" | "responses", Readonly<Record<string, JsonObject>>>>;
}

const operations = new Map<string, Operation | undefined>();
const compiled = perProcess("compiled descriptions", () => new Map<string, ValidateFunction>());
const registered = perProcess("registered descriptions", () => new Set<string>());
// Each process compiles schemas anew and uses them a few times, so optimising their code does not pay.
const ajv = perProcess("description compiler", () => {
  const made = new Ajv({
    strict: false,
    validateSchema: false,
    coerceTypes: false,
    logger: false,
    code: { optimize: false },
  });
  formats.default(made);
  return made;
});

/** The operation of a method and a path template, spelt as in the description; undefined if there is none. */
export function describeOperation(method: string, template: string): Operation | undefined {
  const key = `${method} ${template}`;
  if (!operations.has(key)) operations.set(key, readOperation(key, description().paths[template]?.[method]));
  return operations.get(key);
}

/** Problems of a webhook's body. The description has a schema for each event and its action, if it has one. */
export function wrongInWebhook(event: string, body: JsonObject): string[] {
  const action = typeof body.action === "string" ? `-${body.action}` : "";
  const name = `webhook-${event}${action}`.replaceAll("_", "-");
  const schema = description().components.schemas[name];
  return schema === undefined ? [`${name} is not described`] : problems(name, schema, body);
}

/** Whether any event of this name is described. */
export function describesWebhook(event: string): boolean {
  const name = `webhook-${event.replaceAll("_", "-")}`;
  return Object.keys(description().components.schemas).some((key) => key === name || key.startsWith(`${name}-`));
}

/** Permissions of an App that are not described, or not at this level. */
export function wrongInPermissions(permissions: JsonObject): string[] {
  const schema = { $ref: "#/components/schemas/app-permissions" };
  return [...unknownMembers(schema, permissions, "permissions"), ...problems("app-permissions", schema, permissions)];
}

function description(): Description {
  return perProcess("github description", () => {
    const root = dirname(createRequire(import.meta.url).resolve("@octokit/openapi/package.json"));
    // The package's index loads every edition, which takes seconds.
    return JSON.parse(readFileSync(join(root, "generated/api.github.com.json"), "utf8")) as Description;
  });
}

function readOperation(key: string, operation: JsonObject | undefined): Operation | undefined {
  if (operation === undefined) return undefined;
  const parameters = list(operation.parameters).map((parameter) => resolved(parameter));
  const query = {
    type: "object",
    properties: Object.fromEntries(
      parameters.filter((parameter) => parameter.in === "query").map(({ name, schema }) => [String(name), schema]),
    ),
  };
  const body = isObject(operation.requestBody) ? jsonSchemaOf(operation.requestBody) : undefined;
  const responses = isObject(operation.responses) ? operation.responses : {};
  return {
    multiSegment: new Set(
      parameters.filter((parameter) => parameter["x-multi-segment"] === true).map(({ name }) => String(name)),
    ),
    unknownInRequest: (given, sent) => [
      ...unknownMembers(query, given, "query"),
      ...(body === undefined
        ? isObject(sent) && Object.keys(sent).length > 0
          ? ["body: none is described"]
          : []
        : unknownMembers(body, sent, "body")),
    ],
    wrongInRequest: (given, sent) => [
      ...problems(`${key} query`, query, typed(query, given)),
      ...(body === undefined || (sent === undefined && body.nullable === true)
        ? []
        : problems(`${key} body`, body, sent)),
    ],
    wrongInAnswer: (status, sent) => {
      const response = responses[String(status)];
      if (!isObject(response)) {
        const known = ordinaryErrors.has(status) || leftOut[key] === status;
        return known ? [] : [`status ${status} is not described`];
      }
      const schema = jsonSchemaOf(resolved(response));
      if (schema === undefined) return [];
      return problems(`${key} ${status}`, corrections[key]?.(schema) ?? schema, sent);
    },
  };
}

/**
 * Corrects schemas that no answer can meet. An installation's account is a user or an enterprise, but this list (unlike
 * `GET /repos/{owner}/{repo}/installation`) demands both at once.
 */
const corrections: Readonly<Record<string, (schema: JsonObject) => JsonObject>> = {
  "get /app/installations": (schema) =>
    JSON.parse(
      JSON.stringify(schema).replace('"account":{"nullable":true,"allOf"', '"account":{"nullable":true,"anyOf"'),
    ) as JsonObject,
};

/** Statuses that any call may return and that the description omits. */
const ordinaryErrors = new Set([400, 401, 403, 404, 429, 500, 502, 503]);

/** Statuses that GitHub returns and its description lacks. */
const leftOut: Readonly<Record<string, number>> = { "post /repos/{owner}/{repo}/statuses/{sha}": 422 };

function problems(key: string, schema: JsonObject, value: unknown): string[] {
  let validate = compiled.get(key);
  if (validate === undefined) {
    validate = ajv.compile(withComponents(schema));
    compiled.set(key, validate);
  }
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || "/"} ${message ?? ""}`.trim());
}

/** Registers the components that the schema uses, so that each is compiled only once. */
function withComponents(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema);
  for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    const component = description().components.schemas[name];
    if (registered.has(name) || component === undefined) continue;
    registered.add(name);
    ajv.addSchema(withComponents(component), `github:${name}`);
  }
  const referring = text.replaceAll('"#/components/schemas/', '"github:');
  return JSON.parse(referring, (_name, value: unknown) =>
    isObject(value) ? nullIncluded(value) : value,
  ) as JsonObject;
}

/** Translates OpenAPI 3.0's `nullable` to JSON Schema. */
function nullIncluded(schema: JsonObject): JsonObject {
  const { nullable, ...others } = schema;
  if (nullable !== true) return schema;
  const { type, enum: values } = others;
  if (typeof type !== "string") return { anyOf: [{ type: "null" }, others] };
  return {
    ...others,
    type: [type, "null"],
    ...(Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {}),
  };
}

function unknownMembers(schema: JsonObject, value: unknown, path: string): string[] {
  const shape = resolved(schema);
  if (Array.isArray(value)) {
    const items = shape.items;
    return isObject(items) ? value.flatMap((item, index) => unknownMembers(items, item, `${path}[${index}]`)) : [];
  }
  if (!isObject(value) || !isObject(shape.properties) || shape.additionalProperties !== undefined) return [];
  const properties = shape.properties;
  return Object.entries(value).flatMap(([name, member]) => {
    const known = properties[name];
    return isObject(known) ? unknownMembers(known, member, `${path}.${name}`) : [`${path}.${name} is not described`];
  });
}

/** Converts query strings to numbers and booleans where the description wants them. */
function typed(schema: { readonly properties: JsonObject }, query: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const wanted = schema.properties[name];
      const type = isObject(wanted) ? wanted.type : undefined;
      if (type === "integer" && typeof value === "string" && /^-?\d+$/.test(value)) return [name, Number(value)];
      if (type === "boolean" && (value === "true" || value === "false")) return [name, value === "true"];
      return [name, value];
    }),
  );
}

function jsonSchemaOf(holder: JsonObject): JsonObject | undefined {
  const content = isObject(holder.content) ? holder.content["application/json"] : undefined;
  return isObject(content) && isObject(content.schema) ? content.schema : undefined;
}

function resolved(value: JsonObject): JsonObject {
  const [, kind, name] = /^#\/components\/(schemas|parameters|responses)\/(.+)$/.exec(String(value.$ref)) ?? [];
  if (name === undefined) return value;
  return description().components[kind as "schemas" | "parameters" | "responses"][name] ?? value;
}

function list(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
