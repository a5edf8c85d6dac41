import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Check, CheckOutcome } from "../../../src/core/model/check.js";
import type { Command } from "../../../src/core/model/command.js";
import type { CheckOrder } from "../../../src/core/ports/check-runner.js";
import { API, CommandWorld, config, PLAN, planned, refused, SYNC, synced, WEB } from "./command-world.js";

const POLICY: Check = {
  name: "policy",
  command: ["/bin/policy"],
  applications: "*",
  required: true,
  timeout: 60_000,
  env: [],
  overridableBy: [],
};

let world: CommandWorld;
/** What was asked of the programs, in order. */
let orders: CheckOrder[];
/** The server's checks, and how they end for the head of an application. */
let checks: readonly Check[];
let endOf: (order: CheckOrder) => CheckOutcome;

beforeEach(() => {
  world = new CommandWorld();
  orders = [];
  checks = [POLICY];
  endOf = ({ head }) => (head.includes('value: "9"') ? failed("a value is 9") : { kind: "passed" });
});

function failed(output: string): CheckOutcome {
  return { kind: "failed", reason: "exit code 1", output };
}

async function run(number: number, command: Command, automatic = true) {
  const checkRunner = {
    run: async (order: CheckOrder) => {
      orders.push(order);
      return endOf(order);
    },
  };
  return world.run(number, command, { checks, checkRunner, automatic });
}

function names(): readonly string[] {
  return orders.map(({ check, application }) => `${check.name} ${application}`).sort();
}

test("a plan runs the checks of each application over what the head renders, with the base beside it", async () => {
  checks = [POLICY, { ...POLICY, name: "api", applications: "a*" }];
  const number = world.open({ ...config(WEB, "2"), ...config(API, "9") });
  const { applications } = planned(await run(number, PLAN));
  expect(names()).toEqual(["api api", "policy api", "policy web"]);
  const web = orders.find(({ application }) => application === WEB);
  expect(web).toMatchObject({ namespace: "guestbook", repository: "acme/deploy", number, reuse: true });
  expect(web?.head).toContain('value: "2"');
  expect(web?.base).toContain('value: "1"');
  const ends = applications.flatMap((one) => (one.kind === "evaluated" ? (one.checks ?? []) : []));
  expect(ends.map(({ name, outcome }) => `${name} ${outcome.kind}`).sort()).toEqual([
    "api failed",
    "policy failed",
    "policy passed",
  ]);
  await run(number, PLAN, false);
  expect(orders.at(-1)).toMatchObject({ reuse: false });
});

test("an application whose sides read the same is checked as well, and stays unchanged", async () => {
  const number = world.open({ "apps/web/README": "read me" });
  const [web] = planned(await run(number, PLAN)).applications;
  expect(web).toMatchObject({ kind: "evaluated", verdict: "unchanged", checks: [{ outcome: { kind: "passed" } }] });
});

describe("a sync", () => {
  test("takes the results of the plan of its head", async () => {
    const number = world.open(config(WEB, "2"));
    await run(number, PLAN);
    orders = [];
    expect(synced(await run(number, SYNC))).toMatchObject([{ kind: "succeeded" }]);
    expect(names()).toEqual([]);
  });

  test.each<[string, () => void, readonly string[]]>([
    [
      "a check that the plan did not run",
      () => (checks = [POLICY, { ...POLICY, name: "new" }]),
      ["new web", "policy web"],
    ],
    [
      "a check that runs another program now",
      () => (checks = [{ ...POLICY, command: ["/bin/other"] }]),
      ["policy web"],
    ],
  ])("runs again for %s, and is refused if it fails", async (_, change, asked) => {
    const number = world.open(config(WEB, "2"));
    await run(number, PLAN);
    orders = [];
    change();
    endOf = () => failed("now it fails");
    expect(refused(await run(number, SYNC))).toMatchObject({
      reason: "not-deployable",
      applications: [{ application: WEB, reason: expect.stringContaining("failed: exit code 1: fix it and push") }],
    });
    expect(names()).toEqual(asked);
    expect(world.deployer.syncs).toEqual([]);
    endOf = () => ({ kind: "passed" });
    expect(synced(await run(number, SYNC))).toMatchObject([{ kind: "succeeded" }]);
  });

  test("is refused for a failed check that is required by now, and not for one that no longer is", async () => {
    checks = [{ ...POLICY, required: false }];
    const number = world.open(config(WEB, "9"));
    await run(number, PLAN);
    checks = [POLICY];
    expect(refused(await run(number, SYNC))).toMatchObject({ reason: "not-deployable" });
    checks = [{ ...POLICY, required: false }];
    expect(synced(await run(number, SYNC))).toMatchObject([{ kind: "succeeded" }]);
  });

  test("is refused if its manifests cannot be rendered again", async () => {
    const number = world.open(config(WEB, "2"));
    await run(number, PLAN);
    checks = [{ ...POLICY, timeout: 1 }];
    world.deployer.faults.render = () => {
      throw new Error("the repo-server is away");
    };
    expect(refused(await run(number, SYNC))).toMatchObject({ reason: "not-deployable" });
    expect(world.deployer.syncs).toEqual([]);
  });

  test("of others goes on, and the refusal names them", async () => {
    const number = world.open({ ...config(WEB, "9"), ...config(API, "2") });
    await run(number, PLAN);
    expect(refused(await run(number, SYNC))).toMatchObject({ reason: "not-deployable", others: [API] });
    expect(synced(await run(number, { ...SYNC, applications: [API] } as Command))).toMatchObject([
      { application: API, kind: "succeeded" },
    ]);
  });
});
