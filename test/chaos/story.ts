import { setTimeout as delay } from "node:timers/promises";
import type { FileChanges, Forge } from "../../sandbox/forge.js";
import { readMarker, type Marker } from "../../src/comments/marker.js";
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
  /** Deliveries that the host may send once more. */
  readonly repeatable: () => readonly string[];
  readonly note: (what: string) => void;
}

/** A change request that somebody opened. */
export interface Opened extends Place {
  /** Applications that its commits affect. */
  readonly affected: Set<string>;
}

/** What one person did. */
export interface Told {
  readonly asked: Asked[];
  readonly opened: Opened[];
}

const MOST_COMMANDS = 3;
/** People turn to something else when an answer takes longer. */
const PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 40;

/** One person works on so many change requests, one after the other; others do the same beside them. */
export async function play(stage: Stage, changeRequests: number): Promise<Told> {
  const told: Told = { asked: [], opened: [] };
  for (let index = 0; index < changeRequests; index += 1) {
    const { names, files } = edit(stage);
    const number = await stage.forge.open({ repository: REPOSITORY, by: "ana", changes: files });
    const opened = { host: stage.host, number, affected: new Set(names) };
    told.opened.push(opened);
    stage.note(`${stage.host} #${number} opened`);
    await new Journey(stage, opened, told.asked).go();
  }
  return told;
}

/** The way of one change request, from its opening to its end or until nobody cares any more. */
class Journey {
  constructor(
    private readonly stage: Stage,
    private readonly opened: Opened,
    private readonly asked: Asked[],
  ) {}

  get #number(): number {
    return this.opened.number;
  }

  async go(): Promise<void> {
    const { random } = this.stage;
    await this.#untilPlanned();
    if (random.chance(0.25)) await this.#push();
    for (let count = 0; count < MOST_COMMANDS && this.#isOpen(); count += 1) {
      if (!this.#saidOfHead(["plan"])) await this.#askAndWait("svc plan");
      if (random.chance(0.8)) await this.#approve();
      const command = this.#nextCommand(count);
      const meddles = random.chance(0.15);
      if (meddles) {
        // Something comes in between while it is at work.
        await this.#ask(command);
        await this.#meddle();
      } else if (random.chance(0.9)) await this.#askAndWait(command);
      else await this.#ask(command);
      if (random.chance(0.15)) await this.#repeatDelivery();
      // The merge comes after the answer.
      if (this.#saysMerging()) await this.#until(() => !this.#isOpen());
    }
    if (random.chance(0.6)) await this.#end();
  }

  #nextCommand(count: number): string {
    const { random, applications } = this.stage;
    const what = random.next();
    if (what < 0.7) return "svc sync";
    if (what < 0.78) return `svc sync -a ${random.pick(applications)}`;
    if (what < 0.84) return "svc plan";
    if (what < 0.92) return count === 0 ? "svc sync --dry-run" : "svc rollback";
    return what < 0.96 ? "svc unlock" : "svc help";
  }

  async #meddle(): Promise<void> {
    const { random } = this.stage;
    await delay(random.between(0, 400));
    if (!this.#isOpen()) return;
    const what = random.next();
    if (what < 0.6) await this.#push();
    else if (what < 0.8) await this.#end();
    else await this.#ask("svc sync");
  }

  async #push(): Promise<void> {
    const { forge, note, host } = this.stage;
    const { names, files } = edit(this.stage);
    const commit = await forge.push(REPOSITORY, this.#number, files);
    // A merge may have come before.
    if (this.#seen().headRevision === commit) for (const name of names) this.opened.affected.add(name);
    note(`${host} #${this.#number} pushed`);
    await this.#untilPlanned();
  }

  /** A merge by somebody else may come before. */
  async #end(): Promise<void> {
    const { forge, note, host, random } = this.stage;
    const merges = random.chance(0.3);
    if (!this.#isOpen()) return;
    try {
      await (merges ? forge.mergeByHand(REPOSITORY, this.#number, "bo") : forge.close(REPOSITORY, this.#number));
      note(`${host} #${this.#number} ${merges ? "merged by hand" : "closed"}`);
    } catch (error) {
      note(`${host} #${this.#number} could not be ${merges ? "merged by hand" : "closed"}: ${String(error)}`);
    }
  }

  async #approve(): Promise<void> {
    const { forge, observer, host, note } = this.stage;
    const place = { host, number: this.#number };
    const head = this.#seen().headRevision;
    if (!this.#isOpen() || observer.isApproved(place, head)) return;
    observer.approved(place, head);
    await forge.review(REPOSITORY, this.#number, "bo", "approve");
    note(`${host} #${this.#number} approved`);
  }

  async #ask(command: string): Promise<void> {
    const { forge, host, note } = this.stage;
    note(`${host} #${this.#number} ${command}`);
    const commentId = await forge.comment(REPOSITORY, this.#number, "ana", command);
    this.asked.push({ host, number: this.#number, command, commentId });
  }

  async #repeatDelivery(): Promise<void> {
    const { forge, random, repeatable, note, host } = this.stage;
    const ids = repeatable();
    if (ids.length === 0) return;
    const id = random.pick(ids);
    note(`${host} sends ${id} once more`);
    await forge.redeliver(id);
  }

  #seen() {
    return this.stage.forge.changeRequest(REPOSITORY, this.#number);
  }

  #isOpen(): boolean {
    return this.#seen().state === "open";
  }

  /** How many answers stand there. */
  #finals(): number {
    return this.#seen().comments.filter(({ body }) => {
      const kind = readMarker(body)?.kind;
      return kind !== undefined && kind !== "progress";
    }).length;
  }

  #saysMerging(): boolean {
    return this.#seen().comments.at(-1)?.body.includes("svc merges this ") === true;
  }

  /** Whether a comment of one of these kinds is about the present head. */
  #saidOfHead(kinds: readonly Marker["kind"][]): boolean {
    const { headRevision, comments } = this.#seen();
    return comments.some(({ body }) => {
      const marker = readMarker(body);
      return marker?.head === headRevision && kinds.includes(marker.kind);
    });
  }

  async #untilPlanned(): Promise<void> {
    await this.#until(() => this.#saidOfHead(["plan", "no-applications", "refused"]) || !this.#isOpen());
  }

  async #askAndWait(command: string): Promise<void> {
    const before = this.#finals();
    await this.#ask(command);
    await this.#until(() => this.#finals() > before || !this.#isOpen());
  }

  async #until(condition: () => boolean, ms = PATIENCE_MS): Promise<void> {
    const until = Date.now() + ms;
    while (!condition() && Date.now() < until) await delay(LOOK_EVERY_MS);
  }
}

let edits = 0;

interface Edit {
  /** Applications that it affects. */
  readonly names: readonly string[];
  readonly files: FileChanges;
}

/** Most edits are of content, some of a definition, which needs temporary Applications. */
function edit({ applications, random, forge }: Stage): Edit {
  edits += 1;
  const first = random.pick(applications);
  if (random.chance(0.2)) {
    const repoURL = forge.cloneUrl(REPOSITORY);
    const spec = { info: [{ name: "edit", value: String(edits) }] };
    const files = { [`argocd/${first}.yaml`]: asYaml(applicationResource(first, { repoURL, spec })) };
    return { names: [first], files };
  }
  const names = random.chance(0.3) ? [first, random.pick(applications)] : [first];
  // Mostly files of their own, which conflict with nobody's.
  if (random.chance(0.2)) return { names, files: changeOf(names, `edit ${edits}`) };
  const own = `edit-${edits}`;
  return {
    names,
    files: Object.fromEntries(names.map((name) => [`apps/${name}/${own}.yaml`, configMap(own, { name })])),
  };
}
