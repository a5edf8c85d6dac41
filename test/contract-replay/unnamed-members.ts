import { below, isObject, objectAt, type JsonObject } from "./json.js";
import { definitionName, type Swagger } from "./read-swagger.js";

/** Pointers of all members that the schema does not name; swagger files of Argo CD allow them, its server drops them. */
export function unnamedMembers(swagger: Swagger, schema: JsonObject, value: unknown, pointer = ""): string[] {
  const shape = resolved(swagger, schema);
  if (Array.isArray(value)) {
    const items = objectAt(shape, "items");
    return value.flatMap((item, index) => unnamedMembers(swagger, items, item, below(pointer, index)));
  }
  if (!isObject(value) || shape.type !== "object" || holdsAnything(shape)) return [];
  const properties = propertiesOf(swagger, shape);
  const others = shape.additionalProperties;
  return Object.entries(value).flatMap(([name, member]) => {
    const place = below(pointer, name);
    const known = Object.hasOwn(properties, name) ? properties[name] : others;
    return isObject(known) ? unnamedMembers(swagger, known, member, place) : [place];
  });
}

/** An object that stands for any JSON: open by its own word, or Go's wrapper around raw bytes. */
function holdsAnything(shape: JsonObject): boolean {
  if (shape.additionalProperties === true) return true;
  const [[name, member] = ["", {}], ...more] = Object.entries(objectAt(shape, "properties"));
  return more.length === 0 && name.toLowerCase() === "raw" && isObject(member) && member.format === "byte";
}

function propertiesOf(swagger: Swagger, shape: JsonObject): JsonObject {
  const parts = Array.isArray(shape.allOf) ? shape.allOf.filter(isObject) : [];
  const inherited = parts.map((part) => propertiesOf(swagger, resolved(swagger, part)));
  return Object.assign({}, ...inherited, objectAt(shape, "properties")) as JsonObject;
}

function resolved(swagger: Swagger, schema: JsonObject): JsonObject {
  if (typeof schema.$ref !== "string") return schema;
  return swagger.definitions[definitionName(schema.$ref) ?? ""] ?? {};
}
