import { afterEach, expect, test } from "@jest/globals";
import { providerFetch } from "../../../src/web/auth/oauth-client.js";
import { localServer, type LocalServer } from "../../local-server.js";

let server: LocalServer | undefined;
afterEach(() => server?.stop());

test.each([
  [200, "{}"],
  [404, "not here"],
  [204, ""],
  [304, ""],
])("an answer of status %i reaches the login client with its headers and its text", async (status, text) => {
  server = await localServer((_request, response) => response.writeHead(status, { "x-total": "3" }).end(text));
  const headers = {};
  const answer = await providerFetch(server.url, { method: "GET", headers, body: null, redirect: "manual" });
  expect([answer.status, answer.headers.get("x-total"), await answer.text()]).toEqual([status, "3", text]);
});
