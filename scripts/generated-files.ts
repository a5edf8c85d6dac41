import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";
import { notificationBody } from "../src/notifications/create-notifications.js";
import { apiReference } from "./api-page.js";
import type { Description } from "./api-page.js";
import { chartValuesSchema } from "./chart-schema.js";
import { commandTable, optionTable } from "./command-tables.js";
import { repositoryJsonSchema, serverJsonSchema, withOtherNames, withVariables } from "./json-schema.js";
import type { JsonSchema } from "./json-schema.js";
import { referenceTable } from "./reference-table.js";
import type { Table } from "./reference-table.js";
import { replyList, sampleOf } from "./replies.js";

/** A generated file; its path is relative to the repository's root. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
const REFERENCE = "docs/configuration.md";
const CHART_VALUES = "deploy/chart/values.schema.json";
const COMMAND_PAGES = ["docs/commands.md", "docs/replies.md"];
const API_PAGE = "docs/api.md";
/** The text between the two comments is replaced. */
const MARKED = /(<!-- (?:generated|sample): ([a-z_-]+) -->\n)[^]*?(<!-- end -->)/g;

/**
 * The schemas, the chart's own with `config` from svc.yaml's, the tables of the reference, the samples of comments and the page of
 * the API, as they must be.
 * @throws {Error} if the reference lacks a table or has an unknown one.
 */
export function generatedFiles(): readonly GeneratedFile[] {
  const [server, repository] = [serverJsonSchema(), repositoryJsonSchema()];
  const tables = tablesOf(server, repository);
  const seen = new Set<string>();
  const reference = readFileSync(`${ROOT}${REFERENCE}`, "utf8").replace(
    MARKED,
    (_, before: string, name: string, after: string) => {
      const table = tables.get(name);
      if (table === undefined) throw new Error(`${REFERENCE}: there is no section ${name}`);
      seen.add(name);
      return `${before}${referenceTable(table)}\n${after}`;
    },
  );
  const missing = [...tables.keys()].filter((name) => !seen.has(name));
  if (missing.length > 0) throw new Error(`${REFERENCE}: the tables of ${missing.join(", ")} are missing`);
  const svc = withOtherNames(withVariables(server));
  const chartValues = JSON.parse(readFileSync(`${ROOT}${CHART_VALUES}`, "utf8")) as JsonSchema;
  return [
    { path: "schemas/svc.schema.json", text: asText(svc) },
    { path: "schemas/repository.schema.json", text: asText(repository) },
    { path: CHART_VALUES, text: asText(chartValuesSchema(chartValues, svc)) },
    { path: "schemas/notification.schema.json", text: asText(notificationJsonSchema()) },
    { path: REFERENCE, text: reference },
    ...COMMAND_PAGES.map((path) => ({ path, text: commandsPage(readFileSync(`${ROOT}${path}`, "utf8")) })),
    { path: API_PAGE, text: apiPage(readFileSync(`${ROOT}${API_PAGE}`, "utf8")) },
  ];
}

/** The body of a notification in the format `json`. Receivers must accept members that are added later. */
function notificationJsonSchema(): object {
  const schema = z.toJSONSchema(notificationBody, { io: "input", target: "draft-7" });
  return { ...schema, title: "a notification of svc in the format json" };
}

/** The tables of commands and options, and comments as the tests expect them, without their hidden first line, as quotes. */
function commandsPage(page: string): string {
  return page.replace(MARKED, (_, before: string, name: string, after: string) => {
    if (name === "commands") return `${before}${commandTable()}\n${after}`;
    if (name === "options") return `${before}${optionTable()}\n${after}`;
    if (name === "replies") return `${before}\n${replyList()}\n${after}`;
    return `${before}${sampleOf(name)}\n\n${after}`;
  });
}

function apiPage(page: string): string {
  const description = parse(readFileSync(`${ROOT}openapi.yaml`, "utf8")) as Description;
  return page.replace(MARKED, (_, before: string, _name: string, after: string) => {
    return `${before}\n${apiReference(description)}\n\n${after}`;
  });
}

type Schema = Table["schema"];

function tablesOf(server: Schema, repository: Schema): ReadonlyMap<string, Table> {
  const keysOf = (schema: Schema | undefined) => Object.keys(schema?.properties ?? {});
  const sections = keysOf(server).map((section): readonly [string, Table] => [section, { schema: server, section }]);
  const defaults = keysOf(server.properties?.defaults);
  return new Map<string, Table>([
    ...sections,
    ["defaults", { schema: server, section: "defaults", shared: { keys: keysOf(repository), as: "column" } }],
    ["repository", { schema: repository, section: undefined, shared: { keys: defaults, as: "default" } }],
  ]);
}

function asText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
