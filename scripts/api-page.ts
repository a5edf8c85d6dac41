import { fieldsOf, typeOf } from "./api-types.js";
import type { Schema } from "./api-types.js";

interface Reference {
  readonly $ref: string;
}

interface Answer {
  readonly description: string;
  readonly content?: Content;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly description?: string; readonly content: Content } | Reference;
  readonly responses: Readonly<Record<string, Answer | Reference>>;
}

/** What the page reads of openapi.yaml. */
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Answer>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly requestBodies: Readonly<Record<string, { readonly description?: string; readonly content: Content }>>;
  };
}

/** Sections of the page and how their paths begin; the last takes the rest. */
const SECTIONS: readonly (readonly [title: string, begins: RegExp])[] = [
  ["For programs", /^\/api\//],
  ["Login", /^\/auth\//],
  ["Webhooks", /^\/webhook\//],
  ["Health", /^\/(?:health|ready)$/],
  ["Pages", /^\//],
];
const METHODS = ["get", "post", "put", "delete"];

/** Every operation of openapi.yaml by section, then the answers that many give, then the objects. */
export function apiReference(description: Description): string {
  const section = (path: string) => SECTIONS.findIndex(([, begins]) => begins.test(path));
  const operations = SECTIONS.map(([title], index) =>
    [
      `## ${title}`,
      ...Object.keys(description.paths)
        .filter((path) => section(path) === index)
        .flatMap((path) => operationsOf(path, description)),
    ].join("\n\n"),
  );
  const schemas = Object.entries(description.components.schemas).map(([name, schema]) =>
    [`### ${name}`, schema.description, schema.properties === undefined ? typeOf(schema) : fieldsOf(schema)]
      .filter((part) => part !== undefined)
      .join("\n\n"),
  );
  return [...operations, "## Shared answers", sharedAnswers(description), "## Objects", ...schemas].join("\n\n");
}

function operationsOf(path: string, description: Description): readonly string[] {
  const item = description.paths[path] ?? {};
  const shared = (item.parameters ?? []) as NonNullable<Operation["parameters"]>;
  return METHODS.flatMap((method) => {
    const operation = item[method] as Operation | undefined;
    if (operation === undefined) return [];
    const parameters = [...shared, ...(operation.parameters ?? [])].map((one) =>
      "$ref" in one ? named(one, description.components.parameters) : one,
    );
    const parts = [
      `### ${method.toUpperCase()} ${path}`,
      `${operation.summary}. ${operation.description ?? ""}`.trim(),
      whoMay(operation),
      parameters.length === 0 ? undefined : parameterTable(parameters),
      bodyOf(operation, description),
      ...answersOf(operation),
    ];
    return parts.filter((part) => part !== undefined);
  });
}

function whoMay({ security }: Operation): string | undefined {
  if (security === undefined) return undefined;
  return security.length === 0 ? "Without credentials." : "With a login; API tokens do not work.";
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(({ name, in: place, required, schema, description = "" }) => {
    const must = required === true && place !== "path" ? ", required" : "";
    return `| \`${name}\` | ${place} | ${typeOf(schema)}${must} | ${description.replaceAll("|", "\\|")} |`;
  });
  return ["| Parameter | In | Type | Meaning |", "|---|---|---|---|", ...rows].join("\n");
}

function bodyOf({ requestBody }: Operation, { components }: Description): string | undefined {
  if (requestBody === undefined) return undefined;
  const { description, content } = "$ref" in requestBody ? named(requestBody, components.requestBodies) : requestBody;
  return [`**Body**${description === undefined ? "" : `: ${description}`}`, ...contentOf(content)].join("\n\n");
}

/** The answers in full, but for those that the section on shared answers describes. */
function answersOf({ responses }: Operation): readonly string[] {
  const shared = new Map<string, string[]>();
  const answers = Object.entries(responses).flatMap(([status, answer]) => {
    if (!("$ref" in answer)) return [`**${status}**: ${answer.description}`, ...contentOf(answer.content ?? {})];
    shared.set(lastOf(answer), [...(shared.get(lastOf(answer)) ?? []), status]);
    return [];
  });
  const also = [...shared].map(([name, statuses]) => `${statuses.join(", ")} [${name}](#shared-answers)`);
  return also.length === 0 ? answers : [...answers, `**Also**: ${also.join("; ")}`];
}

function contentOf(content: Content): readonly string[] {
  return Object.entries(content).flatMap(([type, { schema }]) => {
    if (schema.properties !== undefined) return [fieldsOf(schema)];
    return type === "application/json" ? [] : [`\`${type}\``];
  });
}

function sharedAnswers({ components, paths }: Description): string {
  const used = [...JSON.stringify(paths).matchAll(/"(\d{3})":\{"\$ref":"#\/components\/responses\/(\w+)"/g)];
  const rows = Object.entries(components.responses).map(([name, { description, content = {} }]) => {
    const statuses = new Set(used.flatMap(([, status = "", of]) => (of === name ? [status] : [])));
    const body = Object.entries(content).map(([type, { schema }]) => {
      if (schema.properties !== undefined) {
        return Object.entries(schema.properties)
          .map(([field, value]) => `\`${field}\`: ${typeOf(value)}`)
          .join("; ");
      }
      return type === "application/json" ? typeOf(schema) : `\`${type}\``;
    });
    return `| ${name} | ${[...statuses].sort().join(", ")} | ${description} | ${body.join(" or ")} |`;
  });
  return ["| Name | Status | Meaning | Body |", "|---|---|---|---|", ...rows].join("\n");
}

function named<Value>(reference: Reference, of: Readonly<Record<string, Value>>): Value {
  const found = of[lastOf(reference)];
  if (found === undefined) throw new Error(`openapi.yaml has no ${reference.$ref}`);
  return found;
}

function lastOf({ $ref }: Reference): string {
  return $ref.split("/").at(-1) ?? "";
}
