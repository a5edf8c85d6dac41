import { afterAll, afterEach, beforeAll } from "@jest/globals";
import nock from "nock";

/** Lets nock answer in this file alone; an interceptor that no test used is an error of the test. */
export function interceptRequests(): void {
  beforeAll(() => {
    if (!nock.isActive()) nock.activate();
    nock.disableNetConnect();
  });
  afterEach(() => {
    const unused = nock.pendingMocks();
    nock.cleanAll();
    if (unused.length > 0) throw new Error(`never asked: ${unused.join(", ")}`);
  });
  afterAll(() => {
    nock.cleanAll();
    nock.enableNetConnect();
    nock.restore();
  });
}
