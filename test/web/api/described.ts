import { expect } from "@jest/globals";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import { readOpenapi } from "../../../src/web/api/api.js";
import type { Visited } from "../visitor.js";

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses } | undefined>>>>;
}
type Responses = Readonly<Record<string, { readonly $ref?: string; readonly content?: object } | undefined>>;

const description = readOpenapi() as Description;
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(description, "openapi");

/** Every operation of the description, as `method path`. */
export const OPERATIONS: readonly string[] = Object.entries(description.paths).flatMap(([path, operations]) =>
  Object.keys(operations)
    .filter((name) => name !== "parameters")
    .map((method) => `${method} ${path}`),
);

/** Fails unless the description knows this answer of this operation (`get /api/v1/locks`). */
export function expectDescribed(operation: string, { status, text, headers }: Visited): void {
  const [method = "", path = ""] = operation.split(" ");
  const responses = description.paths[path]?.[method]?.responses;
  const response = responses?.[String(status)];
  expect(`${operation} ${status} ${response === undefined ? "is not described" : "is described"}`).toBe(
    `${operation} ${status} is described`,
  );
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  const pointer = response?.$ref ?? `#/paths/${path.replaceAll("/", "~1")}/${method}/responses/${status}`;
  const schema = {
    $ref: `openapi${pointer.replaceAll("{", "%7B").replaceAll("}", "%7D")}/content/application~1json/schema`,
  };
  const valid = ajv.validate(schema, JSON.parse(text));
  expect(
    valid ? [] : (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ""}`),
  ).toEqual([]);
}
