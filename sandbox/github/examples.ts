import { createRequire } from "node:module";

export type JsonObject = Record<string, unknown>;

interface ExampleGroup {
  readonly name: string;
  readonly examples: readonly JsonObject[];
}

let loaded: readonly ExampleGroup[] | undefined;

/**
 * A real payload from @octokit/webhooks-examples, preferably one with an installation. Shared by all callers: do not
 * modify it.
 */
export function examplePayload(event: string, action: string | undefined): JsonObject {
  loaded ??= createRequire(import.meta.url)("@octokit/webhooks-examples") as readonly ExampleGroup[];
  const examples = loaded.find(({ name }) => name === event)?.examples ?? [];
  const fitting = examples.filter((payload) => payload.action === action);
  const best = fitting.find((payload) => "installation" in payload) ?? fitting[0];
  if (best === undefined) throw new Error(`There is no example of ${event}.${action ?? "(no action)"}`);
  return best;
}

/** One member of an example, for use as a template. */
export function exampleMember(event: string, action: string, member: string): JsonObject {
  const value = examplePayload(event, action)[member];
  if (!isObject(value)) throw new Error(`The example of ${event}.${action} has no ${member}`);
  return value;
}

const texts = new WeakMap<JsonObject, string>();

/** The same JSON with strings replaced everywhere, in the given order. The value must never change: its text is kept. */
export function rewritten(value: JsonObject, replacements: readonly (readonly [string, string])[]): JsonObject {
  const original = texts.get(value) ?? JSON.stringify(value);
  texts.set(value, original);
  const text = replacements.reduce((json, [from, to]) => json.replaceAll(from, to), original);
  return JSON.parse(text) as JsonObject;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
