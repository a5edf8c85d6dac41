import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import { Registrations, wrongInManifest } from "../../../sandbox/github/registrations.js";

const APP = parse(readFileSync("app.yml", "utf8")) as Record<string, unknown>;

test("app.yml is a manifest that GitHub accepts", () => {
  expect(wrongInManifest({ ...APP, redirect_url: "http://127.0.0.1:4142/registered" })).toEqual([]);
});

test.each([
  ["a parameter that is not described", { webhook_secret: "x" }, /webhook_secret/],
  ["a parameter of the wrong kind", { public: "no" }, /public/],
  ["a name that is too long", { name: "n".repeat(35) }, /Name is too long/],
  ["no address of webhooks", { hook_attributes: {} }, /Hook url/],
  ["a permission that is not described", { default_permissions: { ...permissions(), mood: "read" } }, /mood/],
  ["a level that is not described", { default_permissions: { ...permissions(), issues: "admin" } }, /issues/],
  ["an event that is not described", { default_events: ["mood"] }, /mood is no event/],
  ["an event without its permission", { default_permissions: { contents: "read" } }, /not supported by permissions/],
])("%s is refused", (_, change, reason) => {
  expect(wrongInManifest({ ...APP, ...change }).join("\n")).toMatch(reason);
});

test("a code works once, within an hour", () => {
  const registrations = new Registrations();
  const [first, second] = [registrations.add(APP, 0), registrations.add(APP, 0)];
  expect(registrations.take(first, 3_599_999)?.manifest).toEqual(APP);
  expect(registrations.take(first, 3_599_999)).toBeUndefined();
  expect(registrations.take(second, 3_600_000)).toBeUndefined();
});

function permissions(): object {
  return APP.default_permissions as object;
}
