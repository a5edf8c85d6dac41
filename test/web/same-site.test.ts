import { expect, test } from "@jest/globals";
import { startSite } from "./auth/site.js";

test.each<[string, Readonly<Record<string, string>>, number]>([
  ["a program", {}, 200],
  ["our own page", { origin: "http://svc.example.com", "sec-fetch-site": "same-origin" }, 200],
  ["our own page in an old browser", { origin: "http://svc.example.com" }, 200],
  ["a person who typed the address", { "sec-fetch-site": "none" }, 200],
  ["another site", { origin: "https://evil.example.org", "sec-fetch-site": "cross-site" }, 403],
  ["another site in an old browser", { origin: "https://evil.example.org" }, 403],
  ["another site whose origin is hidden", { "sec-fetch-site": "cross-site" }, 403],
  ["a neighbour below the same domain", { "sec-fetch-site": "same-site" }, 403],
  ["a sandboxed page", { origin: "null" }, 403],
  ["the same host by another scheme", { origin: "https://svc.example.com" }, 403],
  ["a host that begins like ours", { origin: "http://svc.example.com.evil.org" }, 403],
  ["a broken origin", { origin: "http://" }, 403],
])("a change requested by %s", async (_who, headers, status) => {
  const site = await startSite({});
  const answer = await site.visitor().ask("/change", { method: "POST", headers });
  expect(answer.status).toBe(status);
  if (status === 403) expect(answer.text).toMatch(/<h1>Nothing was changed<\/h1>[^]*server\.base_url differs/);
  expect((await site.visitor().ask("/status", { headers })).status).toBe(200);
});

test("a program of another site is told so in JSON", async () => {
  const site = await startSite({});
  const answer = await fetch(`${site.url}/change`, { method: "POST", headers: { origin: "https://evil.example.org" } });
  expect(await answer.json()).toEqual({ error: expect.stringContaining("another site") });
});

test("the address that the request was sent to also counts as ours", async () => {
  const site = await startSite({});
  const headers = { origin: site.url };
  expect((await fetch(`${site.url}/change`, { method: "POST", headers })).status).toBe(200);
});
