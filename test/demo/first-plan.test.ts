import { expect, test } from "@jest/globals";
import { startDemo } from "../../demo/demo.js";
import type { Snapshot } from "../../demo/snapshot.js";
import { keptLogger } from "../secrets-in-logs/kept-logger.js";

test("the demo starts, and plans its first change request on both hosts", async () => {
  const demo = await startDemo({ port: 0, log: keptLogger() });
  const ended = new AbortController();
  try {
    const response = await fetch(`${demo.url}/api/events`, { signal: ended.signal });
    expect(await firstPlans(response)).toEqual(["hosta", "hostb"]);
  } finally {
    ended.abort();
    await demo.stop();
  }
});

/** The hosts of the first snapshot in which the service has answered each change request numbered 1. */
async function firstPlans(response: Response): Promise<readonly string[]> {
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk as Uint8Array);
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const { hosts } = JSON.parse(event.slice("data: ".length)) as Snapshot;
      const first = hosts.map(({ requests }) => requests.find(({ number }) => number === 1)?.comments ?? []);
      const planned = first.every((comments) =>
        comments.some(({ service, html }) => service && html.includes("<h2>svc Plan</h2>")),
      );
      if (hosts.length > 0 && planned) return hosts.map(({ id }) => id);
    }
  }
  return [];
}
