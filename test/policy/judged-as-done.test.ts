import { expect, test } from "@jest/globals";
import { commitStatusOf } from "../../src/comments/commit-status.js";
import { parseComment } from "../../src/core/commands/parse-command.js";
import type { ApplicationName } from "../../src/core/model/brand.js";
import type { ChangeRequestRef, User } from "../../src/core/model/change-request.js";
import type { Command } from "../../src/core/model/command.js";
import type { HostEvent } from "../../src/core/model/event.js";
import type { AdvisedCommand } from "../../src/core/model/next-step.js";
import type { Facts } from "../../src/core/policy/facts.js";
import { barsOf, judge } from "../../src/core/policy/judge.js";
import { nextStep } from "../../src/core/policy/next-step.js";
import { SERVICE } from "../../src/names.js";
import { conversation, type Conversation } from "../fuzz/conversation.js";
import { fuzzAsync, HOUR_MS } from "../fuzz/fuzz.js";
import { must } from "../fuzz/must.js";
import type { World } from "../fuzz/onlooker.js";
import { OLGA, ANA } from "../fuzz/talk-world.js";
import { play } from "../fuzz/talk.js";
import type { recordingLog } from "../recording-log.js";
import { shareOf } from "../share-of.js";
import {
  askerFacts,
  mergeFacts,
  rollbackFacts,
  standingFacts,
  syncFacts,
  SYNC,
  ROLLBACK,
  type FactsOfCommand,
  type Given,
} from "./facts-of-commands.js";

/** States in which a command was judged, given, and what it left behind looked at. */
const FEWEST_STATES = shareOf(2_000);

test(
  "what is judged to be allowed is done, what is not is refused for that reason, and every advice is accepted",
  async () => {
    let states = 0;
    await fuzzAsync("judged-as-done", conversation, async (one) => void (states += await playJudged(one)), {
      few: shareOf(620),
    });
    process.stdout.write(`judged-as-done: ${states} states\n`);
    if (process.env.SVC_PATH === undefined) expect(states).toBeGreaterThanOrEqual(FEWEST_STATES);
  },
  3 * HOUR_MS,
);

/** Plays a conversation and returns how many states were judged. */
async function playJudged(one: Conversation): Promise<number> {
  let states = 0;
  let merging: Facts | undefined;
  let giving: { readonly user: User; readonly involved: readonly ApplicationName[] } | undefined;
  await play(one, {
    commitStatus: true,
    async around(event, handle, world) {
      const command = commandIn(event);
      if (event.kind !== "commented" || command === undefined) return handle();
      const { author: user } = event;
      const { change } = event;
      const given = { change: world.host.facts(change.number), user };
      const judged = await judgedBefore(command, given, world);
      states += 1;
      merging = undefined;
      giving = { user, involved: judged.selected };
      const end = await handle();
      const outcome = outcomeOf(event, world);
      const about = `${event.body} by ${user.login}`;
      must(end === "done" || end === "refused", `${about} ended as ${end}`);
      must(agree(judged.reason, outcome), `${about} is judged ${judged.reason ?? "allowed"}, and was ${outcome}`);
      if (outcome === "synced") await checkMerge(merging, one, { change, user, involved: judged.selected }, world);
      await checkAfter(change, outcome, world);
      giving = undefined;
      return end;
    },
    async merging(number, world) {
      const change = world.host.facts(number);
      must(giving !== undefined, "it merges without a command");
      if (giving === undefined) return;
      merging = await mergeFacts(giving.involved, [], { change, user: giving.user }, world);
    },
  });
  return states;
}

/** What is known of a command before it is given. */
interface Before {
  /** Why it is refused. */
  readonly reason: string | undefined;
  readonly selected: readonly ApplicationName[];
}

/** Reads the facts as the command is about to, and judges them. */
async function judgedBefore(command: Command, given: Given, world: World): Promise<Before> {
  switch (command.name) {
    case "plan":
    case "unlock": {
      const { refusal } = judge(command.name, await askerFacts(command.name, given, world));
      return { reason: refusal?.reason, selected: [] };
    }
    case "sync":
      return judgedOf("sync", await syncFacts(command, given, world), await atOnce("sync", given, world));
    case "rollback":
      return judgedOf("rollback", await rollbackFacts(command, given, world), await atOnce("rollback", given, world));
    case "update":
    case "revert":
    case "hold":
    case "release":
    case "help":
      return { reason: undefined, selected: [] };
  }
}

/** Why it is refused before anything is selected. */
async function atOnce(name: "sync" | "rollback", given: Given, world: World): Promise<string | undefined> {
  const facts = await askerFacts("plan", given, world);
  return judge(name, facts, (gate) => AT_ONCE.has(gate)).refusal?.reason;
}

const AT_ONCE: ReadonlySet<string> = new Set(["closed", "fork", "broken-rules", "write-access"]);

function judgedOf(name: "sync" | "rollback", found: FactsOfCommand, early: string | undefined): Before {
  if (found.kind === "unselected") return { reason: early ?? found.refusal.reason, selected: [] };
  const reason = judge(name, found.facts).refusal?.reason;
  must(early === undefined || early === reason, `it is refused at once for ${early}, and judged ${reason}`);
  return { reason, selected: found.facts.asker?.selected ?? [] };
}

const DONE: ReadonlySet<string> = new Set(["planned", "synced", "rolled-back", "unlocked"]);

function agree(reason: string | undefined, outcome: string): boolean {
  // What a plan or an unlock selects is no matter of its judgement.
  const isUnselected = outcome === "unknown-applications" || outcome === "not-locked";
  return reason === undefined ? DONE.has(outcome) || isUnselected : outcome === reason;
}

interface Synced {
  readonly change: ChangeRequestRef;
  readonly user: User;
  readonly involved: readonly ApplicationName[];
}

/** svc merges if, and only if, nothing bars that. @param merging what it was judged by when it merged */
async function checkMerge(
  merging: Facts | undefined,
  { rules }: Conversation,
  { change, user, involved }: Synced,
  world: World,
): Promise<void> {
  if (!rules.autoMerge) {
    must(merging === undefined, "it merges though nobody wants it to");
    return;
  }
  const given = { change: world.host.facts(change.number), user };
  const bars = barsOf(judge("merge", merging ?? (await mergeFacts(involved, [], given, world))));
  const gates = bars.map(({ gate }) => gate).join(", ");
  if (merging === undefined) must(bars.length > 0, "nothing bars the merge, and it was not merged");
  else must(bars.length === 0, `it was merged though these gates bar it: ${gates}`);
}

/** Status and advice of what a command left behind. */
async function checkAfter(ref: ChangeRequestRef, outcome: string, world: World): Promise<void> {
  const change = world.host.facts(ref.number);
  const facts = await standingFacts(change, world);
  if (change.state === "open") {
    const { state } = commitStatusOf({ kind: "planned", facts }, facts.words);
    const bars = barsOf(judge("merge", { ...facts, asker: undefined }));
    const mayMerge = bars.length === 0;
    must(
      (state === "success") === mayMerge,
      `the status is ${state}, and a merge is ${mayMerge ? "allowed" : "barred"}`,
    );
    const shown = world.host.statusesOf(ref.number).findLast(({ revision }) => revision === change.headRevision);
    const isShown = DONE.has(outcome) && facts.plan?.current === true;
    must(!isShown || shown?.state === state, `the host shows ${shown?.state}, and the status is ${state}`);
  }
  const step = nextStep(facts);
  if (step.kind !== "command") return;
  const user = step.by.length > 0 ? OLGA : ANA;
  const { reason } = await judgedBefore(commandOf(step), { change, user }, world);
  must(reason === undefined, `${step.command} is advised, and is judged ${reason}`);
}

function commandOf({ command, applications }: AdvisedCommand): Command {
  switch (command) {
    case "plan":
      return { name: "plan", applications };
    case "sync":
      return { ...SYNC, applications };
    case "rollback":
      return { ...ROLLBACK, applications };
  }
}

function commandIn(event: HostEvent): Command | undefined {
  const parsed = event.kind === "commented" ? parseComment(event.body, SERVICE) : undefined;
  return parsed?.kind === "command" ? parsed.command : undefined;
}

/** What the service did about an event, as it logs it. */
function outcomeOf({ delivery }: HostEvent, { dependencies }: World): string {
  const { lines } = dependencies.log as ReturnType<typeof recordingLog>;
  const line = lines.findLast(({ text, fields }) => text === "event handled" && fields.delivery === delivery);
  return String(line?.fields.outcome);
}
