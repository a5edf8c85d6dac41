import { expect, test } from "@jest/globals";
import { applicationName, repositoryName, revision } from "../../../src/core/model/brand.js";
import type { Deployment } from "../../../src/core/model/deployment.js";
import { overdueChanges } from "../../../src/core/model/overdue.js";

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

test("a change request is overdue a day after its newest deployment, with all its applications; failed ones do not count", () => {
  const records = [
    record(1, "web", 30),
    record(1, "api", 25),
    record(2, "shop", 30),
    record(2, "cart", 23),
    record(3, "blog", 30, "failed"),
    record(4, "docs", 24),
    record(5, "mail", 30),
    record(5, "list", 1, "started"),
  ];
  const found = overdueChanges(records, now, 24 * HOUR);
  expect(found.map(({ change, applications, user }) => [change.number, applications, user])).toEqual([
    [1, ["web", "api"], "user-25"],
    [5, ["mail"], "user-30"],
  ]);
});
