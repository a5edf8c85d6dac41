import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import { localServer } from "../../local-server.js";
import { application, renderRequest, underTest } from "./under-test.js";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Answers {
  settings: object;
  status: number;
}

/** An Argo CD that counts concurrent requests and connections. */
async function serve(answers: Answers = { settings: { controllerNamespace: "argocd" }, status: 200 }) {
  const seen = { atOnce: 0, most: 0, sockets: new Set<Socket>() };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    seen.sockets.add(request.socket);
    seen.atOnce += 1;
    seen.most = Math.max(seen.most, seen.atOnce);
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    seen.atOnce -= 1;
    const path = request.url ?? "";
    const body = path.includes("/settings") ? answers.settings : path.includes("/manifests") ? {} : APPLICATION;
    response.writeHead(path.includes("/settings") ? answers.status : 200).end(JSON.stringify(body));
  };
  const listener: RequestListener = (request, response) => void answer(request, response);
  const server = await localServer(listener);
  const { deployer } = underTest({ serverUrl: server.url, renderConcurrency: 2 });
  closing.push(
    () => deployer.close(),
    () => server.stop(),
  );
  return { deployer, server, seen, answers };
}

const APPLICATION = { metadata: { name: "plain", namespace: "argocd" }, spec: application().spec };
const many = <T>(count: number, act: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)));

test("all who ask for the settings at once share one call, and later ones its answer", async () => {
  const { deployer, server } = await serve();
  await many(10, () => deployer.naming());
  await deployer.renderingSettings();
  expect(server.requests).toEqual(["GET /api/v1/settings"]);
});

test("a failed call for the settings fails all who shared it, and the next asks again", async () => {
  const { deployer, server, answers } = await serve({ settings: {}, status: 403 });
  const outcomes = await Promise.allSettled([deployer.naming(), deployer.naming()]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  Object.assign(answers, { status: 200, settings: { controllerNamespace: "cd" } });
  expect((await deployer.naming())("cd", "web")).toBe("web");
  expect(server.requests).toHaveLength(2);
});

test("the settings that decide a render are equal for equal answers, and differ with every other member", async () => {
  const textOf = async (told: object) => {
    const settings = { ...told, controllerNamespace: "argocd" };
    return (await serve({ settings, status: 200 })).deployer.renderingSettings();
  };
  const first = await textOf({ trackingMethod: "label", kustomizeOptions: { BuildOptions: "--enable-helm" } });
  expect(await textOf({ kustomizeOptions: { BuildOptions: "--enable-helm" }, trackingMethod: "label" })).toBe(first);
  expect(await textOf({ kustomizeOptions: { BuildOptions: "" }, trackingMethod: "label" })).not.toBe(first);
  expect(await textOf({ kustomizeOptions: { BuildOptions: "--enable-helm" } })).not.toBe(first);
});

test("hundreds of applications are read a few at a time, over connections that are used again", async () => {
  const { deployer, server, seen } = await serve();
  const find = (index: number) => deployer.findApplication(applicationName(`app-${index}`));
  await many(200, find);
  expect(seen.most).toBe(16);
  expect(seen.sockets.size).toBeLessThanOrEqual(17);
  await many(16, find);
  expect(seen.sockets.size).toBeLessThanOrEqual(17);
  expect(server.requests).toHaveLength(1 + 216);
});

test("renders keep to their own limit, each connection in use again", async () => {
  const { deployer, seen } = await serve();
  await many(30, () => deployer.renderManifests(renderRequest()));
  expect(seen.most).toBe(2);
  expect(seen.sockets.size).toBeLessThanOrEqual(3);
});
