import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, expect } from "@jest/globals";
import nock from "nock";
import { SERVER } from "./under-test.js";

const HOST = new URL(SERVER).host;

/**
 * Activates nock for one test file and removes it afterwards. A test fails if it makes an unexpected request, or does not make
 * an expected one.
 */
export function withNock(): void {
  const unexpected: string[] = [];
  const onNoMatch = (...facts: unknown[]) => {
    const text = inspect(facts, { depth: 1 });
    if (text.includes(HOST)) unexpected.push(text.slice(0, 500));
  };
  beforeAll(() => {
    if (!nock.isActive()) nock.activate();
    nock.disableNetConnect();
    nock.emitter.on("no match", onNoMatch);
  });
  afterEach(() => {
    const left = nock.pendingMocks().filter((mock) => !mock.endsWith("/settings"));
    nock.cleanAll();
    expect([...left, ...unexpected.splice(0)]).toEqual([]);
  });
  afterAll(() => {
    nock.cleanAll();
    nock.enableNetConnect();
    nock.emitter.off("no match", onNoMatch);
    nock.restore();
  });
}

export function argocd(): nock.Scope {
  return nock(SERVER);
}

export function settings(changes: object = {}): nock.Scope {
  const answer = {
    appLabelKey: "app.kubernetes.io/instance",
    trackingMethod: "annotation",
    controllerNamespace: "argocd",
    ...changes,
  };
  return argocd().persist().get("/api/v1/settings").reply(200, answer);
}
