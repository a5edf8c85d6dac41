import { expect, test } from "@jest/globals";
import { applicationName, repositoryName } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import type { HostEvent } from "../../src/core/model/event.js";
import { callNext, passTurn } from "../../src/run/around/turns.js";
import { recordingLog } from "../recording-log.js";

const one: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 1 };
const two: ChangeRequestRef = { ...one, number: 2 };
const web = applicationName("web");

test("who cannot leave a queue is not called again by its own turn, and the next is", async () => {
  const called: HostEvent[] = [];
  const parts = {
    locks: { find: () => Promise.resolve(undefined) },
    // As if another version of the service had written the place.
    waiting: { of: () => Promise.resolve([one, two]), leave: () => Promise.resolve(false) },
    push: (event: HostEvent) => Promise.resolve(called.push(event) > 0),
    log: recordingLog(),
  };
  await passTurn(one, { applications: [web], after: undefined }, "run-1", parts);
  expect(called.map(({ change }) => change)).toEqual([two]);
  await callNext({ applications: [web], after: undefined }, "run-2", parts);
  expect(called.map(({ change }) => change)).toEqual([two, one]);
});

test("who waits for locks that one run releases one after the other is called for each of them", async () => {
  const api = applicationName("api");
  const called: HostEvent[] = [];
  const parts = {
    locks: { find: () => Promise.resolve(undefined) },
    waiting: { of: () => Promise.resolve([one]), leave: () => Promise.resolve(false) },
    // As the queue does, which takes a delivery once.
    push: (event: HostEvent) => {
      const isNew = called.every(({ delivery }) => delivery !== event.delivery);
      if (isNew) called.push(event);
      return Promise.resolve(isNew);
    },
    log: recordingLog(),
  };
  for (const application of [api, web]) {
    await callNext({ applications: [application], after: undefined }, "run-1", parts);
  }
  expect(called).toMatchObject([{ applications: [api] }, { applications: [web] }]);
});
