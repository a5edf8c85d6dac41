import { describe, expect, test } from "@jest/globals";
import { createApprovals, missingForRules } from "../../../src/core/facts/approval.js";
import { HostFailure } from "../../../src/core/model/errors.js";
import type { Settings } from "../../../src/core/model/settings.js";
import type { CodeHost } from "../../../src/core/ports/code-host.js";
import { sampleChange, WORDS } from "../../comments/samples.js";
import { CommandWorld } from "../commands/command-world.js";
import { memorySnapshot } from "../detect/memory-snapshot.js";
import { sampleSettings } from "../sample-settings.js";

/** A change request that these people approved; `acme/sre` has the members in `team`, or the host cannot tell. */
function contextOf(
  settings: Partial<Settings>,
  approvers: readonly string[],
  team: readonly string[] | "unknown" = [],
) {
  const people = approvers.map((login) => ({ id: login, login, bot: false }));
  const approved = approvers.length > 0;
  const host: CodeHost = Object.assign(new CommandWorld().host, {
    reviews: () =>
      Promise.resolve({
        approved,
        approvers,
        people,
        looks: [],
        missing: approved ? undefined : "nobody approved it yet",
      }),
    belongsToAny: (_change: unknown, { login }: { readonly login: string }) =>
      team === "unknown" ? Promise.reject(new HostFailure("forbidden", "no")) : Promise.resolve(team.includes(login)),
  });
  const context = {
    host,
    change: sampleChange(),
    settings: sampleSettings({ approvalFromCommitters: true, ...settings }),
    snapshot: memorySnapshot({}),
    hostWords: WORDS,
    isAdministrator: (_host: string, { login }: { readonly login: string }) => Promise.resolve(login === "root"),
  };
  return { ...context, approvals: createApprovals(context) };
}

describe("where no version of the file can be read", () => {
  test.each([
    [[], false, "nobody approved it yet"],
    [["bo"], false, "an administrator of svc's pages, who is logged in there with GitHub, has to approve"],
    [["bo", "root"], true, undefined],
  ])("an approval by %j: %p", async (approvers, approved, missing) => {
    const approval = await contextOf({ needsAdministrator: true }, approvers).approvals();
    expect(approval.approved).toBe(approved);
    if (missing === undefined) expect(approval.missing).toBeUndefined();
    else expect(approval.missing).toContain(missing);
  });
});

test("an approval is read once for everybody who asks", async () => {
  const { host, approvals } = contextOf({}, ["bo"]);
  let asked = 0;
  const { reviews } = host;
  host.reviews = (change) => {
    asked += 1;
    return reviews.call(host, change);
  };
  expect(await Promise.all([approvals(), approvals()])).toMatchObject([{ approved: true }, { approved: true }]);
  await approvals();
  expect(asked).toBe(1);
});

describe("what is missing for a change of the rules", () => {
  const olga = { users: ["Olga"], teams: [] };
  const sre = { users: ["ben"], teams: ["acme/sre"] };
  const needs = "it changes the rules and needs an approval";

  test.each<[string, Settings["rulesChange"], readonly string[], string | undefined]>([
    ["no change", undefined, [], undefined],
    ["nobody approved", { lists: [] }, [], needs],
    ["anybody may", { lists: [] }, ["bo"], undefined],
    ["nobody approved a list", { lists: [olga, sre] }, [], `${needs} by Olga, and by ben or a member of acme/sre`],
    ["another one approved", { lists: [olga] }, ["bo"], `${needs} by Olga`],
    ["in any case of letters", { lists: [olga] }, ["bo", "olga"], undefined],
    ["one list of two", { lists: [olga, sre] }, ["olga"], `${needs} by ben or a member of acme/sre`],
    ["both lists by two people", { lists: [olga, sre] }, ["olga", "max"], undefined],
    [
      "an empty list",
      { lists: [{ users: [], teams: [] }] },
      ["bo"],
      `${needs} by nobody (a list is empty): merge it by hand`,
    ],
  ])("%s", async (_what, rulesChange, approvers, expected) => {
    expect(await missingForRules(contextOf({ rulesChange }, approvers, ["max"]))).toBe(expected);
  });

  test("a team that the host cannot tell about does not count", async () => {
    expect(await missingForRules(contextOf({ rulesChange: { lists: [sre] } }, ["max"], "unknown"))).toContain(needs);
  });
});
