import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { applicationName } from "../../../src/core/model/brand.js";
import { deleteTemporary } from "../../../src/deployer/argocd/applications.js";
import { localServer, type LocalServer } from "../../local-server.js";
import { application, failureOf, live, renderRequest, SHA, syncRequest, underTest } from "./under-test.js";

/** Answers at random: success with all kinds of objects, refusals, nonsense, dropped connections. */
let answers: readonly number[] = [];
let server: LocalServer;

function object(choice: number, name: string): object {
  const labels = choice % 2 === 0 ? { "svc.dev/temporary": "true" } : null;
  const annotations =
    choice % 3 === 0 ? null : { "svc.dev/expires": choice % 3 === 1 ? "2020-01-01T00:00:00Z" : "2099-01-01T00:00:00Z" };
  return {
    metadata: { name: choice % 5 === 0 ? "plain" : name, namespace: "argocd", labels, annotations },
    spec: { project: "default" },
  };
}

const FAILURES: readonly (readonly [number, string])[] = [
  [400, '{"code":3,"message":"existing application spec is different"}'],
  [400, '{"code":9,"message":"another operation is already in progress"}'],
  [401, '{"code":16,"message":"no session information"}'],
  [403, '{"code":7,"message":"permission denied"}'],
  [404, '{"code":5,"message":"not found"}'],
  [404, "Not Found"],
  [415, "Invalid content type"],
  [500, '{"code":2,"message":"boom"}'],
  [503, "<html>"],
  [200, '{"half":'],
];

beforeAll(async () => {
  server = await localServer((request, response) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (path.endsWith("/settings")) return void response.end('{"controllerNamespace":"argocd"}');
    const choice = answers[server.requests.length % Math.max(1, answers.length)] ?? 0;
    const failure = FAILURES[choice % 20];
    if (choice % 20 === 19) return void request.socket.destroy();
    if (failure !== undefined) return void response.writeHead(failure[0]).end(failure[1]);
    if (path.endsWith("/manifests")) return void response.end('{"manifests":["{}"]}');
    if (path.endsWith("/applications") && request.method === "GET") {
      const items = ["svc-tmp-1-a", "web", "svc-tmp-2-b"].map((name, index) => object(choice + index, name));
      return void response.end(JSON.stringify({ items }));
    }
    response.end(JSON.stringify(object(choice, path.split("/")[4] ?? "")));
  });
});
afterAll(() => server.stop());

const ACTIONS = ["in-place", "temporary", "sync", "update", "sweep", "list", "find", "check"] as const;

test("whatever Argo CD answers, only temporary names are deleted, never cascading, and writes are not repeated", async () => {
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...ACTIONS), { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(99), { minLength: 1, maxLength: 20 }),
      async (actions, chosen) => {
        answers = chosen;
        server.requests.length = 0;
        const { deployer, clock } = underTest({ serverUrl: server.url, syncTimeoutMs: 20_000 });
        for (const action of actions) await act(deployer, action, clock.now()).catch(() => undefined);
        await deployer.close();

        const deletions = server.requests.filter((one) => one.startsWith("DELETE"));
        seen += deletions.length;
        for (const one of deletions) {
          expect(one).toMatch(/^DELETE \/api\/v1\/applications\/svc-tmp-[a-z0-9-]+\?/);
          expect(new URLSearchParams(one.split("?")[1]).getAll("cascade")).toEqual(["false"]);
        }
        expect(server.requests.join("\n")).not.toContain("cascade=true");
        const count = (what: RegExp) => server.requests.filter((one) => what.test(one)).length;
        const asked = (action: string) => actions.filter((one) => one === action).length;
        expect(count(/^POST .*\/sync/)).toBe(asked("sync"));
        expect(count(/^PUT/)).toBe(asked("update"));
        expect(count(/^POST \/api\/v1\/applications\?/)).toBeLessThanOrEqual(2 * asked("temporary"));
      },
    ),
    { numRuns: 150 },
  );
  expect(seen).toBeGreaterThan(0);
}, 60_000);

async function act(
  deployer: ReturnType<typeof underTest>["deployer"],
  action: (typeof ACTIONS)[number],
  now: Date,
): Promise<unknown> {
  switch (action) {
    case "in-place":
    case "temporary":
      return deployer.renderManifests(renderRequest({ mode: action, application: application() }));
    case "sync":
      return deployer.sync(syncRequest({ at: [{ position: 1, revision: SHA }] }));
    case "update":
      return deployer.updateSpec(live(), { source: {} });
    case "sweep":
      return deployer.sweep(now);
    case "list":
      return deployer.listApplications();
    case "find":
      return deployer.findApplication(applicationName("plain"));
    case "check":
      return deployer.check();
  }
}

test("a deletion by any other name stops before a request", async () => {
  const called = () => Promise.reject(new Error("called"));
  const never = { call: called, unread: called, grpc: called, close: () => Promise.resolve() };
  const target = { resourceName: "plain", namespace: undefined, project: "default" };
  expect((await failureOf(deleteTemporary(never, target))).message).toBe(
    "plain is not a temporary Application and is not deleted",
  );
});
