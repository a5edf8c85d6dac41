import { corrected } from "./corrections.js";
import { isObject, type JsonObject } from "./json.js";
import { createRouter, type Operation, type Parameter } from "./operations.js";
import type { Swagger } from "./read-swagger.js";
import type { RecordedExchange } from "./recorded-exchange.js";
import { createSchemaCheck, type Problem, type SchemaCheck } from "./schema-check.js";
import { unnamedMembers } from "./unnamed-members.js";

export interface Violation extends Problem {
  readonly method: string;
  /** Of the request; values of the query and of bodies are never part of a violation. */
  readonly path: string;
  readonly where: "request" | "query" | "body" | "answer";
}

export interface Checked {
  /** Method and path template; undefined when the file knows no such operation. */
  readonly operation: string | undefined;
  readonly violations: readonly Violation[];
}

type Found = Pick<Violation, "where" | "pointer" | "problem">;

/**
 * Members of answers that Argo CD 3.5.1 was seen to send under other names than the file's. The file lets unknown
 * members pass, so these are no corrections of it: they are exceptions of the stricter rule here that answers have
 * none, by operation and JSON pointer.
 */
export const sentUnnamed: readonly (readonly [operation: string, pointer: string])[] = [
  ["GET /api/v1/settings", "/kustomizeOptions/BuildOptions"],
  ["GET /api/v1/settings", "/kustomizeOptions/BinaryPath"],
  ["GET /api/v1/settings", "/kustomizeOptions/Versions"],
];

/** Holds exchanges against Argo CD's swagger file with the corrections. */
export function createExchangeCheck(file: Swagger): (exchange: RecordedExchange) => Checked {
  const swagger = corrected(file);
  const route = createRouter(swagger);
  const checks = {
    request: createSchemaCheck(swagger, { nulls: false }),
    answer: createSchemaCheck(swagger, { nulls: true }),
  };

  function findings(operation: Operation, exchange: RecordedExchange): Found[] {
    return [
      ...wrongContentType(swagger, exchange),
      ...wrongQuery(operation, exchange.query, checks.request),
      ...wrongBody(swagger, operation, exchange.requestBody, checks.request),
      ...wrongAnswer(swagger, operation, exchange, checks.answer),
    ];
  }

  return (exchange) => {
    const { method, path } = exchange;
    const routed = route(method, path);
    const operation = routed.kind === "operation" ? routed.operation : undefined;
    const found: Found[] =
      routed.kind === "operation"
        ? findings(routed.operation, exchange)
        : [{ where: "request", pointer: "", problem: routed.kind }, ...wrongText(exchange)];
    return { operation: operation?.title, violations: found.map((one) => ({ method, path, ...one })) };
  };
}

/** Argo CD demands its content type also of a DELETE without a body. */
function wrongContentType({ consumes }: Swagger, { method, contentType = "" }: RecordedExchange): Found[] {
  if (method === "GET" || consumes.includes(contentType.toLowerCase())) return [];
  return [{ where: "request", pointer: "", problem: `content type is none of ${consumes.join(", ")}` }];
}

function wrongQuery(operation: Operation, query: string, check: SchemaCheck): Found[] {
  const given = new URLSearchParams(query);
  const known = operation.parameters.filter((parameter) => parameter.in === "query");
  const found: Found[] = [];
  for (const name of new Set(given.keys())) {
    const parameter = known.find((one) => one.name === name);
    if (parameter === undefined) found.push({ where: "query", pointer: `/${name}`, problem: "unknown parameter" });
    else found.push(...wrongParameter(parameter, given.getAll(name), check));
  }
  const missing = known.filter(({ name, required }) => required && !given.has(name));
  return [
    ...found,
    ...missing.map(({ name }): Found => ({ where: "query", pointer: `/${name}`, problem: "is missing" })),
  ];
}

function wrongParameter({ name, schema }: Parameter, values: readonly string[], check: SchemaCheck): Found[] {
  const items = isObject(schema.items) ? schema.items : schema;
  const typed = values.map((text) => typedText(text, items.type));
  const isList = schema.type === "array";
  if (!isList && typed.length > 1) return [{ where: "query", pointer: `/${name}`, problem: "is given more than once" }];
  return check(schema, isList ? typed : typed[0]).map(({ pointer, problem }) => ({
    where: "query",
    pointer: `/${name}${pointer}`,
    problem,
  }));
}

/** A parameter comes as text; text that is no such value stays and fails by its type. */
function typedText(text: string, type: unknown): unknown {
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  if ((type === "integer" || type === "number") && /^-?\d+$/.test(text)) return Number(text);
  return text;
}

function wrongBody(swagger: Swagger, operation: Operation, text: string, check: SchemaCheck): Found[] {
  const parameter = operation.parameters.find((one) => one.in === "body");
  if (text === "") {
    return parameter?.required === true ? [{ where: "body", pointer: "", problem: "is missing" }] : [];
  }
  if (parameter === undefined) return [{ where: "body", pointer: "", problem: "is sent where none is described" }];
  const body = parseJson(text);
  if (body === undefined) return [{ where: "body", pointer: "", problem: "is no JSON" }];
  return wrongJson(swagger, parameter.schema, body, check).map((problem) => ({ where: "body", ...problem }));
}

function wrongAnswer(swagger: Swagger, operation: Operation, exchange: RecordedExchange, check: SchemaCheck): Found[] {
  if (exchange.status === 415) return wrongText(exchange);
  const schema = operation.answer(exchange.status);
  if (schema === undefined) {
    return [{ where: "answer", pointer: "", problem: `status ${exchange.status} is not described` }];
  }
  return wrongJson(swagger, schema, exchange.answer, check)
    .filter(({ pointer }) => !sentUnnamed.some(([title, known]) => title === operation.title && known === pointer))
    .map((problem) => ({ where: "answer", ...problem }));
}

function wrongJson(swagger: Swagger, schema: JsonObject, value: unknown, check: SchemaCheck): Problem[] {
  const unnamed = unnamedMembers(swagger, schema, value);
  return [...check(schema, value), ...unnamed.map((pointer) => ({ pointer, problem: "unknown member" }))];
}

function wrongText({ status, answer }: RecordedExchange): Found[] {
  if (typeof answer === "string" && [404, 405, 415].includes(status)) return [];
  return [{ where: "answer", pointer: "", problem: `status ${status} is no plain text` }];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
