import { applicationName } from "../../src/core/model/brand.js";
import type { User } from "../../src/core/model/change-request.js";
import type { Facts } from "../../src/core/policy/facts.js";
import { HOST_IDS, type HostId } from "../../src/names.js";
import {
  askerFacts,
  confirmedSyncFacts,
  mergeFacts,
  ROLLBACK,
  rollbackFacts,
  standingFacts,
  SYNC,
  syncFacts,
  type FactsOfCommand,
} from "./facts-of-commands.js";
import { ANA, Scene, type SceneOptions } from "./scene.js";
import { textOfState } from "./state-text.js";

/** Plays on one code host, and records what it comes by. */
export type Recorded = (recorder: Recorder) => Promise<void>;

export interface AskedOptions {
  readonly by?: User;
  /** Named with `-a`. */
  readonly only?: readonly string[];
  readonly dryRun?: boolean;
}

/**
 * Keeps each state about which svc says something that it says of no earlier one. Conversations are played on every host,
 * and half of their states are kept of each: the words of a host do not depend on the state.
 */
export class Recorder {
  /** Of this host, by name. */
  readonly states = new Map<string, Facts>();
  /** Names of the first states, by what svc says of them. */
  readonly #signatures = new Map<string, string>();
  readonly #names = new Set<string>();
  /** Names of states that say the same as an earlier one. */
  readonly repeated: string[] = [];

  constructor(readonly hostId: HostId) {}

  scene(options?: SceneOptions): Scene {
    return new Scene(this.hostId, options);
  }

  /** As the pages and the commit status see it. */
  async standing(name: string, scene: Scene, number: number, more: Partial<Facts> = {}): Promise<void> {
    this.keep(name, { ...(await standingFacts(scene.change(number), scene.world)), ...more });
  }

  /** Right before a sync. */
  async sync(name: string, scene: Scene, number: number, options: AskedOptions = {}): Promise<void> {
    const command = { ...SYNC, ...namesIn(options), dryRun: options.dryRun === true };
    this.keep(name, selected(await syncFacts(command, givenTo(scene, number, options), scene.world)));
  }

  /** Right before the first call of a sync that deploys. @param meanwhile happens after it was judged. */
  async confirmed(name: string, scene: Scene, number: number, meanwhile: () => void | Promise<void>): Promise<void> {
    this.keep(name, await confirmedSyncFacts(SYNC, givenTo(scene, number, {}), scene.world, meanwhile));
  }

  /** Right before a rollback. */
  async rollback(name: string, scene: Scene, number: number, options: AskedOptions = {}): Promise<void> {
    const command = { ...ROLLBACK, ...namesIn(options), dryRun: options.dryRun === true };
    this.keep(name, selected(await rollbackFacts(command, givenTo(scene, number, options), scene.world)));
  }

  /** Right before svc merges. */
  async merge(
    name: string,
    scene: Scene,
    number: number,
    { by = ANA, only = ["web"] }: AskedOptions = {},
  ): Promise<void> {
    const involved = only.map((one) => applicationName(one));
    this.keep(name, await mergeFacts(involved, [], { change: scene.change(number), user: by }, scene.world));
  }

  /** Before a plan or an unlock. */
  async asked(name: string, command: "plan" | "unlock", scene: Scene, number: number, by: User = ANA): Promise<void> {
    this.keep(name, await askerFacts(command, { change: scene.change(number), user: by }, scene.world));
  }

  /** @param of the host that keeps it. @returns whether it says something new */
  keep(name: string, facts: Facts, of = hostOf(name)): boolean {
    const plain = asPlainJson(facts);
    const text = textOfState(plain);
    if (text !== textOfState(facts)) throw new Error(`${name} is judged otherwise once it is JSON`);
    const signature = withoutCommits(text);
    const earlier = this.#signatures.get(signature);
    if (earlier !== undefined) {
      this.repeated.push(`${name} says what ${earlier} says`);
      return false;
    }
    if (this.#names.has(name)) throw new Error(`there are two states ${name}`);
    this.#signatures.set(signature, name);
    this.#names.add(name);
    if (of === this.hostId) this.states.set(name, plain);
    return true;
  }
}

/** The same whichever other states there are. */
function hostOf(name: string): HostId {
  const sum = Buffer.from(name).reduce((total, byte) => total + byte, 0);
  return HOST_IDS[sum % HOST_IDS.length] ?? "hosta";
}

function namesIn({ only = [] }: AskedOptions) {
  return { applications: only };
}

function givenTo(scene: Scene, number: number, { by = ANA }: AskedOptions) {
  return { change: scene.change(number), user: by };
}

function selected(found: FactsOfCommand): Facts {
  if (found.kind === "unselected") throw new Error(`nothing is selected: ${JSON.stringify(found.refusal)}`);
  return found.facts;
}

/** Undefined members are left out, as in a file. */
function asPlainJson(facts: Facts): Facts {
  return JSON.parse(JSON.stringify(facts)) as Facts;
}

/** Two states differ by more than their commits. */
function withoutCommits(text: string): string {
  return text.replace(/\b[0-9a-f]{8}(?:[0-9a-f]{32})?\b/g, "commit");
}
