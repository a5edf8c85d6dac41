import { isObject, textOf, type Json } from "./json.js";

export interface TemplateOptions {
  /** Name in error messages. */
  readonly name: string;
  /** An unknown key is an error (`missingkey=error`) instead of printing `absent`. */
  readonly strict?: boolean;
  /** What an absent value prints: `<no value>` unless set. Helm prints nothing. */
  readonly absent?: string;
}

/**
 * Renders the part of Go's text/template that the charts and ApplicationSets of the tests use: `{{ .a.b }}` and
 * `{{ .a.b | quote }}`. @throws {Error} with Go's words for an unknown key; any other action is refused.
 */
export function executeTemplate(text: string, data: Json, options: TemplateOptions): string {
  return text.replace(/\{\{([\s\S]*?)\}\}/g, (action: string, content: string, offset: number) => {
    const [, path, quoted] = /^\s*((?:\.\w+)+)\s*(\|\s*quote\s*)?$/.exec(content) ?? [];
    if (path === undefined) throw new Error(`template: ${options.name}: the sandbox does not support ${action}`);
    const value = memberAt(data, path, text, offset + action.indexOf(path), options);
    if (quoted !== undefined) return JSON.stringify(textOf(value));
    return value === null ? (options.absent ?? "<no value>") : textOf(value);
  });
}

function memberAt(data: Json, path: string, text: string, offset: number, { name, strict }: TemplateOptions): Json {
  return path
    .slice(1)
    .split(".")
    .reduce<Json>((at, member) => {
      const value = isObject(at) ? at[member] : undefined;
      if (value !== undefined) return value;
      if (strict !== true) return null;
      const lines = text.slice(0, offset).split("\n");
      const place = `${name}:${lines.length}:${lines.at(-1)?.length ?? 0}`;
      throw new Error(
        `template: ${place}: executing ${JSON.stringify(name)} at <${path}>: map has no entry for key ${JSON.stringify(member)}`,
      );
    }, data);
}
