import { isObject, type Json, type JsonObject } from "../json.js";
import { executeTemplate } from "../template.js";

/** The template language of a set. */
export interface TemplateStyle {
  readonly goTemplate: boolean;
  /** `missingkey=error`. */
  readonly strict: boolean;
}

/** Renders every string in a value, map keys included. */
export function renderTexts(value: Json, parameters: JsonObject, style: TemplateStyle): Json {
  if (Array.isArray(value)) return value.map((item) => renderTexts(item, parameters, style));
  if (isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        renderText(key, parameters, style),
        renderTexts(member ?? null, parameters, style),
      ]),
    );
  }
  return typeof value === "string" ? renderText(value, parameters, style) : value;
}

export function renderText(text: string, parameters: JsonObject, style: TemplateStyle): string {
  if (!text.includes("{{")) return text;
  if (!style.goTemplate) return renderFlat(text, parameters);
  try {
    return executeTemplate(text, parameters, { name: "base", strict: style.strict });
  } catch (error) {
    throw new Error(`failed to execute go template ${text}: ${error instanceof Error ? error.message : ""}`);
  }
}

/** Replaces `{{ name }}`; a name without a parameter stays as it is. */
function renderFlat(text: string, parameters: JsonObject): string {
  return text.replace(/\{\{([^{}]*)\}\}/g, (whole, name: string) => {
    const value = parameters[name.trim()];
    return value === undefined || value === null || typeof value === "object" ? whole : String(value);
  });
}

/** Nested members as `a.b`, the form that sets without `goTemplate` use. */
export function flattened(value: JsonObject, prefix = ""): JsonObject {
  const flat: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (isObject(member)) Object.assign(flat, flattened(member, `${prefix}${key}.`));
    else if (Array.isArray(member)) {
      Object.assign(flat, flattened(Object.fromEntries(member.entries()) as JsonObject, `${prefix}${key}.`));
    } else flat[`${prefix}${key}`] = typeof member === "string" ? member : JSON.stringify(member ?? null);
  }
  return flat;
}
