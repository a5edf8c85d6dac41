import { readFileSync } from "node:fs";
import { z } from "zod";
import { isObject, mapObjects, type JsonObject } from "./json.js";

/** What is used of a swagger 2.0 file, https://swagger.io/specification/v2/. */
export interface Swagger {
  readonly consumes: readonly string[];
  /** Operations by path template and method in lower case. */
  readonly paths: Readonly<Record<string, JsonObject>>;
  readonly definitions: Readonly<Record<string, JsonObject>>;
}

const members = z.record(z.string(), z.unknown());
const document = z.object({
  swagger: z.literal("2.0"),
  consumes: z.array(z.string()).default([]),
  paths: z.record(z.string(), members).refine((paths) => Object.keys(paths).length > 0, "it describes no path"),
  definitions: z.record(z.string(), members).default({}),
});

/** The file cannot be used; the message says which and why. */
export class SwaggerUnusable extends Error {
  override readonly name = "SwaggerUnusable";
}

export function readSwaggerFile(file: string): Swagger {
  try {
    return readSwagger(readFileSync(file, "utf8"));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SwaggerUnusable(`${file} cannot be used as Argo CD's swagger 2.0 file: ${reason}`, { cause: error });
  }
}

/** @throws {SwaggerUnusable} for anything else than swagger 2.0, and for references that lead nowhere. */
export function readSwagger(text: string): Swagger {
  const parsed = document.safeParse(parseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new SwaggerUnusable(`it is no swagger 2.0: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
  }
  const { consumes, paths, definitions } = parsed.data;
  mapObjects([paths, definitions], (object) => {
    const { $ref: reference } = object;
    // A member of a definition may be called like this, too.
    if (typeof reference !== "string" || isObject(definitions[definitionName(reference) ?? ""])) return object;
    throw new SwaggerUnusable(`it refers to ${reference}, which it does not define`);
  });
  return { consumes, paths, definitions };
}

/** The definition that a local reference means. */
export function definitionName(reference: string): string | undefined {
  return /^#\/definitions\/([^/]+)$/.exec(reference)?.[1];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SwaggerUnusable("it is no JSON", { cause: error });
  }
}
