import { readMarker } from "../../src/comments/marker.js";
import { commandText } from "../../src/comments/next-step-words.js";
import type { ChangeRequestRef, User } from "../../src/core/model/change-request.js";
import type { HostEvent } from "../../src/core/model/event.js";
import { LOCK_LIFETIME_MS } from "../../src/core/model/lock.js";
import type { AdvisedCommand, AfterApproval, NextStep } from "../../src/core/model/next-step.js";
import { nextStep } from "../../src/core/policy/next-step.js";
import type { EventQueue } from "../../src/core/ports/event-queue.js";
import { type HostId, REPOSITORY_FILE, SERVICE } from "../../src/names.js";
import { createInProcessQueue } from "../../src/queue/in-process.js";
import { type Dependencies, openChange, readChangeFacts } from "../../src/run/line/run.js";
import { supervise } from "../../src/run/line/supervise.js";
import { tellPlanned } from "../../src/service/chores.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { noDelay } from "../in-memory/delay.js";
import { MemoryDeployer } from "../in-memory/memory-deployer.js";
import type { MemoryHost } from "../in-memory/memory-host.js";
import { type FileChanges, MemoryRepositories, withChanges } from "../in-memory/memory-repositories.js";
import { runDependencies } from "../in-memory/run-dependencies.js";
import { JumpClock } from "../jump-clock.js";
import { recordingLog } from "../recording-log.js";
import { configMap } from "../scenarios/resources.js";
import type { Action, Conversation, Rules, Touches } from "./conversation.js";
import { must } from "./must.js";
import type { Onlooker, World } from "./onlooker.js";
import {
  ANA,
  configFor,
  filesOf,
  LISTS,
  NAMES,
  OLGA,
  person,
  REPOSITORY,
  SCANNER,
  specOf,
  TalkHost,
  WORDS,
} from "./talk-world.js";

/** Nobody needs more steps to get ahead. */
const MOST_STEPS = 25;

/** Plays a conversation and obeys every advice in it. @throws if an advised command is refused, or the advice leads nowhere. */
export async function play({ rules, opened, steps, chosen }: Conversation, onlooker: Onlooker = {}): Promise<void> {
  const talk = new Talk(rules, onlooker);
  for (const touches of opened) await talk.open(touches);
  let last = 1;
  for (const { action, change } of steps) {
    last = (change % opened.length) + 1;
    await talk.act(last, action);
    await onlooker.acted?.(last, talk.world);
    await talk.checkLastAnswer(last);
  }
  await talk.giveNamed(last, chosen);
  for (const [index] of opened.entries()) await talk.finish(index + 1);
}

class Talk {
  readonly #clock = new JumpClock(Date.parse("2026-03-02T09:00:00Z"));
  readonly #stores = createMemoryStores(this.#clock);
  readonly #repositories = new MemoryRepositories(noDelay);
  readonly #deployer = new MemoryDeployer(this.#repositories, noDelay);
  readonly #hostId: HostId;
  readonly #host: MemoryHost;
  readonly #dependencies: Dependencies;
  readonly #queue: EventQueue;
  readonly #touched = new Map<number, Touches>();
  readonly #failing = { render: new Set<string>(), sync: new Set<string>() };
  readonly #said: string[] = [];
  /** Whose plan or command was answered last; nothing happened since. */
  #fresh: { readonly number: number; readonly by: "plan" | "command" } | undefined;
  #sent = 0;
  /** What the onlooker threw first. */
  #broken: Error | undefined;

  constructor(rules: Rules, { hostId = "hostb", commitStatus, around, merging }: Onlooker) {
    this.#hostId = hostId;
    const file: Readonly<Record<string, string>> = rules.lists ? { [REPOSITORY_FILE]: LISTS } : {};
    this.#repositories.commit("main", { ...Object.fromEntries(NAMES.flatMap(filesOf)), ...file });
    for (const name of NAMES) this.#deployer.add(name, specOf(name));
    const { render, sync } = this.#failing;
    this.#deployer.faults.render = ({ application }) => {
      if (render.has(application.name)) throw new Error("cannot be rendered");
    };
    this.#deployer.faults.sync = ({ application }) =>
      sync.has(application.name) ? { kind: "failed", message: "it failed", resources: [] } : undefined;
    this.#host = new TalkHost({
      id: hostId,
      repository: REPOSITORY,
      repositories: this.#repositories,
      delay: noDelay,
      onMerge: (change) => {
        void this.#push({ kind: "closed", ...this.#origin(change.number) });
        void this.#tellBase();
      },
      merging: (number) => this.#watch(async () => merging?.(number, this.world), undefined),
    });
    const log = recordingLog();
    this.#dependencies = runDependencies({
      ...this.#stores,
      config: configFor(rules, commitStatus),
      hosts: { [hostId]: this.#host },
      repositories: this.#repositories,
      deployer: this.#deployer,
      scanner: SCANNER,
      clock: this.#clock,
      // Whoever approves may also approve rules where nobody can read the former ones.
      isAdministrator: () => Promise.resolve(true),
      log,
      push: (event) => this.#push(event),
      newRunId: () => String((this.#sent += 1)),
    });
    this.#queue = createInProcessQueue({
      concurrency: 10,
      run: (event, ticket) => {
        const handle = () => supervise(event, this.#dependencies, ticket);
        return around === undefined ? handle() : this.#watch(() => around(event, handle, this.world), "done");
      },
      log,
      clock: this.#clock,
    });
  }

  get world(): World {
    return { host: this.#host, dependencies: this.#dependencies };
  }

  async open(touches: Touches): Promise<void> {
    const { number } = this.#host.open(this.#changes(this.#sent, touches), person(ANA));
    this.#touched.set(number, touches);
    await this.#deliver({ kind: "updated", reason: "opened", ...this.#origin(number) });
  }

  async act(number: number, action: Action): Promise<void> {
    const host = this.#host;
    this.#fresh = undefined;
    this.#note(number, action.kind);
    switch (action.kind) {
      case "command": {
        const name = action.named === undefined ? "" : ` -a ${NAMES[action.named] ?? "web"}`;
        await this.#comment(number, `${SERVICE} ${action.command}${name}`, ANA);
        return;
      }
      case "push":
        if (host.stateOf(number) !== "open") return;
        this.#touched.set(number, action.touches);
        host.push(number, {
          ...this.#changes(number, action.touches),
          ...(action.breaksRules ? { [REPOSITORY_FILE]: "sync_requirements: [" } : {}),
        });
        return this.#deliver({ kind: "updated", reason: "pushed", ...this.#origin(number) });
      case "approve":
      case "withdraw":
        host.approve(number, ...(action.kind === "approve" ? ["bo"] : []));
        return this.#deliver({ kind: "reviewed", ...this.#origin(number) });
      case "merge":
        if (host.setState(number, "merged")) await this.#merged(number);
        return;
      case "close":
        if (host.setState(number, "closed")) {
          await this.#deliver({ kind: "closed", ...this.#origin(number) });
        }
        return;
      case "reopen":
        if (host.stateOf(number) === "closed" && host.setState(number, "open")) {
          await this.#deliver({ kind: "updated", reason: "reopened", ...this.#origin(number) });
        }
        return;
      case "force-unlock":
        for (const { application, holder } of await this.#stores.locks.list()) {
          if (application === "web") await this.#stores.locks.release(application, holder);
        }
        return;
      case "expire":
        this.#clock.advance(LOCK_LIFETIME_MS + 1);
        return;
      case "base":
        this.#commitToBase(action.touches);
        return this.#tellBase();
      case "fault":
        this.#failing[action.what].add(NAMES[action.named] ?? "web");
        return;
      case "obey":
        return this.#obey(number, await this.#step(number));
    }
  }

  /** The commands of the next step stand in the answer to what just happened, word for word. */
  async checkLastAnswer(number: number): Promise<void> {
    const answer = this.#host.commentsOf(number).at(-1);
    const marker = answer === undefined ? undefined : readMarker(answer);
    if (answer === undefined || marker?.kind !== "plan" || marker.stale === true) return;
    const facts = this.#host.facts(number);
    if (marker.head !== facts.headRevision || facts.state !== "open") return;
    // Later events changed what the plan said then.
    if (this.#fresh?.by !== "plan" || this.#fresh.number !== number) return;
    const step = await this.#step(number);
    const advised = step.kind === "approve" || step.kind === "retry" || step.kind === "mend" ? step.then : step;
    if (advised.kind !== "command") return;
    const command = commandText(advised, WORDS[this.#hostId]);
    must(
      answer.includes(`\`${command}\``) || answer.includes(`\n${command}\n\`\`\`\n`),
      `${command} is the next step, and is not in\n${answer}`,
    );
  }

  /** Gives one of the commands that the last answer names. */
  async giveNamed(number: number, chosen: number): Promise<void> {
    const answer = this.#host.commentsOf(number).at(-1) ?? "";
    if (answer.startsWith("<!-- svc:progress") || /^not a svc command/m.test(answer)) return;
    const named = [
      ...answer.matchAll(
        /(?<!may not run |nothing to deploy with )`(svc (?:plan|sync|rollback|unlock)[^`]*)`(?: and then `([^`]*)`)?/g,
      ),
    ].filter(([, first = ""]) => !first.includes("<"));
    const [, first, second] = named[chosen % Math.max(named.length, 1)] ?? [];
    const fresh = this.#fresh?.by === "command" && this.#fresh.number === number;
    if (first === undefined || !fresh) return;
    this.#cure();
    if (/needs an approval/i.test(answer)) await this.act(number, { kind: "approve" });
    for (const command of [first, second]) {
      if (command !== undefined) await this.#give(number, command, OLGA);
    }
  }

  /** Obeys until nothing is left to do. */
  async finish(number: number): Promise<void> {
    this.#cure();
    for (let left = MOST_STEPS; left > 0; left -= 1) {
      const step = await this.#step(number);
      if (step.kind === "none" || step.kind === "merging") return;
      await this.#obey(number, step);
    }
    throw new Error(`the advice leads nowhere: ${JSON.stringify(await this.#step(number))}\n${this.#story()}`);
  }

  /** Where it stands, as the pages read it. */
  async #step(number: number): Promise<NextStep> {
    const change = this.#host.facts(number);
    const source = { ...this.#dependencies, host: this.#host };
    const { settings, problems } = await openChange(change, source);
    return nextStep((await readChangeFacts(change, settings, source, { problems })).facts);
  }

  async #obey(number: number, step: NextStep): Promise<void> {
    this.#note(number, `obeys ${step.kind}`);
    switch (step.kind) {
      case "command":
        return this.#advised(number, step);
      case "merge":
        must(this.#host.setState(number, "merged"), `it cannot be merged\n${this.#story()}`);
        return this.#merged(number);
      case "approve":
        await this.act(number, { kind: "approve" });
        return this.#afterApproval(number, step.then);
      case "approve-rules":
        this.#host.approve(number, "bo", "olga");
        return this.#deliver({ kind: "reviewed", ...this.#origin(number) });
      case "retry":
        this.#cure();
        return this.#advised(number, step.then);
      case "push":
        this.#cure();
        this.#host.update(number, {
          ...this.#changes(number, this.#touched.get(number) ?? []),
          // A broken file may have been merged: the head repairs it.
          ...(step.because === "rules-broken" ? { [REPOSITORY_FILE]: LISTS } : {}),
        });
        return this.#deliver({ kind: "updated", reason: "pushed", ...this.#origin(number) });
      case "mend":
        return this.#obey(number, step.then);
      case "undone":
        return this.#advised(number, step.again);
      case "later":
        throw new Error(`a fact could not be read\n${this.#story()}`);
      case "wait":
        for (const { application, holder } of step.locks) {
          must(holder.number !== number, `it waits for itself\n${this.#story()}`);
          await this.#give(holder.number, `${SERVICE} unlock -a ${application}`, ANA);
        }
        return;
      case "checks":
        throw new Error("there are no checks");
      case "held":
        throw new Error("nobody holds anything");
      case "stage":
        throw new Error("no file names stages");
      case "merging":
      case "none":
        return;
    }
  }

  async #afterApproval(number: number, then: AfterApproval): Promise<void> {
    if (then.kind === "command") return this.#advised(number, then);
    if (then.kind === "merge") return this.#obey(number, then);
  }

  async #advised(number: number, step: AdvisedCommand): Promise<void> {
    await this.#give(number, commandText(step, WORDS[this.#hostId]), step.by.length > 0 ? OLGA : ANA);
  }

  /** Gives a command that must not be refused. */
  async #give(number: number, command: string, by: User | undefined): Promise<void> {
    const before = this.#host.commentsOf(number);
    await this.#comment(number, command, by);
    const after = this.#host.commentsOf(number);
    const answers = after.filter((body, index) => body !== before[index]);
    const refused = answers.find((body) => readMarker(body)?.kind === "refused");
    must(refused === undefined, `${command} was advised and is refused:\n${refused}\n${this.#story()}`);
    must(answers.length > 0, `${command} was not answered\n${this.#story()}`);
  }

  async #comment(number: number, body: string, author: User | undefined): Promise<void> {
    this.#note(number, body);
    const origin = this.#origin(number);
    const commentId = String(1_000_000 + this.#sent);
    await this.#deliver({ kind: "commented", commentId, body, author: person(author), ...origin });
    this.#fresh = { number, by: "command" };
  }

  #cure(): void {
    this.#failing.render.clear();
    this.#failing.sync.clear();
  }

  async #merged(number: number): Promise<void> {
    await this.#deliver({ kind: "closed", ...this.#origin(number) });
    await this.#tellBase();
  }

  #commitToBase(touches: Touches): void {
    const files = this.#repositories.filesAt(this.#repositories.tip("main"));
    this.#repositories.commit("main", withChanges(files, this.#changes(0, touches)));
  }

  async #tellBase(): Promise<void> {
    const host = this.#hostId;
    const event = { kind: "branch-pushed", host, repository: REPOSITORY, branch: "main", isDefault: true } as const;
    const mark = async (change: ChangeRequestRef) => {
      const turn = (this.#sent += 1);
      await this.#push({ kind: "marked", delivery: `marked-${turn}`, change, turn });
    };
    await tellPlanned(event, { ...this.#dependencies, ...this.#stores, publisher: { mark } });
    await this.#settle();
  }

  #push(event: HostEvent): Promise<boolean> {
    return this.#queue.push(event);
  }

  async #deliver(event: HostEvent): Promise<void> {
    await this.#push(event);
    await this.#settle();
    this.#fresh = event.kind === "updated" ? { number: event.change.number, by: "plan" } : undefined;
  }

  /** The service would take an error of the onlooker for one of its own. */
  async #watch<T>(look: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await look();
    } catch (error) {
      this.#broken ??= error as Error;
      return otherwise;
    }
  }

  async #settle(): Promise<void> {
    await this.#queue.idle();
    if (this.#broken === undefined) return;
    throw new Error(`${this.#broken.message}\n${this.#story()}`, { cause: this.#broken });
  }

  #note(number: number, what: string): void {
    this.#said.push(`${number}: ${what}`);
  }

  #story(): string {
    return this.#said.join("\n");
  }

  #origin(number: number) {
    return { delivery: `${this.#hostId}-${(this.#sent += 1)}`, change: this.#host.ref(number) };
  }

  /** Each change request has files of its own, and one that all of them change, so that some are in conflict. */
  #changes(number: number, touched: Touches): FileChanges {
    const value = String((this.#sent += 1));
    const names = NAMES.filter((_, index) => touched[index] === true);
    return Object.fromEntries(
      names.flatMap((name) => [
        [`apps/${name}/from-${number}.yaml`, configMap(`${name}-${number}`, { value })],
        ...(name === "db" ? [[`apps/${name}/configmap.yaml`, configMap(name, { value })]] : []),
      ]),
    ) as FileChanges;
  }
}
