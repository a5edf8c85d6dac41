import fc from "fast-check";
import { parseComment } from "../../../src/core/commands/parse-command.js";
import type { HostEvent } from "../../../src/core/model/event.js";
import type { Facts } from "../../../src/core/policy/facts.js";
import { barsOf } from "../../../src/core/policy/judge.js";
import { nextStep } from "../../../src/core/policy/next-step.js";
import { SERVICE } from "../../../src/names.js";
import { conversation } from "../../fuzz/conversation.js";
import { REPOSITORY } from "../../fuzz/talk-world.js";
import { play } from "../../fuzz/talk.js";
import type { World } from "../facts-of-commands.js";
import { rollbackFacts, standingFacts, syncFacts } from "../facts-of-commands.js";
import type { Recorder } from "../recorder.js";
import { judgedAs } from "../state-text.js";

/** Of each code host: the hosts see different conversations. */
const SEEDS = { hosta: 20260302, hostb: 20260303 };
const CONVERSATIONS = 40;
/** States of random conversations that are kept of each code host. */
const MOST = 40;

/** Conversations that nobody thought of, on the change requests of fuzzing. */
export async function playRandomly(recorder: Recorder): Promise<void> {
  const { hostId } = recorder;
  let count = 0;
  const keep = (facts: Facts) => {
    if (count < MOST && recorder.keep(nameOf(count + 1, facts), facts, hostId)) count += 1;
  };
  for (const one of fc.sample(conversation, { seed: SEEDS[hostId], numRuns: CONVERSATIONS })) {
    if (count >= MOST) return;
    await play(one, {
      hostId,
      acted: async (number, world) => keep(await standingFacts(await changeOf(number, world), world)),
      around: async (event, handle, world) => {
        const facts = count < MOST ? await beforeCommand(event, world) : undefined;
        if (facts !== undefined) keep(facts);
        return handle();
      },
    });
  }
}

/** What a command that deploys is judged by. */
async function beforeCommand(event: HostEvent, world: World): Promise<Facts | undefined> {
  if (event.kind !== "commented") return undefined;
  const parsed = parseComment(event.body, SERVICE);
  if (parsed?.kind !== "command") return undefined;
  const given = { change: await world.host.getChangeRequest(event.change), user: event.author };
  const { command } = parsed;
  if (command.name !== "sync" && command.name !== "rollback") return undefined;
  const found =
    command.name === "sync" ? await syncFacts(command, given, world) : await rollbackFacts(command, given, world);
  return found.kind === "facts" ? found.facts : undefined;
}

async function changeOf(number: number, { host }: World) {
  const repository = { host: host.id, repository: REPOSITORY, number };
  return host.getChangeRequest(repository);
}

/** `random-07-push-for-behind`, `random-08-sync-barred-by-stale`. */
function nameOf(index: number, facts: Facts): string {
  const bars = facts.asker === undefined ? [] : barsOf(judgedAs("sync", facts));
  const [first] = bars;
  const step = nextStep(facts);
  const what = step.kind === "command" ? step.command : step.kind;
  const why = first === undefined ? "" : `-barred-by-${first.gate}`;
  return `random-${String(index).padStart(2, "0")}-next-${what}${why}`;
}
