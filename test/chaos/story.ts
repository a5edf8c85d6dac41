import { setTimeout as delay } from "node:timers/promises";
import type { FileChanges, Forge } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { REPOSITORY, type Observer, type Place } from "./observer.js";
import type { Random } from "./random.js";

/** A command that somebody wrote. */
export interface Asked extends Place {
  readonly command: string;
  readonly commentId: string;
}

export interface Stage {
  readonly host: HostId;
  readonly forge: Forge;
  readonly applications: readonly string[];
  readonly random: Random;
  readonly observer: Observer;
  readonly note: (what: string) => void;
}

const COMMANDS = [
  ["svc sync", 6],
  ["svc plan", 3],
  ["svc rollback", 2],
  ["svc unlock", 1],
] as const;

/** People on one host do these things, one after the other, mostly waiting for the answers as people do. */
export async function play(
  stage: Stage,
  steps: number,
): Promise<{ readonly asked: Asked[]; readonly opened: number[] }> {
  const { host, forge, random, observer, note } = stage;
  const asked: Asked[] = [];
  const opened: number[] = [];
  const open = (): number[] => opened.filter((number) => forge.changeRequest(REPOSITORY, number).state === "open");
  let edits = 0;
  for (let step = 0; step < steps; step += 1) {
    const numbers = open();
    const what = random.next();
    if (numbers.length === 0 || (what < 0.15 && numbers.length < 3)) {
      edits += 1;
      const number = await forge.open({ repository: REPOSITORY, by: "ana", changes: edit(stage, edits) });
      opened.push(number);
      note(`${host} #${number} opened`);
    } else {
      const number = random.pick(numbers);
      if (what < 0.3) {
        edits += 1;
        await forge.push(REPOSITORY, number, edit(stage, edits));
        note(`${host} #${number} pushed`);
      } else if (what < 0.36) {
        await forge.close(REPOSITORY, number);
        note(`${host} #${number} closed`);
      } else if (what < 0.4) {
        await forge.mergeByHand(REPOSITORY, number, "bo").catch(() => undefined);
        note(`${host} #${number} merged by hand`);
      } else if (!observer.isApproved({ host, number }, headOf(forge, number)) && random.chance(0.7)) {
        observer.approved({ host, number }, headOf(forge, number));
        await forge.review(REPOSITORY, number, "bo", "approve");
        note(`${host} #${number} approved`);
      } else {
        const command = commandOf(random);
        const commentId = await forge.comment(REPOSITORY, number, "ana", command);
        asked.push({ host, number, command, commentId });
        note(`${host} #${number} ${command}`);
      }
      await patience(stage, number);
    }
    await delay(random.between(0, 250));
  }
  return { asked, opened };
}

function headOf(forge: Forge, number: number): string {
  return forge.changeRequest(REPOSITORY, number).headRevision;
}

function commandOf(random: Random): string {
  const weighted = COMMANDS.flatMap(([command, weight]) => Array.from({ length: weight }, () => command));
  return random.pick(weighted);
}

/** Most edits are of content, some of a definition, which needs temporary Applications. */
function edit({ applications, random, forge }: Stage, count: number): FileChanges {
  const first = random.pick(applications);
  if (random.chance(0.2)) {
    const path = `apps/${first}-${count}`;
    return {
      [`argocd/${first}.yaml`]: asYaml(applicationResource(first, { repoURL: forge.cloneUrl(REPOSITORY), path })),
      [`${path}/configmap.yaml`]: configMap(first, { value: `edit ${count}` }),
    };
  }
  return changeOf(random.chance(0.4) ? [first, random.pick(applications)] : [first], `edit ${count}`);
}

/** Waits for a new comment of the service, though not always, and not for long. */
async function patience({ forge, random }: Stage, number: number): Promise<void> {
  if (random.chance(0.25)) return;
  const comments = () => forge.changeRequest(REPOSITORY, number).comments.length;
  const before = comments();
  const until = Date.now() + random.between(1_000, 5_000);
  while (comments() === before && Date.now() < until) await delay(50);
}
