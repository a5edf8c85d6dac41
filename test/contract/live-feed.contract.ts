import { describe, expect, test } from "@jest/globals";
import { applicationName, repositoryName } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import type { LiveFeed, LiveRun } from "../../src/core/ports/live-feed.js";

const CHANGE: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 };
const OTHER: ChangeRequestRef = { ...CHANGE, host: "hostb" };

function run(more: Partial<LiveRun> = {}): LiveRun {
  return {
    runId: "run-1",
    command: "sync",
    startedAt: "2026-03-02T10:00:00.000Z",
    applications: [],
    ended: false,
    ...more,
  };
}

const HALF = run({
  applications: [
    { application: applicationName("web"), phase: { kind: "running", done: 1, total: 3, message: "one of three" } },
    { application: applicationName("api"), phase: { kind: "ended", outcome: "failed" } },
  ],
});

/** Takes what a listener is told, one after the other, however long each takes to come. */
function ear(feed: LiveFeed, change: ChangeRequestRef) {
  const heard: LiveRun[] = [];
  let wake = (): void => undefined;
  const stop = feed.subscribe(change, (one) => {
    heard.push(one);
    wake();
  });
  return {
    stop,
    async next(): Promise<LiveRun> {
      for (;;) {
        const first = heard.shift();
        if (first !== undefined) return first;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

/** What every live feed does. `open` gives two handles of one feed, as two replicas have them. */
export function liveFeedContract(open: () => Promise<readonly [LiveFeed, LiveFeed]>): void {
  describe("a live feed", () => {
    test("tells of what is published, in order, to every handle, and of no other change request", async () => {
      const [one, other] = await open();
      const ears = [ear(one, CHANGE), ear(other, CHANGE)];
      one.publish(CHANGE, HALF);
      // Both listen for sure when they have heard something.
      for (const each of ears) expect(await each.next()).toEqual(HALF);
      one.publish(OTHER, run({ runId: "elsewhere" }));
      one.publish(CHANGE, run({ ended: true }));
      for (const each of ears) expect(await each.next()).toEqual(run({ ended: true }));
      for (const each of ears) each.stop();
    });

    test("who comes late is told of the run that is under way, and not of one that ended", async () => {
      const [one, other] = await open();
      const first = ear(other, CHANGE);
      one.publish(CHANGE, run({ runId: "over" }));
      expect(await first.next()).toEqual(run({ runId: "over" }));
      one.publish(CHANGE, run({ runId: "over", ended: true }));
      expect(await first.next()).toEqual(run({ runId: "over", ended: true }));
      one.publish(CHANGE, HALF);
      expect(await first.next()).toEqual(HALF);
      for (const feed of [one, other]) {
        const late = ear(feed, CHANGE);
        expect(await late.next()).toEqual(HALF);
        late.stop();
      }
      first.stop();
    });
  });
}
