import { setTimeout as delay } from "node:timers/promises";
import type { Forge, SeenChangeRequest } from "../../sandbox/forge.js";
import { readMarker } from "../../src/comments/marker.js";
import type { HostId } from "../../src/names.js";
import { configMap } from "../scenarios/resources.js";
import { REPOSITORY, type Observer, type Place, placeKey } from "./observer.js";
import type { StagedApplications } from "./outside.js";
import type { Asked, Opened, Told } from "./story.js";

const LOOK_EVERY_MS = 40;
/** Storms may undo what is asked for a few times in a row. */
const MOST_COMMANDS = 12;
/** A health has to hold for half a minute, and a run that was killed begins anew when its lease expires. */
const PATIENCE_MS = 75_000;
/** What comes with the next look at the lost webhooks is not waited for longer. */
const LOST_AFTER_MS = 6_000;

/** A way to end replicas, all or one; resolves once they run again. */
export interface Blows {
  strike(when: string): Promise<void>;
  /** Ends the replica that makes one of these calls, before or after it arrives; not after `until`. */
  lieInWait(when: string, calls: Calls, until: Promise<unknown>): void;
}

/** So many calls of one kind. */
export interface Calls {
  readonly peer: "github" | "gitlab";
  readonly on: RegExp;
  readonly count: number;
}

export interface LongStage {
  readonly host: HostId;
  readonly forge: Forge;
  readonly applications: StagedApplications;
  readonly observer: Observer;
  readonly blows: Blows;
  /** Whether Argo CD looks for new commits in time. */
  readonly rollsOut: boolean;
  /** Argo CD looks for new commits. */
  readonly pollGit: () => Promise<void>;
  /** Every replica looks at what it follows. */
  readonly follow: () => void;
  /** Every replica looks for what lost webhooks would have told. */
  readonly cleanUp: () => void;
  readonly note: (what: string) => void;
}

/** What one person did on the long way, and how far it went. */
export interface Gone {
  readonly host: HostId;
  readonly applications: StagedApplications;
  /** Was deployed in two stages, merged by svc and reverted. */
  readonly staged: number;
  /** Was merged by hand, and deployed by Argo CD after that. */
  readonly followed: number;
  /** Undefined until a revert is open. */
  readonly revert: number | undefined;
  /** What did not come in time, in words. */
  readonly missing: string | undefined;
}

/** Two change requests, one deployed in stages, merged and reverted, one followed after its merge, while svc is killed in the middle of each. */
export async function goLongWay(stage: LongStage): Promise<Told & { readonly gone: Gone }> {
  const { host, applications, note } = stage;
  const { dev, prod, auto } = applications;
  const asked: Asked[] = [];
  const [staged, followed] = [await Way.open(stage, [dev, prod], asked), await Way.open(stage, [auto], asked)];
  const opened: Opened[] = [
    { ...staged.place, affected: new Set([dev, prod]) },
    { ...followed.place, affected: new Set([auto]) },
  ];
  const steps: readonly (readonly [string, () => Promise<boolean>])[] = [
    ["the plan of the stages", () => staged.plan()],
    ["the first stage", () => staged.deploy(dev)],
    ["the second stage after a soak", () => staged.soak(prod)],
    ["the merge after the stages", () => staged.merge()],
    ["the plan of what takes effect at the merge", () => followed.plan()],
    ["the end of the rollout", () => followed.rollOut()],
    ["the revert", () => staged.revert(opened)],
  ];
  let missing: string | undefined;
  for (const [what, step] of steps) {
    if (await step()) continue;
    missing = what;
    note(`${host}: ${what} did not come; ${staged.lastWords()}; ${followed.lastWords()}`);
    break;
  }
  const gone = { host, applications, staged: staged.place.number, followed: followed.place.number };
  return { asked, opened, gone: { ...gone, revert: staged.reverted, missing } };
}

class Way {
  reverted: number | undefined;

  private constructor(
    private readonly stage: LongStage,
    private readonly number: number,
    private readonly asked: Asked[],
  ) {}

  static async open(stage: LongStage, names: readonly string[], asked: Asked[]): Promise<Way> {
    const { host, forge, note } = stage;
    const changes = Object.fromEntries(
      names.map((name) => [`apps/${name}/long.yaml`, configMap(`long-${name}`, { at: "2" })]),
    );
    const number = await forge.open({ repository: REPOSITORY, by: "ana", changes });
    note(`${host} #${number} opened for the long way`);
    return new Way(stage, number, asked);
  }

  get place(): Place {
    return { host: this.stage.host, number: this.number };
  }

  lastWords(): string {
    return `#${this.number} says: ${this.#seen().comments.at(-1)?.body.slice(0, 600) ?? "nothing"}`;
  }

  async plan(): Promise<boolean> {
    const planned = () => this.#saidOfHead("plan");
    await this.#until(planned, LOST_AFTER_MS);
    for (let count = 0; count < MOST_COMMANDS && !planned(); count += 1) await this.#ask("svc plan", planned);
    const { forge, observer } = this.stage;
    observer.approved(this.place, this.#seen().headRevision);
    await forge.review(REPOSITORY, this.number, "bo", "approve");
    return planned();
  }

  /** Asks until Argo CD has deployed it, and svc has said so. */
  async deploy(application: string): Promise<boolean> {
    const done = () => this.#synced(application) && this.#saidOfHead("result");
    for (let count = 0; count < MOST_COMMANDS && !done(); count += 1) await this.#ask("svc sync", done);
    return done();
  }

  async soak(application: string): Promise<boolean> {
    const done = () => this.#synced(application);
    if (!done()) await this.stage.blows.strike("in the middle of a soak");
    await this.#until(done);
    for (let count = 0; count < MOST_COMMANDS && !done(); count += 1) await this.#ask("svc sync", done);
    return done();
  }

  async merge(): Promise<boolean> {
    const { forge, host, note } = this.stage;
    const done = () => this.#seen().state === "merged";
    await this.#until(done);
    if (!done()) {
      note(`${host} #${this.number} is merged by hand`);
      await forge.mergeByHand(REPOSITORY, this.number, "bo").catch(() => undefined);
    }
    return done();
  }

  async rollOut(): Promise<boolean> {
    const { blows, pollGit, rollsOut, follow, cleanUp, observer, forge, host, note } = this.stage;
    const begun = () => this.#seen().comments.some(({ body }) => body.includes("**After the merge**"));
    await forge.mergeByHand(REPOSITORY, this.number, "bo");
    note(`${host} #${this.number} merged by hand, to be followed`);
    await this.#until(begun, LOST_AFTER_MS);
    await blows.strike("in the middle of a rollout");
    // Otherwise nothing rolls out in time.
    if (rollsOut) await pollGit();
    const until = Date.now() + PATIENCE_MS;
    for (let count = 1; Date.now() < until; count += 1) {
      follow();
      // A lost webhook of the merge is made up for.
      if (count % 10 === 0) cleanUp();
      await delay(700);
      if ((await observer.audited(placeKey(this.place), "rolled-out")).length > 0) return true;
    }
    return false;
  }

  async revert(opened: Opened[]): Promise<boolean> {
    const { blows, host, forge, note } = this.stage;
    for (let count = 0; count < MOST_COMMANDS && !this.#isReverted(); count += 1) {
      const ends = this.#ask("svc revert", () => this.#isReverted());
      if (count === 0) blows.lieInWait("in the middle of a revert", REVERTS[host], ends);
      await ends;
    }
    const number = this.reverted;
    if (number === undefined) return false;
    opened.push({ host, number, affected: new Set() });
    const planned = () =>
      forge.changeRequest(REPOSITORY, number).comments.some(({ body }) => readMarker(body)?.kind === "plan");
    await this.#until(planned);
    note(`${host} #${number} is the revert`);
    return true;
  }

  #isReverted(): boolean {
    const said = this.#seen().comments.flatMap(({ body }) => REVERT.exec(body)?.[1] ?? []);
    this.reverted = said[0] === undefined ? undefined : Number(said[0]);
    return this.reverted !== undefined;
  }

  /** Asks, and waits until that is done, or until it is answered and nothing comes of it. */
  async #ask(command: string, done: () => boolean): Promise<void> {
    const { forge, host, note } = this.stage;
    const answers = () => this.#seen().comments.filter(({ body }) => isFinal(body)).length;
    const before = answers();
    note(`${host} #${this.number} ${command}`);
    const commentId = await forge.comment(REPOSITORY, this.number, "ana", command);
    this.asked.push({ host, number: this.number, command, commentId });
    await this.#until(() => done() || answers() > before);
    await this.#until(done, 1_000);
  }

  #synced(application: string): boolean {
    const change = placeKey(this.place);
    return this.stage.observer.syncs.some(
      (one) => one.change === change && one.application === application && !one.dryRun,
    );
  }

  #saidOfHead(kind: string): boolean {
    const { headRevision, comments } = this.#seen();
    return comments.some(({ body }) => {
      const marker = readMarker(body);
      return marker?.head === headRevision && marker.kind === kind;
    });
  }

  #seen(): SeenChangeRequest {
    return this.stage.forge.changeRequest(REPOSITORY, this.number);
  }

  async #until(condition: () => boolean, ms = PATIENCE_MS): Promise<void> {
    const until = Date.now() + ms;
    while (!condition() && Date.now() < until) await delay(LOOK_EVERY_MS);
  }
}

const REVERT = /\[[PM]R [#!](\d+)\]\(<[^>]+>\)(?:, which| is open)/;

/** The calls that make a revert: one on GitHub, four on GitLab. */
const REVERTS: Readonly<Record<HostId, Calls>> = {
  hosta: { peer: "github", on: /revertPullRequest\(/, count: 1 },
  hostb: {
    peer: "gitlab",
    on: /^POST \S*\/repository\/(?:branches|commits\/\w+\/revert)\b|^POST \S*\/merge_requests\b(?!\/)/,
    count: 4,
  },
};

function isFinal(body: string): boolean {
  const kind = readMarker(body)?.kind;
  return kind !== undefined && kind !== "progress";
}
