import { expect, test } from "@jest/globals";
import { awaitHealth } from "../../../src/core/deploy/health.js";
import { DeployerFailure } from "../../../src/core/model/errors.js";
import type { Deployer, HealthReport, SyncLookup } from "../../../src/core/ports/deployer.js";
import { JumpClock } from "../../jump-clock.js";

const POD = { title: "Pod shop/web-1", status: "Degraded", message: "ImagePullBackOff" };

type Look =
  | HealthReport
  | "not-compared"
  | "replaced"
  | "away"
  | "forbidden"
  | "expired"
  | "Healthy"
  | "Degraded"
  | "Progressing"
  | "Suspended";

function reported(look: Look): HealthReport {
  switch (look) {
    case "away":
      throw new DeployerFailure("unreachable", "no answer");
    case "forbidden":
      throw new DeployerFailure("forbidden", "permission denied");
    case "expired":
      throw new DeployerFailure("unauthenticated", "expired");
    case "not-compared":
    case "replaced":
      return { kind: look };
    case "Healthy":
    case "Degraded":
    case "Progressing":
    case "Suspended":
      return { kind: "compared", health: look, since: undefined, unhealthy: look === "Healthy" ? [] : [POD] };
    default:
      return look;
  }
}

/** @param looks one per look, the last one again and again. */
async function ended(looks: readonly Look[], timeoutMs = 300_000) {
  const clock = new JumpClock(0);
  let asked = 0;
  const refreshes: boolean[] = [];
  const healthAfter: Deployer["healthAfter"] = (_lookup, { refresh }) => {
    refreshes.push(refresh);
    const look = looks[Math.min(asked, looks.length - 1)] ?? "away";
    asked += 1;
    return new Promise((resolve) => {
      resolve(reported(look));
    });
  };
  const end = await awaitHealth({} as SyncLookup, { timeoutMs }, { deployer: { healthAfter } as Deployer, clock });
  return { end, seconds: clock.now().getTime() / 1000, asked, refreshes };
}

const changedAt = (since: string): Look => ({ kind: "compared", health: "Healthy", since, unhealthy: [] });

test.each<[string, readonly Look[], object, number, number]>([
  ["healthy from the start", ["Healthy"], { kind: "healthy", health: "Healthy" }, 30, 60],
  ["suspended on purpose", ["Suspended"], { kind: "healthy", health: "Suspended", unhealthy: [POD] }, 30, 60],
  ["a rollout", ["Progressing", "Progressing", "Progressing", "Healthy"], { kind: "healthy" }, 45, 100],
  [
    "healthy only before the sync was compared",
    ["not-compared", "Degraded"],
    { kind: "unhealthy", health: "Degraded" },
    35,
    70,
  ],
  ["degraded for a moment", ["Degraded", "Degraded", "Healthy"], { kind: "healthy" }, 40, 80],
  [
    "degraded for good",
    ["Degraded"],
    { kind: "unhealthy", message: "Argo CD reported it as Degraded for 30 seconds", unhealthy: [POD] },
    30,
    60,
  ],
  ["Argo CD away in between", ["Healthy", "Healthy", "away", "Healthy"], { kind: "healthy" }, 45, 80],
  ["something else between two looks", [changedAt("1"), changedAt("1"), changedAt("2")], { kind: "healthy" }, 40, 70],
  [
    "never compared",
    ["not-compared"],
    {
      kind: "unhealthy",
      health: "Unknown",
      message: "Argo CD did not compare it within 300 seconds, so its health is not known",
    },
    300,
    300,
  ],
  [
    "never ready",
    ["Progressing"],
    { kind: "unhealthy", message: "it did not get healthy within 300 seconds: Argo CD reports it as Progressing" },
    300,
    300,
  ],
  [
    "never there",
    [{ kind: "compared", health: "Missing", since: undefined, unhealthy: [] }],
    { kind: "unhealthy", health: "Missing" },
    300,
    300,
  ],
  [
    "healthy each time, and never for long",
    Array.from({ length: 200 }, (_, index) => changedAt(String(index))),
    { kind: "unhealthy", message: "it did not stay healthy for 30 seconds" },
    360,
    365,
  ],
  [
    "another operation",
    ["Progressing", "replaced"],
    { kind: "unknown", message: "another operation ran while svc waited for its health" },
    5,
    5,
  ],
  [
    "no permission",
    ["forbidden"],
    { kind: "unknown", message: "svc can no longer see its health: permission denied" },
    60,
    75,
  ],
  ["no permission for a moment", ["Healthy", "forbidden", "forbidden", "Healthy"], { kind: "healthy" }, 45, 80],
  [
    "away for minutes, and then no permission for a moment",
    [...Array.from({ length: 12 }, (): Look => "away"), "forbidden", "Healthy"],
    { kind: "healthy" },
    150,
    250,
  ],
  ["no token", ["expired"], { kind: "unknown", message: "svc can no longer see its health: expired" }, 0, 0],
  [
    "healthy when it was seen last",
    ["Progressing", "Healthy", "away"],
    { kind: "unknown", message: "svc can no longer see its health: no answer" },
    300,
    315,
  ],
])("%s", async (_case, looks, expected, least, most) => {
  const { end, seconds } = await ended(looks);
  expect(end).toMatchObject(expected);
  expect(seconds).toBeGreaterThanOrEqual(least);
  expect(seconds).toBeLessThanOrEqual(most);
});

test("one that flaps is never healthy and never degraded, and fails at the time-out", async () => {
  const flapping = Array.from({ length: 60 }, (_, index): Look => (index % 2 === 0 ? "Healthy" : "Degraded"));
  const { end, seconds } = await ended(flapping, 120_000);
  expect(end).toMatchObject({
    kind: "unhealthy",
    message: expect.stringMatching(/^it did not get healthy within 120 seconds/),
  });
  expect(seconds).toBeGreaterThanOrEqual(120);
  expect(seconds).toBeLessThanOrEqual(140);
});

test("one that gets healthy right before the time-out may hold it", async () => {
  const { end, seconds } = await ended(["Progressing", "Healthy"], 6_000);
  expect(end).toMatchObject({ kind: "healthy" });
  expect(seconds).toBeGreaterThanOrEqual(35);
});

test("the first look asks for no refresh: Argo CD compares by itself after a sync", async () => {
  const { refreshes } = await ended(["not-compared", "Healthy"]);
  expect(refreshes.slice(0, 3)).toEqual([false, true, true]);
});
