import { OTHER_NAMES } from "../src/config/server/section-names.js";
import type { JsonSchema } from "./json-schema.js";

/** A table of the reference: one section's keys, or the file's top level if `section` is undefined. */
export interface Table {
  readonly schema: JsonSchema;
  readonly section: string | undefined;
  /** Keys that the other file has too, with the text for their column or default. */
  readonly shared?: { readonly keys: readonly string[]; readonly as: "column" | "default" };
}

interface Row {
  readonly key: string;
  readonly schema: JsonSchema;
  readonly required: string;
}

/** A Markdown table of a section's keys: type, default, when it is required, and meaning. */
export function referenceTable({ schema, section, shared }: Table): string {
  const { columns, cells } = shared?.as === "column" ? withRepository(shared.keys) : plain(shared?.keys ?? []);
  const lines = rowsOf(schema, section).map((row) => `| ${cells(row).map(escaped).join(" | ")} |`);
  return inProductsWords([`| ${columns.join(" | ")} |`, `|${"---|".repeat(columns.length)}`, ...lines].join("\n"));
}

/** Keys by the products' names of their sections. */
function inProductsWords(table: string): string {
  return OTHER_NAMES.reduce((text, { within, name, other }) => {
    const [known, called] = [name, other].map((one) => `\`${[...within, one].join(".")}`) as [string, string];
    const renamed = text.replaceAll(`${known}.`, `${called}.`);
    return renamed.replaceAll(`with ${known}\``, `with ${called}\``);
  }, table);
}

interface Layout {
  readonly columns: readonly string[];
  readonly cells: (row: Row) => readonly string[];
}

function plain(ofServer: readonly string[]): Layout {
  return {
    columns: ["Key", "Type", "Default", "Required", "Meaning"],
    cells: ({ key, schema, required }) => {
      const byDefault = ofServer.includes(key) ? "the server's" : defaultOf(schema);
      return [`\`${key}\``, typeOf(schema), byDefault, required, schema.description ?? ""];
    },
  };
}

function withRepository(keys: readonly string[]): Layout {
  return {
    columns: ["Key", "Type", "Default", "Repository", "Meaning"],
    cells: ({ key, schema }) => {
      const repository = keys.includes(key.split(".").at(-1) ?? "") ? "yes" : "no";
      return [`\`${key}\``, typeOf(schema), defaultOf(schema), repository, schema.description ?? ""];
    },
  };
}

function rowsOf(schema: JsonSchema, section: string | undefined): readonly Row[] {
  if (section === undefined) return sectionRows(schema, "", "always");
  const found = schema.properties?.[section];
  if (found === undefined) throw new Error(`the schema has no section ${section}`);
  const always = schema.required?.includes(section) === true;
  return rowsUnder(found, section, always ? "always" : `with \`${section}\``, "");
}

function sectionRows(schema: JsonSchema, path: string, when: string): readonly Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, member]) => {
    const here = path === "" ? key : `${path}.${key}`;
    const must = schema.required?.includes(key) === true;
    return rowsUnder(member, here, must ? when : `with \`${here}\``, must ? when : conditionOf(schema, path, key));
  });
}

/** `when` is the condition for required nested keys, `required` the one for the key itself. */
function rowsUnder(schema: JsonSchema, path: string, when: string, required: string): readonly Row[] {
  if (schema.properties !== undefined) return sectionRows(schema, path, when);
  const values = schema.additionalProperties;
  if (typeof values === "object") {
    const name = /^<.*>$/.exec(schema.propertyNames?.title ?? "")?.[0] ?? "<name>";
    return [{ key: path, schema, required }, ...rowsUnder(values, `${path}.${name}`, "in each entry", "")];
  }
  const entries = schema.items?.properties === undefined ? [] : sectionRows(schema.items, `${path}[]`, "in each entry");
  return [{ key: path, schema, required }, ...entries];
}

/** The rules of a section that require this key. */
function conditionOf(schema: JsonSchema, path: string, key: string): string {
  const inside = (name: string) => `\`${path === "" ? name : `${path}.${name}`}\``;
  const others = Object.entries(schema.dependencies ?? {}).flatMap(([name, needs]) =>
    Array.isArray(needs) && needs.includes(key) ? [name] : [],
  );
  if (others.length > 0) return `with ${others.map(inside).join(", ")}`;
  if (schema.then?.required?.includes(key) !== true) return "";
  return `when ${(schema.if?.required ?? []).map(inside).join(", ")} is true`;
}

function typeOf(schema: JsonSchema): string {
  if (typeof schema.additionalProperties === "object") return "section";
  if (schema.items === undefined) return nameOf(schema);
  if (schema.items.properties !== undefined) return "list";
  const most = schema.maxItems === undefined || schema.maxItems >= 1000 ? "" : `, ${schema.maxItems} at most`;
  const name = nameOf(schema.items);
  return `list of ${/^[a-z ]+$/.test(name) && name !== "text" ? `${name}s` : name}${most}`;
}

function nameOf(schema: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  const title = schema.title ?? "";
  if (title !== "number") return /[:<]/.test(title) ? `\`${title}\`` : title;
  const { minimum, maximum } = schema;
  if (minimum === undefined || maximum === undefined) return title;
  return maximum === Number.MAX_SAFE_INTEGER ? `number, from ${minimum}` : `number, ${minimum} to ${maximum}`;
}

function defaultOf(schema: JsonSchema): string {
  const value = schema.default;
  if (value === undefined) return "none";
  const text = Array.isArray(value)
    ? `[${value.join(", ")}]`
    : typeof value === "string"
      ? value
      : JSON.stringify(value);
  return `\`${text}\``;
}

function escaped(cell: string): string {
  return cell.replaceAll("|", "\\|");
}
