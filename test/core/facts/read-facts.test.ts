import { beforeEach, describe, expect, test } from "@jest/globals";
import { readFacts } from "../../../src/core/facts/read-facts.js";
import { type Check, definitionOf } from "../../../src/core/model/check.js";
import {
  HostFailure,
  RepositoryFailure,
  StoredValueUnreadable,
  StoreUnavailable,
} from "../../../src/core/model/errors.js";
import type { Settings } from "../../../src/core/model/settings.js";
import { barsOf, judge } from "../../../src/core/policy/judge.js";
import type { CommandContext } from "../../../src/core/ports/context.js";
import { compared, sampleApplication, sampleCheck } from "../../comments/samples.js";
import { API, CommandWorld, config, PLAN, SYNC, WEB } from "../commands/command-world.js";
import { sampleSettings } from "../sample-settings.js";

const GATED: Partial<Settings> = { requirementsFor: () => ({ requireApproval: true, requireUpToDate: false }) };

let world: CommandWorld;
let number: number;
beforeEach(async () => {
  world = new CommandWorld();
  number = world.open(config(WEB, "2"));
  await world.run(number, PLAN);
});

async function read(settings: Partial<Settings> = {}, more: Partial<CommandContext> = {}) {
  const context = await world.context(number, { settings: sampleSettings(settings), ...more });
  return (await readFacts(context)).facts;
}

/** The host does not say who approved. */
function loseReviews(error: Error = new HostFailure("unreachable", "GitLab did not answer")): void {
  world.host.reviews = () => Promise.reject(error);
}

describe("the facts about a change request", () => {
  test("are plain JSON", async () => {
    const facts = await read(GATED);
    expect(JSON.parse(JSON.stringify(facts))).toEqual(JSON.parse(JSON.stringify({ ...facts })));
    expect(judge("merge", JSON.parse(JSON.stringify(facts)) as typeof facts)).toEqual(judge("merge", facts));
  });

  test("say of whose lock, record and plan they are", async () => {
    const other = world.open(config(API, "3"));
    await world.run(other, PLAN);
    const { applications, plan, untold } = await read();
    expect(untold).toEqual({});
    expect(plan).toMatchObject({ current: true, retargeted: false });
    expect(applications).toMatchObject([{ application: WEB, lock: { holder: { number } }, record: undefined }]);
  });

  test("ask the host for an approval only where one is required", async () => {
    loseReviews();
    expect((await read()).untold).toEqual({});
    expect(await read(GATED)).toMatchObject({ approval: undefined, untold: { approval: "GitLab did not answer" } });
  });

  test("name what the store holds and nobody can read, and need a store that answers", async () => {
    const { plans } = world.stores;
    const unreadable = { ...plans, find: () => Promise.reject(new StoredValueUnreadable("the plan is not JSON")) };
    expect(await read({}, { plans: unreadable })).toMatchObject({
      plan: undefined,
      untold: { plan: expect.any(String) },
    });
    const away = { ...plans, find: () => Promise.reject(new StoreUnavailable("no route")) };
    await expect(read({}, { plans: away })).rejects.toThrow(StoreUnavailable);
  });
});

describe("a merge whose approval cannot be read is barred", () => {
  const barsNow = async (settings: Partial<Settings>, more: Partial<CommandContext> = {}) =>
    barsOf(judge("merge", await read(settings, more)));

  beforeEach(async () => {
    await world.run(number, SYNC);
  });

  test("if an application requires it", async () => {
    expect(await barsNow({})).toEqual([]);
    loseReviews();
    expect(await barsNow(GATED)).toContainEqual(expect.objectContaining({ gate: "approval", untold: true }));
  });

  test("if a change of the rules requires it", async () => {
    loseReviews();
    const bars = await barsNow({ rulesChange: { lists: [] } });
    expect(bars).toContainEqual(expect.objectContaining({ gate: "rules-approval", untold: true }));
  });

  const policy: Check = {
    name: "policy",
    command: ["/bin/policy"],
    applications: "blog",
    required: true,
    timeout: 60_000,
    env: [],
    overridableBy: ["acme/sre"],
  };

  /** The stored plan, with a new application whose check failed. */
  async function planWithFailedCheck(): Promise<Pick<CommandContext, "plans" | "checks">> {
    const stored = await world.stores.plans.find(world.host.ref(number));
    if (stored === undefined) throw new Error("it was planned");
    const outcome = { kind: "failed", reason: "exit code 1", output: "no" } as const;
    const failed = { ...sampleCheck("policy", outcome), definition: definitionOf(policy) };
    const preview = { ...compared([]), checks: [failed] };
    const plan = {
      ...stored,
      applications: [...stored.applications, sampleApplication("blog", { kind: "new", preview })],
    };
    return { plans: { ...world.stores.plans, find: () => Promise.resolve(plan) }, checks: [policy] };
  }

  test("if it may lift a failed check and the host does not answer", async () => {
    loseReviews();
    expect(await barsNow({}, await planWithFailedCheck())).toMatchObject([{ gate: "merge-checks" }]);
  });

  test("if it may lift a failed check and the commits cannot be read", async () => {
    const approved = { approved: true, approvers: ["bo"], people: [], looks: [], missing: undefined };
    world.host.reviews = () => Promise.resolve(approved);
    const { snapshot } = await world.context(number);
    const broken = { ...snapshot, commitsBetween: () => Promise.reject(new RepositoryFailure("git did not answer")) };
    const bars = await barsNow({}, { ...(await planWithFailedCheck()), snapshot: broken });
    expect(bars).toContainEqual(expect.objectContaining({ gate: "merge-checks", untold: true }));
  });
});
