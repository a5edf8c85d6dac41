/** What the page of the API reads of a schema. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly oneOf?: readonly Schema[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: string | number;
}

/** An object's fields, and those of objects and lists in it: a Markdown table, or a line if there is little to say. */
export function fieldsOf(schema: Schema): string {
  const rows = rowsOf(schema, "");
  if (rows.length < 3 && rows.every(([, , meaning]) => meaning === "")) {
    return rows.map(([field, type]) => `${field}: ${type}`).join("; ");
  }
  const lines = rows.map((row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`);
  return ["| Field | Type | Meaning |", "|---|---|---|", ...lines].join("\n");
}

type Row = readonly [field: string, type: string, meaning: string];

function rowsOf(schema: Schema, prefix: string): readonly Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, value]): readonly Row[] => {
    const field = `${prefix}${name}`;
    const presence = schema.required?.includes(name) === true ? "" : ", optional";
    const row: Row = [`\`${field}\``, `${typeOf(value)}${presence}`, value.description ?? ""];
    const below = value.items ?? value;
    const inside = `${field}${value.items === undefined ? "." : "[]."}`;
    const variants = (below.oneOf ?? []).flatMap((variant) => rowsOf(variant, inside));
    return [row, ...rowsOf(below, inside), ...variants];
  });
}

/** The type in words; objects of the description by name. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.oneOf !== undefined) return `object, by \`kind\` one of ${schema.oneOf.length}`;
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  const { type = "", format, minimum, maximum } = schema;
  const name = type === "string" ? "text" : type === "boolean" ? "true/false" : type;
  const least = minimum === undefined ? "" : maximum === undefined ? `, from ${minimum}` : `, ${minimum} to ${maximum}`;
  const otherwise = schema.default === undefined ? "" : `, otherwise \`${schema.default}\``;
  return `${name}${format === undefined ? "" : ` (${format})`}${least}${otherwise}`;
}
