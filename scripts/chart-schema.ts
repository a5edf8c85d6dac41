import type { JsonSchema } from "./json-schema.js";

interface ChartSchema extends JsonSchema {
  readonly $schema?: string;
  readonly const?: unknown;
  readonly not?: ChartSchema;
  readonly allOf?: readonly ChartSchema[];
}

const PORT = { type: "integer", minimum: 1, maximum: 65_535 } as const;

/** What the chart reads itself, and so needs as it is, not as a variable of the pod. */
const READ_BY_TEMPLATES: Readonly<Record<string, ChartSchema>> = {
  "server.port": PORT,
  "server.metrics_port": PORT,
  "server.data_dir": { const: "/data", description: "the only writable folder besides /tmp" },
  "server.shutdown_grace": { type: "string", pattern: "^([0-9]+(ms|s|m|h))+$" },
};

/** Helm quotes a text that does not match a pattern, so these have none; `_secrets.tpl` refuses what must not stand here. */
const SECRET = /(?:secret|token|password|private_key)$|^notifications\[\]\.url$/;

/**
 * The schema of the chart's values, with `config` as svc.yaml's own schema has it, so that `helm template` refuses what
 * would otherwise end as a pod that does not start. Helm's patterns are Go's, which look neither ahead nor back.
 */
export function chartValuesSchema(values: ChartSchema, svc: ChartSchema): ChartSchema {
  const description = "svc.yaml; docs/configuration.md describes every key.";
  // JSON leaves out what is undefined.
  const config = { description, ...svc, $schema: undefined, title: undefined, definitions: undefined };
  return {
    ...values,
    properties: { ...values.properties, config: forHelm(config, "") },
    definitions: svc.definitions,
  };
}

function forHelm(schema: ChartSchema, path: string): ChartSchema {
  const { description } = schema;
  if (READ_BY_TEMPLATES[path] !== undefined) return { description, ...READ_BY_TEMPLATES[path] };
  if (SECRET.test(path)) return { description, type: "string" };
  const { properties, items, anyOf, allOf, pattern, $ref, additionalProperties: others, ...rest } = schema;
  // The templates refuse a section under both names, and name both; Helm would say "'not' failed".
  const conditions = allOf?.filter((each) => each.not === undefined) ?? [];
  return {
    ...rest,
    ...($ref?.startsWith("#/properties/") === true ? { $ref: $ref.replace("#/", "#/properties/config/") } : { $ref }),
    ...(conditions.length === 0 ? {} : { allOf: conditions }),
    ...(properties === undefined ? {} : { properties: inProperties(properties, path) }),
    ...(items === undefined ? {} : { items: forHelm(items, `${path}[]`) }),
    ...(others === undefined
      ? {}
      : { additionalProperties: typeof others === "object" ? forHelm(others, `${path}.*`) : others }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map((each) => forHelm(each, path)) }),
    ...(pattern === undefined ? {} : forGo(pattern)),
  };
}

function inProperties(properties: Readonly<Record<string, ChartSchema>>, path: string) {
  return Object.fromEntries(
    Object.entries(properties).map(([key, schema]) => [key, forHelm(schema, path === "" ? key : `${path}.${key}`)]),
  );
}

/** A pattern whose looks ahead are conditions of their own. They must be the first things in it. */
function forGo(pattern: string): ChartSchema {
  const conditions: ChartSchema[] = [];
  let rest = pattern;
  while (rest.startsWith("^(?=") || rest.startsWith("^(?!")) {
    const end = endOfGroup(rest, 1);
    const condition = { pattern: `^(?:${rest.slice(4, end)})` };
    conditions.push(rest.startsWith("^(?=") ? condition : { not: condition });
    rest = `^${rest.slice(end + 1)}`;
  }
  if (/\(\?<?[=!]/.test(rest)) throw new Error(`Go cannot read this pattern: ${pattern}`);
  return conditions.length === 0 ? { pattern } : { allOf: [...conditions, { pattern: rest }] };
}

/** The index of the parenthesis that closes the one at `start`. */
function endOfGroup(pattern: string, start: number): number {
  let depth = 0;
  let inClass = false;
  for (let index = start; index < pattern.length; index++) {
    const letter = pattern[index];
    if (letter === "\\") index++;
    else if (letter === "[") inClass = true;
    else if (letter === "]") inClass = false;
    else if (letter === "(" && !inClass) depth++;
    else if (letter === ")" && !inClass && --depth === 0) return index;
  }
  throw new Error(`no parenthesis closes: ${pattern}`);
}
