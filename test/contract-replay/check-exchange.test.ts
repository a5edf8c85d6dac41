import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { createExchangeCheck } from "./check-exchange.js";
import { readSwaggerFile } from "./read-swagger.js";
import type { RecordedExchange } from "./recorded-exchange.js";

const check = createExchangeCheck(readSwaggerFile(fileURLToPath(new URL("small-swagger.json", import.meta.url))));
const application = { metadata: { name: "web" } };

/** A GET of an application which went well, but for what is given; `path` may hold a query. */
function exchange({
  path: target = "/api/v1/applications/web",
  method = "GET",
  body,
  ...more
}: Partial<RecordedExchange> & { readonly body?: unknown } = {}): RecordedExchange {
  const [path = "", query = ""] = target.split("?");
  const contentType = method === "GET" ? undefined : "application/json";
  const requestBody = body === undefined ? "" : JSON.stringify(body);
  return { method, path, query, contentType, requestBody, status: 200, answer: application, ...more };
}

function found(more: Parameters<typeof exchange>[0]): string[] {
  return check(exchange(more)).violations.map(({ where, pointer, problem }) => `${where} ${pointer}: ${problem}`);
}

const sync = { method: "POST", path: "/api/v1/applications/web/sync" };
const remove = { method: "DELETE", answer: {} };
const list = { path: "/api/v1/applications", answer: { items: [application] } };
const error = { status: 403, answer: { error: "no", code: 7, message: "no" } };

describe("what the file describes passes", () => {
  test.each([
    ["a plain read", {}],
    ["a list with a repeated parameter", { ...list, path: "/api/v1/applications?projects=a&projects=b&selector=c" }],
    ["a deletion", { ...remove, path: "/api/v1/applications/web?cascade=false&project=default" }],
    ["a sync", { ...sync, body: { revision: "main", prune: true, retries: 1 } }],
    ["free-form JSON in a body", { ...sync, body: { values: { any: { thing: [1, "two"] } } } }],
    ["free-form JSON in an answer", { answer: { ...application, values: { any: { thing: [1] } } } }],
    ["a map with any key", { answer: { metadata: { name: "web", labels: { "example.com/x": "y" } } } }],
    ["an error", error],
  ])("%s", (_case, more) => {
    expect(found(more)).toEqual([]);
  });

  test.each([
    ["/api/v1/applications/web", "GET /api/v1/applications/{name}"],
    ["/api/v1/applications/all", "GET /api/v1/applications/all"],
  ])("%s is %s", (path, operation) => {
    expect(check(exchange({ path })).operation).toBe(operation);
  });
});

describe("in a request it finds", () => {
  test.each([
    [
      "a misspelt parameter",
      { ...remove, path: "/api/v1/applications/web?cascaded=false&project=p" },
      "query /cascaded: unknown parameter",
    ],
    [
      "a parameter of the wrong type",
      { ...remove, path: "/api/v1/applications/web?cascade=no&project=p" },
      "query /cascade: must be boolean",
    ],
    [
      "a missing parameter",
      { ...remove, path: "/api/v1/applications/web?cascade=false" },
      "query /project: is missing",
    ],
    [
      "a parameter that is given twice",
      { ...list, path: "/api/v1/applications?selector=a&selector=b" },
      "query /selector: is given more than once",
    ],
    [
      "an item of the wrong type in a parameter",
      { path: "/api/v1/applications/web?positions=1&positions=two" },
      "query /positions/1: must be integer",
    ],
    [
      "an unknown member",
      { ...sync, body: { revision: "main", appNamspace: "x" } },
      "body /appNamspace: unknown member",
    ],
    ["a member of the wrong type", { ...sync, body: { prune: "true" } }, "body /prune: must be boolean"],
    ["a null", { ...sync, body: { revision: null } }, "body /revision: must be string"],
    [
      "a null where answers may have one",
      { ...sync, body: { annotations: null } },
      "body /annotations: must be object",
    ],
    ["no body where one belongs", sync, "body : is missing"],
    ["a body that is no JSON", { ...sync, requestBody: '{"revision": "ma' }, "body : is no JSON"],
    [
      "a body where none belongs",
      { ...remove, path: "/api/v1/applications/web?project=p", body: {} },
      "body : is sent where none is described",
    ],
    [
      "a content type with a character set",
      { ...sync, body: {}, contentType: "application/json; charset=utf-8" },
      "request : content type is none of application/json",
    ],
    [
      "an unknown path",
      { path: "/api/v1/application/web", status: 404, answer: "Not Found\n" },
      "request : unknown path",
    ],
    ["an empty name", { path: "/api/v1/applications/", status: 404, answer: "Not Found\n" }, "request : unknown path"],
    ["an unknown method", { method: "PATCH", status: 405, answer: "Method Not Allowed\n" }, "request : unknown method"],
  ])("%s", (_case, more, violation) => {
    expect(found(more)).toEqual([violation]);
  });
});

describe("in an answer it finds", () => {
  test.each([
    ["a missing member", { answer: {} }, "answer : must have required property 'metadata'"],
    ["a member of the wrong type", { answer: { metadata: { name: 7 } } }, "answer /metadata/name: must be string"],
    [
      "a member of the wrong format",
      { answer: { metadata: { creationTimestamp: "today" } } },
      'answer /metadata/creationTimestamp: must match format "date-time"',
    ],
    [
      "a member of the wrong type that may be null",
      { answer: { metadata: { labels: "a" } } },
      "answer /metadata/labels: must be object",
    ],
    ["an invented member", { answer: { ...application, mood: "good" } }, "answer /mood: unknown member"],
    [
      "an invented member deep inside",
      { ...list, answer: { items: [application, { metadata: { nam: "x" } }] } },
      "answer /items/1/metadata/nam: unknown member",
    ],
    [
      "an invented member where none is named",
      { ...remove, path: "/api/v1/applications/web?project=p", answer: { done: true } },
      "answer /done: unknown member",
    ],
    [
      "an invented member of an error",
      { ...error, answer: { ...error.answer, hint: "x" } },
      "answer /hint: unknown member",
    ],
    ["an error in plain text", { ...error, answer: "Forbidden" }, "answer : must be object"],
    [
      "a status that is not described",
      { path: "/api/v1/settings", status: 500, answer: {} },
      "answer : status 500 is not described",
    ],
  ])("%s", (_case, more, violation) => {
    expect(found(more)).toEqual([violation]);
  });
});

test("a violation names the request without its query", () => {
  const { operation, violations } = check(exchange({ path: "/api/v1/applications/web?cascaded=secret" }));
  expect(operation).toBe("GET /api/v1/applications/{name}");
  expect(violations[0]).toMatchObject({ method: "GET", path: "/api/v1/applications/web" });
  expect(JSON.stringify(violations)).not.toContain("secret");
});
