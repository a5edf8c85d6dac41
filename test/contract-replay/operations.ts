import { isObject, type JsonObject } from "./json.js";
import type { Swagger } from "./read-swagger.js";

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  /** Type, format, items as the parameter has them; for a body its schema. */
  readonly schema: JsonObject;
}

export interface Operation {
  /** Method and path template. */
  readonly title: string;
  readonly parameters: readonly Parameter[];
  /** Schema by status, and of every other status by `default`. */
  answer(status: number): JsonObject | undefined;
}

export type Routed =
  | { readonly kind: "operation"; readonly operation: Operation }
  | { readonly kind: "unknown path" | "unknown method" };

/** Finds the operation of a request; a template that spells a segment out wins over one with a parameter there. */
export function createRouter(swagger: Swagger): (method: string, path: string) => Routed {
  const templates = Object.entries(swagger.paths)
    .map(([template, operations]) => ({ template, operations, segments: template.split("/") }))
    .sort((a, b) => parameterCount(a.segments) - parameterCount(b.segments));
  return (method, path) => {
    const segments = path.split("/");
    const matching = templates.filter((one) => matches(one.segments, segments));
    for (const { template, operations } of matching) {
      const operation = operations[method.toLowerCase()];
      if (isObject(operation)) return { kind: "operation", operation: readOperation(method, template, operation) };
    }
    return { kind: matching.length === 0 ? "unknown path" : "unknown method" };
  };
}

function parameterCount(segments: readonly string[]): number {
  return segments.filter(isVariable).length;
}

function isVariable(segment: string): boolean {
  return segment.startsWith("{") && segment.endsWith("}");
}

function matches(template: readonly string[], path: readonly string[]): boolean {
  if (template.length !== path.length) return false;
  return template.every((segment, index) => {
    const given = path[index] ?? "";
    return isVariable(segment) ? given !== "" : segment === given;
  });
}

function readOperation(method: string, template: string, operation: JsonObject): Operation {
  const parameters = Array.isArray(operation.parameters) ? operation.parameters.filter(isObject) : [];
  const responses = isObject(operation.responses) ? operation.responses : {};
  return {
    title: `${method} ${template}`,
    parameters: parameters.map(readParameter),
    answer: (status) => {
      const response = responses[String(status)] ?? responses.default;
      return isObject(response) && isObject(response.schema) ? response.schema : undefined;
    },
  };
}

function readParameter(parameter: JsonObject): Parameter {
  const { name, in: place, required, schema, ...inline } = parameter;
  return {
    name: String(name),
    in: String(place),
    required: required === true,
    schema: isObject(schema) ? schema : inline,
  };
}
