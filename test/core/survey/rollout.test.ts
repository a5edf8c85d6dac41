import { describe, expect, test } from "@jest/globals";
import { digestOf, type LiveApplication, type Standing } from "../../../src/core/model/application.js";
import { applicationName, revision } from "../../../src/core/model/brand.js";
import { FAILS_AFTER_MS, type FollowedApplication } from "../../../src/core/model/rollout.js";
import { lookAtRollout } from "../../../src/core/survey/rollout.js";
import { atEnd } from "../../../src/run/around/rollout.js";
import { CHANGE, OWN_URL } from "../detect/memory-snapshot.js";
import { sampleApplication } from "../sample-application.js";

const [OLD, MERGED, LATER] = ["1", "2", "3"].map((digit) => digit.repeat(40)) as [string, string, string];
const begin = new Date("2026-03-03T10:00:00.000Z");
const after = (ms: number) => new Date(begin.getTime() + ms);
const ERROR = "ComparisonError: no such chart";

const followed: FollowedApplication = {
  application: applicationName("web"),
  goal: "run",
  origin: "auto-synced",
  healthy: true,
  existed: true,
  state: { kind: "waiting", why: "was not looked at yet", since: begin.toISOString() },
};

interface Live extends Partial<Standing> {
  readonly at?: string;
  readonly autoSync?: boolean;
  readonly outdated?: boolean;
}

function liveAs({ at, autoSync = true, outdated = false, ...standing }: Live): LiveApplication {
  const source = { repoURL: OWN_URL, path: "apps/web", targetRevision: "main" };
  const spec = { source, destination: {}, ...(autoSync && { syncPolicy: { automated: {} } }) };
  return {
    ...sampleApplication("web", spec),
    owningSet: undefined,
    sourceTypes: ["Directory"],
    comparedRevisions: at === undefined ? [] : [at],
    deleting: false,
    cascades: false,
    outdated,
    standing: { sync: "Synced", health: "Healthy", phase: "Succeeded", message: "", errors: [], ...standing },
  };
}

function look(one: FollowedApplication, live: Live, now = begin) {
  const holds = (commit: string) => Promise.resolve(commit === MERGED || commit === LATER);
  return lookAtRollout(one, liveAs(live), { change: CHANGE, merged: revision(MERGED), holds, now });
}

const broken = { ...followed, wasBroken: true };
const redefined = { ...followed, definition: digestOf(liveAs({}).spec) };

test.each<[string, FollowedApplication, Live, string, string]>([
  ["runs the merged commit", followed, { at: MERGED }, "reached", "runs at 22222222"],
  ["runs a later commit that holds it", followed, { at: LATER }, "reached", "runs at 33333333"],
  ["runs its new definition", redefined, { at: MERGED }, "reached", "runs at 22222222"],
  [
    "is Synced with its earlier definition",
    redefined,
    { at: MERGED, outdated: true },
    "waiting",
    "was not compared with its new definition yet",
  ],
  ["is Synced at an earlier commit", followed, { at: OLD }, "waiting", "was not compared with 22222222 yet"],
  [
    "has an error of an earlier commit",
    followed,
    { at: OLD, errors: ["SyncError: no room"] },
    "waiting",
    "was not compared with 22222222 yet",
  ],
  [
    "has an error at the merged commit",
    followed,
    { at: MERGED, errors: [ERROR] },
    "failing",
    "has an error in Argo CD",
  ],
  ["has an error of no known commit", followed, { errors: [ERROR] }, "failing", "has an error in Argo CD"],
  [
    "has an error with a branch for a commit",
    followed,
    { at: "main", errors: [ERROR] },
    "failing",
    "has an error in Argo CD",
  ],
  [
    "was broken and still has an error of no known commit",
    broken,
    { errors: [ERROR] },
    "waiting",
    "has an error in Argo CD, as before the merge",
  ],
  [
    "was broken and has an error at the merged commit",
    broken,
    { at: MERGED, errors: [ERROR] },
    "failing",
    "has an error in Argo CD",
  ],
  ["is Degraded", followed, { at: MERGED, health: "Degraded" }, "failing", "is synced at 22222222, and Degraded"],
  [
    "was Degraded before",
    broken,
    { at: MERGED, health: "Degraded" },
    "waiting",
    "is synced at 22222222, and Degraded, as before the merge",
  ],
  [
    "could not be synced",
    followed,
    { at: MERGED, sync: "OutOfSync", phase: "Failed" },
    "failing",
    "could not be synced at 22222222",
  ],
  [
    "has no auto-sync, and failed some time ago",
    followed,
    { at: MERGED, sync: "OutOfSync", phase: "Failed", autoSync: false },
    "manual",
    "has no auto-sync: whoever may sync it in Argo CD has to do so",
  ],
])("one that %s", async (_, one, live, kind, why) => {
  expect(await look(one, live)).toMatchObject({ kind, why });
});

describe("what fails after a merge", () => {
  test("has failed once it has been failing for two minutes, and may get well again", async () => {
    const first = { ...followed, state: await look(followed, { errors: [ERROR] }) };
    expect(await look(first, { errors: [ERROR] }, after(FAILS_AFTER_MS - 1))).toMatchObject({ kind: "failing" });
    const failed = { ...first, state: await look(first, { errors: [ERROR] }, after(FAILS_AFTER_MS)) };
    expect(failed.state).toMatchObject({ kind: "failed", message: ERROR });
    expect(await look(failed, { at: MERGED }, after(2 * FAILS_AFTER_MS))).toMatchObject({ kind: "reached" });
  });

  test("has until the end if it was broken before the merge, and is told with that", async () => {
    const first = { ...broken, state: await look(broken, { errors: [ERROR] }) };
    const later = { ...first, state: await look(first, { errors: [ERROR] }, after(10 * FAILS_AFTER_MS)) };
    expect(later.state.kind).toBe("waiting");
    const why = "has an error in Argo CD, as before the merge";
    expect(atEnd(later).state).toMatchObject({ kind: "failed", why, message: ERROR });
  });
});
