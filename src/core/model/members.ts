import type { Json, JsonObject } from "./json.js";

/** The own member of this name, so that `constructor` and the like from foreign input find nothing inherited. */
export function ownMember(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** A copy of an object with each member mapped. */
export function mapMembers(object: JsonObject, change: (member: Json, name: string) => Json): JsonObject {
  const members: (readonly [string, Json])[] = [];
  for (const [name, member] of Object.entries(object)) {
    if (member !== undefined) members.push([name, change(member, name)]);
  }
  return Object.fromEntries(members);
}
