import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, expect } from "@jest/globals";
import nock from "nock";
import { Agent, type Dispatcher } from "undici";
import { SERVER } from "./under-test.js";

const HOST = new URL(SERVER).host;

const { dispatch } = Agent.prototype;

/** nock answers `fetch`, and the client uses its connections without it. */
const throughNock: typeof dispatch = ({ origin, path, method, headers, body }, handler) => {
  const stop = new AbortController();
  const controller = { abort: (reason: Error) => stop.abort(reason) } as Dispatcher.DispatchController;
  handler.onRequestStart?.(controller, {});
  const init = { method, headers: headers as Record<string, string>, body: body as string | Uint8Array<ArrayBuffer> };
  void (async () => {
    try {
      const response = await fetch(`${String(origin)}${path}`, { ...init, redirect: "manual", signal: stop.signal });
      handler.onResponseStart?.(controller, response.status, Object.fromEntries(response.headers));
      handler.onResponseData?.(controller, Buffer.from(await response.arrayBuffer()));
      stop.signal.throwIfAborted();
      handler.onResponseEnd?.(controller, {});
    } catch (error) {
      handler.onResponseError?.(controller, error as Error);
    }
  })();
  return true;
};

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
    Agent.prototype.dispatch = throughNock;
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
    Agent.prototype.dispatch = dispatch;
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
