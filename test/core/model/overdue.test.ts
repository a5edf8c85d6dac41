import { expect, test } from "@jest/globals";
import { applicationName, repositoryName, revision } from "../../../src/core/model/brand.js";
import { type Deployment, overdueChanges } from "../../../src/core/model/deployment.js";

const HOUR = 60 * 60 * 1000;
const now = new Date("2026-03-02T10:00:00.000Z");

function record(
  number: number,
  application: string,
  hours: number,
  outcome: Deployment["outcome"] = "succeeded",
): Deployment {
  return {
    application: applicationName(application),
    change: { host: "hosta", repository: repositoryName("acme/deploy"), number },
    revision: revision("a".repeat(40)),
    outcome,
    pins: [],
    specBefore: {},
    specWritten: undefined,
    approvers: [],
    user: `user-${hours}`,
    timestamp: new Date(now.getTime() - hours * HOUR).toISOString(),
  };
}

test("a change request is overdue a day after its oldest deployment, whatever became of it, with all its applications", () => {
  const records = [
    record(1, "web", 30),
    record(1, "api", 25),
    record(2, "shop", 24),
    record(2, "cart", 1, "started"),
    record(3, "blog", 30, "failed"),
    record(4, "docs", 23),
  ];
  const found = overdueChanges(records, now, 24 * HOUR);
  expect(found.map(({ change, applications, user, since }) => [change.number, applications, user, since])).toEqual([
    [1, ["web", "api"], "user-25", "2026-03-01T04:00:00.000Z"],
    [2, ["shop", "cart"], "user-1", "2026-03-01T10:00:00.000Z"],
    [3, ["blog"], "user-30", "2026-03-01T04:00:00.000Z"],
  ]);
});
