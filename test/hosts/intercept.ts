import { afterAll, afterEach, beforeAll } from "@jest/globals";
import nock from "nock";
import { Dispatcher, getGlobalDispatcher, setGlobalDispatcher } from "undici";

/** Lets nock answer in this file alone; an interceptor that no test used is an error of the test. */
export function interceptRequests(): void {
  const connections = getGlobalDispatcher();
  beforeAll(() => {
    if (!nock.isActive()) nock.activate();
    nock.disableNetConnect();
    setGlobalDispatcher(new FetchDispatcher());
  });
  afterEach(() => {
    const unused = nock.pendingMocks();
    nock.cleanAll();
    if (unused.length > 0) throw new Error(`never asked: ${unused.join(", ")}`);
  });
  afterAll(() => {
    setGlobalDispatcher(connections);
    nock.cleanAll();
    nock.enableNetConnect();
    nock.restore();
  });
}

/** Sends what undici is given with `fetch`, which nock answers: it knows no dispatchers. */
class FetchDispatcher extends Dispatcher {
  override dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    void this.#send(request, handler);
    return true;
  }

  async #send(
    { origin, path, method, headers, body }: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): Promise<void> {
    const stop = new AbortController();
    const controller: Dispatcher.DispatchController = {
      aborted: false,
      paused: false,
      reason: null,
      abort: (reason) => stop.abort(reason),
      pause: () => undefined,
      resume: () => undefined,
    };
    try {
      handler.onRequestStart?.(controller, undefined);
      const answer = await fetch(`${String(origin)}${path}`, {
        method,
        headers: headers as Record<string, string>,
        body: body as string | null,
        redirect: "manual",
        signal: stop.signal,
      });
      handler.onResponseStart?.(controller, answer.status, Object.fromEntries(answer.headers), answer.statusText);
      handler.onResponseData?.(controller, Buffer.from(await answer.arrayBuffer()));
      stop.signal.throwIfAborted();
      handler.onResponseEnd?.(controller, {});
    } catch (error) {
      handler.onResponseError?.(controller, error as Error);
    }
  }
}
