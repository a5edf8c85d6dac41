import { expect, test } from "@jest/globals";
import { checkRules } from "../../src/service/check-online.js";
import { rsaKey } from "../config/rsa-key.js";
import { configOf, SMALLEST } from "../config/server-file.js";
import { sampleApplication } from "../core/sample-application.js";

const BOTH = `${SMALLEST}\nhosta: {app_id: 1, private_key: "\${KEY}", webhook_secret: hook-secret-of-tests}\n`;

const at = (name: string, namespace: string, annotations: Readonly<Record<string, string>> = {}) => ({
  ...sampleApplication(name, { destination: { server: "https://one", namespace } }),
  annotations,
});

test("lists that together allow nobody are named with the applications of the namespace", () => {
  const rules = (web: string, api: string) =>
    configOf([`${SMALLEST}sync_requirements: [{name: web, ${web}}, {name: api, ${api}}]`]);
  const applications = [at("web", "shop"), at("api", "shop"), at("wiki", "other")];
  expect(checkRules(applications, rules("allowed_users: [ana]", "allowed_users: [bo]"))).toEqual([
    "sync_requirements: nobody may sync what deploys to the namespace shop of https://one (web, api): no person is in all lists that hold there",
  ]);
  expect(checkRules(applications, rules("allowed_users: [ana]", "allowed_users: [bo, Ana]"))).toEqual([]);
  // Members of teams are not known.
  expect(checkRules(applications, rules("allowed_users: [ana]", "allowed_teams: [acme/ops]"))).toEqual([]);
  const apart = [at("web", "shop"), at("api", "other")];
  expect(checkRules(apart, rules("allowed_users: [ana]", "allowed_users: [bo]"))).toEqual([]);
});

test("lists of people on one host are not named for the other host, where they mean nobody", () => {
  const rules = (api: string) => {
    const lists = `[{name: web, allowed_users: ["github:ana"]}, {name: api, allowed_users: [${api}]}]`;
    return configOf([`${BOTH}sync_requirements: ${lists}`], { KEY: rsaKey() });
  };
  const applications = [at("web", "shop"), at("api", "shop")];
  expect(checkRules(applications, rules('"github:ana", "github:bo"'))).toEqual([]);
  expect(checkRules(applications, rules('"github:bo", "gitlab:ana"'))).toHaveLength(1);
});

test("annotations that name no host are named where both hosts are configured", () => {
  const applications = [
    at("web", "shop", { "svc.dev/repository": "acme/deploy" }),
    at("api", "shop", { "svc.dev/repository": "gitlab:acme/deploy" }),
    at("wiki", "shop", { "svc.dev/repository": "https://github.com/acme/deploy" }),
  ];
  expect(checkRules(applications, configOf([SMALLEST]))).toEqual([]);
  expect(checkRules(applications, configOf([BOTH], { KEY: rsaKey() }))).toEqual([
    "web: the annotation svc.dev/repository names no host, so it gives no right: write github:acme/deploy or gitlab:acme/deploy",
  ]);
});
