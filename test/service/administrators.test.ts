import { expect, test } from "@jest/globals";
import type { Account } from "../../src/core/model/account.js";
import { createAdministrators } from "../../src/service/service.js";
import { configOf, SMALLEST } from "../config/server-file.js";

const secret = "0123456789abcdef0123456789abcdef";
const login = "client_id: i, client_secret: s";
const hostb = "hostb: {url: 'https://git.example.org', token: t, webhook_secret: hook-secret-of-tests}";
const auth = (more: string, enabled = true) =>
  `${hostb}\nauth: {enabled: ${enabled}, session_secret: ${secret}, ${more}}`;
const both = `hosta: {${login}}, hostb: {url: 'https://git.example.org', ${login}}`;

/** Who is logged in now. */
const present: readonly Account[] = [
  { id: "hosta:7", provider: "hosta", username: "bo", email: undefined, role: "admin" },
  { id: "hostb:8", provider: "hostb", username: "bo", email: undefined, role: "admin" },
  { id: "hosta:9", provider: "hosta", username: "bo", email: undefined, role: "user" },
];

test.each<[string, string, "hosta" | "hostb", string, boolean]>([
  ["an administrator", auth(both), "hosta", "7", true],
  ["an administrator on the other host", auth(both), "hostb", "8", true],
  ["somebody with the role user", auth(both), "hosta", "9", false],
  ["somebody who is not logged in", auth(both), "hosta", "10", false],
  ["the same number on the other host", auth(both), "hostb", "7", false],
  ["without a login", auth(both, false), "hosta", "7", false],
  ["without a login through this host", auth(`hostb: {${login}}`), "hosta", "7", false],
  ["a login through another GitLab instance", auth(`hostb: {${login}}`), "hostb", "8", false],
])("%s", async (_who, file, host, id, expected) => {
  const isAdministrator = createAdministrators(
    configOf([SMALLEST, file]),
    { list: (wanted) => Promise.resolve(present.filter((one) => one.id === wanted)) },
    (account) => Promise.resolve(account),
  );
  expect(await isAdministrator(host, { id, login: "bo", bot: false })).toBe(expected);
});
