import { stringify } from "yaml";
import { composeYaml, YAML_LIMITS, YamlRefused } from "../../config/bounded-yaml.js";
import { yamlValue } from "../../config/yaml-values.js";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../model/json.js";
import { isList, mapMembers } from "../model/members.js";

/** Names of parameters that usually hold secrets; only the last part of a dotted name counts. */
const SENSITIVE = /(?:pass|secret|token|credential|key)[^.]*$|(?:^|[.\]])(?:string|binary)?data[.[]/i;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Whether a parameter of this name usually holds a secret. */
export function isSensitiveName(name: string): boolean {
  return SENSITIVE.test(name);
}

/** Whether an object carries parameters of other programs in plain text (Helm values, environments of plugins). */
export function carriesParameters({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return group === "argoproj.io" && (kind === "Application" || kind === "ApplicationSet");
}

/**
 * Replaces each value that looks secret by a number. Equal values get equal numbers, so a change stays visible and its
 * values do not.
 */
export function hideParameters(
  base: JsonObject | undefined,
  head: JsonObject | undefined,
): { readonly base: JsonObject | undefined; readonly head: JsonObject | undefined } {
  const numbers = new Map<string, number>();
  const mark = (value: Json): string => {
    const text = canonicalJson(value);
    const number = numbers.get(text) ?? numbers.size + 1;
    numbers.set(text, number);
    return `(hidden, value ${number})`;
  };
  return { base: base && hidden(base, mark), head: head && hidden(head, mark) };
}

type Mark = (value: Json) => string;

function hidden(manifest: JsonObject, mark: Mark): JsonObject {
  return mapMembers(manifest, (member, name) => hiddenMember(member, name, mark));
}

function hiddenMember(value: Json, name: string, mark: Mark): Json {
  if (name === LAST_APPLIED || SENSITIVE.test(name)) return allHidden(value, mark);
  if (name === "values" && typeof value === "string") return hiddenText(value, mark);
  return hiddenValue(value, mark);
}

function hiddenValue(value: Json, mark: Mark): Json {
  if (isList(value)) return value.map((item) => hiddenValue(item, mark));
  if (!isJsonObject(value)) return value;
  // A parameter or an environment variable has its name beside its value.
  const named = typeof value.name === "string" && SENSITIVE.test(value.name);
  return mapMembers(value, (member, name) =>
    named && /^(?:value|string|array|map)$/.test(name) ? allHidden(member, mark) : hiddenMember(member, name, mark),
  );
}

/** Helm values as one text of YAML. A template, and what cannot be read, is hidden whole. */
function hiddenText(text: string, mark: Mark): Json {
  if (!/pass|secret|token|credential|key/i.test(text)) return text;
  const value = readText(text);
  return isJsonObject(value) ? stringify(hidden(value, mark), { lineWidth: 0 }) : mark(text);
}

function readText(text: string): Json | undefined {
  try {
    const [document] = [...composeYaml(text, { ...YAML_LIMITS, documents: 1 })];
    return document && yamlValue(document, { merge: false, duplicateKeys: "refused" });
  } catch (error) {
    if (error instanceof YamlRefused) return undefined;
    throw error;
  }
}

function allHidden(value: Json, mark: Mark): Json {
  if (isList(value)) return value.map((item) => allHidden(item, mark));
  return isJsonObject(value) ? mapMembers(value, (member) => allHidden(member, mark)) : mark(value);
}
