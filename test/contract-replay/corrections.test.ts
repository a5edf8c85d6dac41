import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { createExchangeCheck } from "./check-exchange.js";
import { corrected, correctionTexts } from "./corrections.js";
import { readSwaggerFile } from "./read-swagger.js";
import type { RecordedExchange } from "./recorded-exchange.js";

const swagger = readSwaggerFile(fileURLToPath(new URL("small-swagger.json", import.meta.url)));
const check = createExchangeCheck(swagger);

function found(more: Partial<RecordedExchange>): string[] {
  const plain = { method: "GET", path: "/api/v1/applications", query: "", requestBody: "", status: 200, answer: {} };
  return check({ ...plain, ...more }).violations.map(
    ({ where, pointer, problem }) => `${where} ${pointer}: ${problem}`,
  );
}

function metadata(members: object): Partial<RecordedExchange> {
  return { path: "/api/v1/applications/web", answer: { metadata: members } };
}

function sync(body: object): Partial<RecordedExchange> {
  const path = "/api/v1/applications/web/sync";
  const requestBody = JSON.stringify(body);
  return { method: "POST", path, contentType: "application/json", requestBody, answer: { metadata: {} } };
}

const withOverrides = (resourceOverrides: unknown) => ({ path: "/api/v1/settings", answer: { resourceOverrides } });
const text = "not here\n";

describe("each correction, and what it does not reach", () => {
  test.each<[string, Partial<RecordedExchange>, string[]]>([
    ["int64 is a number", sync({ limit: 0, positions: [1, 2] }), []],
    [
      "int64 is no string",
      sync({ limit: "0", positions: ["1"] }),
      ["body /limit: must be integer", "body /positions/0: must be integer"],
    ],
    [
      "int64 is no fraction",
      sync({ limit: 0.5 }),
      ["body /limit: must be integer", 'body /limit: must match format "int64"'],
    ],
    ["int32 is what it was", sync({ retries: "1" }), ["body /retries: must be integer"]],
    ["items may be null", { answer: { items: null } }, []],
    [
      "annotations, labels and deletionTimestamp may be null",
      metadata({ annotations: null, labels: null, deletionTimestamp: null }),
      [],
    ],
    [
      "other times may not",
      metadata({ creationTimestamp: null }),
      ["answer /metadata/creationTimestamp: must be string"],
    ],
    [
      "other lists may not",
      { path: "/api/v1/applications/web", answer: { metadata: {}, sources: null } },
      ["answer /sources: must be array"],
    ],
    ["an item of items may not", { answer: { items: [null] } }, ["answer /items/0: must be object"]],
    ["an unknown path is answered in text", { path: "/none", status: 404, answer: text }, ["request : unknown path"]],
    [
      "an unknown path is not answered in JSON",
      { path: "/none", status: 404, answer: {} },
      ["request : unknown path", "answer : status 404 is no plain text"],
    ],
    [
      "an unknown application is not answered in text",
      { ...metadata({}), status: 404, answer: text },
      ["answer : must be object"],
    ],
    [
      "an unknown method is answered in text",
      { method: "PUT", contentType: "application/json", status: 405, answer: text },
      ["request : unknown method"],
    ],
    [
      "an unknown method is not answered as if it were known",
      { method: "PUT", status: 200, answer: {} },
      ["request : unknown method", "answer : status 200 is no plain text"],
    ],
    ["415 is text", { status: 415, answer: "Invalid content type\n" }, []],
    [
      "415 is no JSON",
      { status: 415, answer: { message: "Invalid content type" } },
      ["answer : status 415 is no plain text"],
    ],
    [
      "can-i has four segments",
      { path: "/api/v1/account/can-i/applications/get/default/web", answer: { value: "yes" } },
      [],
    ],
    [
      "can-i has not three",
      { path: "/api/v1/account/can-i/applications/get/default", status: 404, answer: text },
      ["request : unknown path"],
    ],
    [
      "can-i has not five",
      { path: "/api/v1/account/can-i/applications/get/default/a/web", status: 404, answer: text },
      ["request : unknown path"],
    ],
    ["resourceOverrides hold anything", withOverrides({ "apps/Deployment": { "health.lua": "x", list: [1] } }), []],
    ["resourceOverrides are still a map", withOverrides([]), ["answer /resourceOverrides: must be object"]],
    [
      "other settings are what they were",
      { path: "/api/v1/settings", answer: { url: 1, urls: [] } },
      ["answer /url: must be string", "answer /urls: unknown member"],
    ],
    ["the list has the parameter fields", { query: "fields=items.spec" }, []],
    ["nothing else has it", { ...metadata({}), query: "fields=metadata" }, ["query /fields: unknown parameter"]],
    ["there is /healthz", { path: "/healthz", answer: "ok" }, []],
    [
      "/healthz takes no parameter and answers text",
      { path: "/healthz", query: "full=true", answer: {} },
      ["query /full: unknown parameter", "answer : must be string"],
    ],
    [
      "Argo CD's own names in kustomizeOptions are known",
      { path: "/api/v1/settings", answer: { kustomizeOptions: { BuildOptions: "" } } },
      [],
    ],
    [
      "other names there are not",
      { path: "/api/v1/settings", answer: { kustomizeOptions: { Path: "" } } },
      ["answer /kustomizeOptions/Path: unknown member"],
    ],
  ])("%s", (_case, more, violations) => {
    expect(found(more)).toEqual(violations);
  });
});

test("the corrections change these places of the file and no others", () => {
  const after = corrected(swagger);
  const changed = (kind: "paths" | "definitions") =>
    [...new Set([...Object.keys(swagger[kind]), ...Object.keys(after[kind])])]
      .filter((name) => JSON.stringify(swagger[kind][name]) !== JSON.stringify(after[kind][name]))
      .sort();
  expect(changed("paths")).toEqual([
    "/api/v1/account/can-i/{resource}/{action}/{project}/{application}",
    "/api/v1/account/can-i/{resource}/{action}/{subresource}",
    "/api/v1/applications",
    "/api/v1/applications/{name}",
    "/healthz",
  ]);
  expect(changed("definitions")).toEqual(["clusterSettings", "list", "metadata", "sync"]);
  expect(correctionTexts).toHaveLength(7);
});
