import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { sortedText } from "../../../sandbox/argocd/json.js";
import { comparable, essentials } from "./comparable.js";
import { startRecordedWorld, type Answer, type RecordedExchange, type RecordedWorld } from "./recorded-world.js";

/*
 * Exchanges with a real Argo CD v3.5.1, in the order in which they were made: each file goes on where the one before
 * it ended, so that all of them are played through one sandbox.
 */
let world: RecordedWorld;
beforeAll(async () => {
  world = await startRecordedWorld();
});
afterAll(async () => {
  await world.stop();
});

async function recorded(name: string): Promise<RecordedExchange[]> {
  const url = new URL(`../../fixtures/argocd/${name}.json`, import.meta.url);
  return JSON.parse(await readFile(url, "utf8")) as RecordedExchange[];
}

/** Repeated polls were left out of the record: a read is repeated until it shows what was seen, a few times at most. */
async function replay(exchange: RecordedExchange): Promise<Answer> {
  const expected = sortedText({ ...world.expected(exchange) });
  let seen: Answer = { status: 0, answer: null };
  for (let poll = 0; poll < (exchange.method === "GET" ? 4 : 1); poll += 1) {
    const { status, answer } = await world.send(exchange);
    seen = { status, answer: essentials(comparable(answer)) };
    if (sortedText({ ...seen }) === expected) break;
  }
  return seen;
}

describe("the sandbox answers as Argo CD v3.5.1 did", () => {
  test.each([
    "transport-and-errors",
    "manifests",
    "temporary-applications",
    "sync",
    "windows-retry-generate-paths",
    "applicationsets-and-updates",
    "tracking-roles-parent",
  ])("%s", async (name) => {
    let justCreated = false;
    for (const exchange of await recorded(name)) {
      // The controller had come by in the meantime, except where the Application was only just created.
      if (!justCreated && exchange.path.endsWith("/sync")) await world.argocd.pollGit();
      justCreated = exchange.method === "POST" && !exchange.path.endsWith("/sync");
      const where = `${exchange.method} ${exchange.path} as ${exchange.who ?? "nobody"}`;
      expect({ where, ...(await replay(exchange)) }).toEqual({ where, ...world.expected(exchange) });
    }
  });

  test("nothing in them is unknown to the sandbox's schemas, except what was asked for wrongly on purpose", () => {
    expect(world.argocd.violations).toEqual([
      "content type application/json; charset=utf-8 of POST /api/v1/applications",
      "content type missing of DELETE /api/v1/applications/nope",
      "unknown path: GET /api/v1/nope",
      "wrong method: PUT /api/v1/applications",
    ]);
  });
});
