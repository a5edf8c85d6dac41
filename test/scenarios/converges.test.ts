import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { revision } from "../../src/core/model/brand.js";
import { type ChangeRequestRef, sameChangeRequest } from "../../src/core/model/change-request.js";
import type { HostId } from "../../src/names.js";
import { shareOf } from "../share-of.js";
import { type Bot, HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const MINUTE_MS = 60_000;
const RECONCILE_EVERY_MS = 5 * MINUTE_MS;
const DAY_MINUTES = 24 * 60;
/** The longest pause before something that failed is tried again, and a little more. */
const PUT_OFF_MS = 11 * MINUTE_MS;
const { SVC_SEQUENCES, SVC_SEED, SVC_PATH } = process.env;
/** Sequences that one service plays, one after the other: starting it and opening its changes costs as much as half a sequence. */
const IN_A_ROW = 4;
/** `npm run test:converges` plays new sequences; with `SVC_SEED` and `SVC_PATH` it repeats a counterexample. */
const RUNS = {
  numRuns: Math.ceil(Number(SVC_SEQUENCES ?? shareOf(240)) / IN_A_ROW),
  ...(SVC_SEQUENCES !== undefined && { seed: Number(SVC_SEED ?? Math.floor(Math.random() * 2 ** 31)) }),
  ...(SVC_PATH !== undefined && { path: SVC_PATH }),
  endOnFailure: true,
} satisfies fc.Parameters;
/** Sequences in a row go on where the one before ended, so that what takes more steps to go wrong is found as well. */
const MOST_STEPS = SVC_SEQUENCES === undefined ? 6 : 10;
/** On a busy machine a sequence may take several seconds. */
const LONGEST_MS = RUNS.numRuns * IN_A_ROW * 10_000;
const CHANGES = [["web"], ["api"], ["web", "api"]];

type Act =
  | { readonly kind: "comment"; readonly at: number; readonly by: "ana" | "bo"; readonly body: string }
  | { readonly kind: "push"; readonly at: number; readonly value: string }
  | { readonly kind: "approve" | "reject" | "merge" | "close" | "reopen"; readonly at: number }
  | { readonly kind: "draft"; readonly at: number; readonly draft: boolean }
  | { readonly kind: "base"; readonly application: string; readonly value: string }
  | { readonly kind: "delete-plan"; readonly at: number }
  | { readonly kind: "restart" }
  | { readonly kind: "later"; readonly minutes: number };

interface Step {
  readonly act: Act;
  /** Its webhooks do not reach the service. */
  readonly lost: boolean;
  /** How many of the calls to the code host fail that follow, and after how many that work. */
  readonly failing: { readonly after: number; readonly times: number } | undefined;
  /** Argo CD refuses the next sync. */
  readonly refused: boolean;
}

const at = fc.nat(CHANGES.length - 1);
const value = fc.constantFrom("3", "4", "5");
const body = fc.constantFrom(
  "svc plan",
  "svc sync",
  "svc sync",
  "svc unlock",
  "svc rollback",
  "svc sync -a web",
  "svc hold -a web --reason migration --until 2h",
  "svc help",
);
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    arbitrary: fc.record({ kind: fc.constant("comment" as const), at, by: fc.constantFrom("ana", "bo"), body }),
    weight: 6,
  },
  { arbitrary: fc.record({ kind: fc.constant("push" as const), at, value }), weight: 2 },
  {
    arbitrary: fc.record({ kind: fc.constantFrom("approve" as const, "approve" as const, "reject" as const), at }),
    weight: 4,
  },
  {
    arbitrary: fc.record({ kind: fc.constantFrom("merge" as const, "close" as const, "reopen" as const), at }),
    weight: 2,
  },
  { arbitrary: fc.record({ kind: fc.constant("draft" as const), at, draft: fc.boolean() }), weight: 1 },
  {
    arbitrary: fc.record({ kind: fc.constant("base" as const), application: fc.constantFrom("web", "api"), value }),
    weight: 1,
  },
  { arbitrary: fc.record({ kind: fc.constant("delete-plan" as const), at }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constant("restart" as const) }), weight: 1 },
  {
    arbitrary: fc.record({
      kind: fc.constant("later" as const),
      minutes: fc.constantFrom(1, 11, 120, 8 * DAY_MINUTES),
    }),
    weight: 1,
  },
);
const step: fc.Arbitrary<Step> = fc.record({
  act,
  lost: fc.nat(7).map((one) => one === 0),
  failing: fc.option(fc.record({ after: fc.nat(8), times: fc.integer({ min: 1, max: 4 }) }), {
    freq: 6,
    nil: undefined,
  }),
  refused: fc.nat(7).map((one) => one === 0),
});

async function perform(act: Act, numbers: readonly number[], bot: Bot): Promise<void> {
  const { forge } = bot;
  const number = "at" in act ? (numbers[act.at] ?? 0) : 0;
  const state = number === 0 ? undefined : bot.seen(number).state;
  switch (act.kind) {
    case "comment":
      await forge.comment(REPOSITORY, number, act.by, act.body);
      return;
    case "push":
      if (state === "open") await forge.push(REPOSITORY, number, changeOf(CHANGES[act.at] ?? [], act.value));
      return;
    case "approve":
      return forge.review(REPOSITORY, number, "bo", "approve");
    case "reject":
      return forge.review(REPOSITORY, number, "bo", "request-changes");
    case "merge":
      if (state === "open" && !bot.seen(number).draft) {
        await forge.mergeByHand(REPOSITORY, number, "bo").catch(() => undefined);
      }
      return;
    case "close":
      if (state === "open") await forge.close(REPOSITORY, number);
      return;
    case "reopen":
      if (state === "closed") await forge.reopen(REPOSITORY, number);
      return;
    case "draft":
      if (state === "open") await forge.markDraft(REPOSITORY, number, act.draft);
      return;
    case "base":
      await forge.pushToBranch(REPOSITORY, "main", changeOf([act.application], act.value));
      return;
    case "delete-plan": {
      const plan = bot.seen(number).comments.findLast(({ body }) => body.startsWith("<!-- svc:plan "));
      if (plan !== undefined) forge.deleteComment(REPOSITORY, number, plan.id);
      return;
    }
    case "restart":
      return bot.restart();
    case "later":
      await pass(act.minutes * MINUTE_MS, bot);
  }
}

/** Time passes as in a service that runs: with looks of the reconciler in it, if it is long enough for one. */
async function pass(milliseconds: number, bot: Bot): Promise<void> {
  const looks = milliseconds > RECONCILE_EVERY_MS ? Math.ceil(milliseconds / (DAY_MINUTES * MINUTE_MS)) : 0;
  for (let left = looks; left > 0; left -= 1) {
    bot.clock.advance(milliseconds / (looks + 1));
    await bot.service.reconcile();
  }
  bot.clock.advance(milliseconds / (looks + 1));
}

async function play({ act, lost, failing, refused }: Step, numbers: readonly number[], bot: Bot): Promise<void> {
  const path = /./;
  if (failing !== undefined) {
    if (failing.after > 0) {
      bot.forge.faults.add({ path, times: failing.after, fault: { kind: "meanwhile", act: () => undefined } });
    }
    bot.forge.faults.add({ path, times: failing.times, fault: { kind: "status", status: 500, body: "{}" } });
  }
  if (refused) {
    bot.argocd.faults.add({ method: "POST", path: /\/sync$/, times: 1, fault: { kind: "status", status: 500 } });
  }
  // Nobody finds a push to the base branch that was not told.
  if (lost && act.kind !== "base" && act.kind !== "merge") await bot.loseWebhooks(() => perform(act, numbers, bot));
  else await perform(act, numbers, bot);
  await bot.idle();
  bot.forge.faults.clear();
  bot.argocd.faults.clear();
}

/** The queue is empty, everything that was put off is due, and the reconciler has passed. */
async function settle(bot: Bot): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    bot.clock.advance(PUT_OFF_MS);
    await look(bot);
  }
}

/**
 * The service also looks at rollouts, every 15 seconds of the machine's time. A slow test may last that long, and the first look after a
 * merge edits the plan: it must not fall by chance into the moment in which nothing new may be written.
 */
async function look(bot: Bot): Promise<void> {
  await bot.service.reconcile();
  await bot.service.follow();
  await bot.idle();
}

async function lookAgain(bot: Bot, changes: readonly ChangeRequestRef[]): Promise<void> {
  await bot.stores.marks.set(changes, bot.clock.now());
  await look(bot);
}

/** What was posted and edited. */
function writesIn({ forge }: Bot): readonly string[] {
  const writes = forge.requests.filter(
    ({ method, path }) => method !== "GET" && /\/(comments|notes)(\/\d+)?$/.test(path),
  );
  return writes.map(({ method, path }) => `${method} ${path}`);
}

/** What every open change request shows. */
async function shownOf(bot: Bot, numbers: readonly number[]) {
  const open = numbers.filter((number) => bot.seen(number).state === "open");
  return Promise.all(
    open.map(async (number) => {
      const head = revision(bot.seen(number).headRevision);
      const own = await bot.stores.statuses.ofHead({ ...bot.ref(number), headRevision: head });
      const status = own.map(({ state, description }) => `${state}: ${description}`);
      const last = bot.forge.statuses(REPOSITORY, head).at(-1)?.state;
      return { number, status, last, plan: planIn(bot, number) };
    }),
  );
}

function planIn(bot: Bot, number: number): string {
  const head = `head=${bot.seen(number).headRevision} `;
  return (
    bot
      .answers(number)
      .findLast(
        (text) => /^<!-- svc:(plan|no-applications) /.test(text) && text.includes(head) && !text.includes(" stale="),
      ) ?? ""
  );
}

/** What nobody renders to find out: who has the lock of each planned application. */
async function expectLocksShown(bot: Bot, number: number, plan: string): Promise<void> {
  const me = bot.ref(number);
  for (const application of ["web", "api"]) {
    const [, section = ""] = plan.split(`### Application: \`${application}\``);
    const [text = ""] = section.split("### Application");
    if (text === "" || text.includes("**Status:** Not locked\n")) continue;
    const lock = (await bot.stores.locks.list()).find((one) => one.application === application);
    expect({ number, application, ours: text.includes("Locked by this PR") }).toEqual({
      number,
      application,
      ours: lock !== undefined && sameChangeRequest(lock.holder, me),
    });
    if (lock !== undefined && !sameChangeRequest(lock.holder, me)) {
      expect(text).toContain(`Locked by PR #${lock.holder.number} (${lock.user})`);
    }
  }
}

test(
  "it converges: once the reconciler has passed, every open change request shows what is stored and what the host says",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...HOSTS),
        fc.array(fc.array(step, { minLength: 4, maxLength: MOST_STEPS, size: "max" }), {
          minLength: IN_A_ROW,
          maxLength: IN_A_ROW,
        }),
        converges,
      ),
      { ...RUNS, examples: FOUND },
    );
  },
  LONGEST_MS,
);

/** Counterexamples that were found and mended. */
const FOUND: [HostId, Step[][]][] = [
  [
    "hostb",
    [
      [
        usual({ kind: "approve", at: 0 }),
        usual({ kind: "comment", at: 0, by: "ana", body: "svc sync" }),
        {
          ...usual({ kind: "comment", at: 0, by: "bo", body: "svc unlock" }),
          failing: { after: 5, times: 4 },
          refused: true,
        },
        usual({ kind: "later", minutes: 120 }),
        usual({ kind: "reject", at: 1 }),
        { ...usual({ kind: "base", application: "web", value: "3" }), lost: true, failing: { after: 8, times: 2 } },
        { ...usual({ kind: "approve", at: 2 }), failing: { after: 5, times: 3 } },
        { ...usual({ kind: "comment", at: 0, by: "bo", body: "svc unlock" }), failing: { after: 3, times: 1 } },
        { ...usual({ kind: "approve", at: 1 }), failing: { after: 2, times: 1 } },
        { ...usual({ kind: "draft", at: 2, draft: false }), failing: { after: 0, times: 2 }, refused: true },
      ],
    ],
  ],
];

function usual(act: Act): Step {
  return { act, lost: false, failing: undefined, refused: false };
}

async function converges(host: HostId, sequences: readonly (readonly Step[])[]): Promise<void> {
  const bot = await startBot({
    host,
    checkChanges: false,
    checkWords: false,
    config: { [host]: { commit_status: true }, defaults: { require_approval: true } },
  });
  let hostNow = bot.clock.now().getTime();
  let opened = 0;
  const numbers: number[] = [];
  for (const steps of sequences) {
    for (const [index, applications] of CHANGES.entries()) {
      const number = numbers[index];
      if (number !== undefined && bot.seen(number).state === "open") continue;
      opened += 1;
      numbers[index] = await bot.open(changeOf(applications, `first ${opened}`));
    }
    for (const one of steps) {
      // The service's clock jumps; the host dates what happens by its own.
      const now = bot.clock.now().getTime();
      bot.forge.passTime(now - hostNow);
      hostNow = now;
      await play(one, numbers, bot);
    }
    await settle(bot);
    await expectConverged(numbers, bot);
  }
  await bot.end();
}

async function expectConverged(numbers: readonly number[], bot: Bot): Promise<void> {
  const shown = await shownOf(bot, numbers);
  for (const { number, plan } of shown) await expectLocksShown(bot, number, plan);
  const open = shown.map(({ number }) => bot.ref(number));
  const before = writesIn(bot);
  await lookAgain(bot, open);
  expect(writesIn(bot)).toEqual(before);
  // Nothing is known of what was written: everything is worked out again and compared with what the host has.
  for (const change of open) {
    for (const surface of ["status", "plan"] as const) await bot.stores.marks.wrote(change, surface, undefined);
  }
  await lookAgain(bot, open);
  expect(await shownOf(bot, numbers)).toEqual(shown);
}
