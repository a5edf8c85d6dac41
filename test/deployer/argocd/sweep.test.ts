import { expect, test } from "@jest/globals";
import { argocd, settings, withArgoCd } from "./scripted-argocd.js";
import { underTest } from "./under-test.js";

withArgoCd();

const NOT_FOUND = { code: 5, message: "not found" };
const DENIED = { code: 7, message: "permission denied" };

function leftover(name: string, expires: string | undefined, labels: object = { "svc.dev/temporary": "true" }) {
  const annotations = expires === undefined ? null : { "svc.dev/expires": expires };
  return { metadata: { name, namespace: "argocd", labels, annotations }, spec: { project: "default" } };
}
const NOW = new Date("2026-06-01T12:00:00Z");
const PAST = "2026-06-01T11:59:59Z";
const FUTURE = "2026-06-01T12:00:01Z";

function sweepList(items: unknown[] | null) {
  settings();
  argocd
    .get("/api/v1/applications")
    .query((query) => query.selector === "svc.dev/temporary=true")
    .reply(200, { items });
}

test("a sweep deletes expired temporary Applications and nothing else", async () => {
  sweepList([
    leftover("svc-tmp-1-a", PAST),
    leftover("svc-tmp-2-b", FUTURE),
    leftover("svc-tmp-3-c", undefined),
    leftover("svc-tmp-4-d", "soon"),
    leftover("web", PAST),
    leftover("svc-tmp-5-e", PAST, {}),
    { metadata: null },
  ]);
  argocd.get("/api/v1/applications/svc-tmp-1-a?project=default").reply(200, leftover("svc-tmp-1-a", PAST));
  argocd.delete("/api/v1/applications/svc-tmp-1-a?cascade=false&project=default").reply(200, {});
  expect(await underTest().deployer.sweep(NOW)).toBe(1);
});

test("a sweep leaves what a new run made meanwhile, and one failure does not keep the rest", async () => {
  sweepList([leftover("svc-tmp-1-a", PAST), leftover("svc-tmp-2-b", PAST), leftover("svc-tmp-3-c", PAST)]);
  argocd.get("/api/v1/applications/svc-tmp-1-a?project=default").reply(200, leftover("svc-tmp-1-a", FUTURE));
  argocd.get("/api/v1/applications/svc-tmp-2-b?project=default").reply(200, leftover("svc-tmp-2-b", PAST));
  argocd.delete("/api/v1/applications/svc-tmp-2-b?cascade=false&project=default").reply(403, DENIED);
  argocd.get("/api/v1/applications/svc-tmp-3-c?project=default").reply(404, NOT_FOUND);
  const { deployer, lines } = underTest();
  expect(await deployer.sweep(NOW)).toBe(0);
  expect(lines.find((line) => line.level === "warn")?.fields).toMatchObject({ application: "svc-tmp-2-b" });
});

test("a sweep of nothing", async () => {
  sweepList(null);
  expect(await underTest().deployer.sweep(NOW)).toBe(0);
});
