import { afterEach, expect } from "@jest/globals";
import type { FileChanges, Forge, OpenRequest, SeenChangeRequest } from "../../sandbox/forge.js";
import { startSandbox, type SandboxWorld } from "../../sandbox/world.js";
import { repositoryName } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import type { HostId } from "../../src/names.js";
import { startService, type Service } from "../../src/service/service.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import type { Stores } from "../../src/store/stores.js";
import { recordExchanges } from "../contract-replay/recording.js";
import { compareCalls } from "../host-calls.js";
import { JumpClock } from "../jump-clock.js";
import { registerAuthorizations, registerSecretObjects } from "../secrets-in-logs/secrets-of.js";
import { untilIdle } from "../until-idle.js";
import { sharedPool } from "../workers/shared-pool.js";
import { configFor, HAS_BOTH_HOSTS, loggerFor, readingWith, SECRET, type BotOptions } from "./bot-options.js";
import { wordsOfOthers } from "./host-words.js";
import { applicationResource, asYaml, configMap, repositoryOf, type ApplicationOptions } from "./resources.js";

export { USUAL_RENDERS, nameOn, SECRET, type BotOptions } from "./bot-options.js";
export { SHORT, SIGIL } from "./host-words.js";
export const HOSTS: readonly HostId[] = ["hosta", "hostb"];
export const REPOSITORY = "acme/deploy";

const running = new Set<Bot>();

afterEach(async () => {
  const ends = [...running].map((bot) => bot.end());
  // One that fails must not leave the others running.
  await Promise.allSettled(ends);
  await Promise.all(ends);
});

/** The real service against the sandbox over HTTP, with signed webhooks, one code host and an Argo CD. */
export async function startBot(options: BotOptions): Promise<Bot> {
  const { host } = options;
  const world = await startSandbox({
    github: host === "hosta" || HAS_BOTH_HOSTS,
    gitlab: host === "hostb" || HAS_BOTH_HOSTS ? (options.gitlab ?? true) : false,
    argocd: options.argocd,
  });
  recordExchanges(world.argocd);
  try {
    return await furnish(world, options);
  } catch (error) {
    await world.stop();
    throw error;
  }
}

async function furnish(world: SandboxWorld, options: BotOptions): Promise<Bot> {
  const { host, applications = ["web", "api"] } = options;
  const forge = host === "hosta" ? world.github : world.gitlab;
  if (forge === undefined) throw new Error("the sandbox has no code host");
  const cloneUrl = `${forge.url}/${REPOSITORY}.git`;
  const resources = options.resources?.(cloneUrl) ?? {};
  const files = { ...repositoryOf(applications, cloneUrl, resources), ...options.files?.(cloneUrl) };
  registerSecretObjects(files);
  await forge.createRepository(REPOSITORY, withoutNull(files));
  for (const login of ["ana", "bo"]) forge.setAccess(REPOSITORY, login, "write");
  for (const name of applications) {
    world.argocd.addApplication(applicationResource(name, { repoURL: cloneUrl, ...resources[name] }));
  }
  await options.prepare?.(world, forge);
  const clock = new JumpClock();
  const stores = options.stores?.(clock) ?? createMemoryStores(clock);
  const overrides = {
    clock,
    stores,
    compute: options.compute === "own" ? undefined : (options.compute ?? sharedPool()),
    ...readingWith(options, world),
    ...(options.tracer && { tracer: options.tracer }),
  };
  const service = await startService(configFor(world, options), loggerFor(options), overrides);
  forge.connect({ url: `${service.url}/webhook/${host}`, secret: SECRET });
  const bot = new Bot({ host, world, forge, service, clock, stores, options });
  running.add(bot);
  return bot;
}

function withoutNull(files: FileChanges): FileChanges {
  return Object.fromEntries(Object.entries(files).filter(([, content]) => content !== null));
}

interface BotParts {
  readonly host: HostId;
  readonly world: SandboxWorld;
  readonly forge: Forge;
  readonly service: Service;
  readonly clock: JumpClock;
  readonly stores: Stores;
  readonly options: BotOptions;
}

/** A conversation with the service, as people on a code host have it. */
export class Bot {
  readonly host: HostId;
  readonly world: SandboxWorld;
  readonly forge: Forge;
  /** The one that runs now. */
  service: Service;
  readonly clock: JumpClock;
  readonly stores: Stores;
  /** Its present name. */
  repository = REPOSITORY;
  readonly #options: BotOptions;
  /** Applications that a command was allowed to touch. */
  readonly #expected = new Set<string>();
  readonly #opened: number[] = [];

  constructor(parts: BotParts) {
    this.host = parts.host;
    this.world = parts.world;
    this.forge = parts.forge;
    this.service = parts.service;
    this.clock = parts.clock;
    this.stores = parts.stores;
    this.#options = parts.options;
  }

  get argocd(): SandboxWorld["argocd"] {
    return this.world.argocd;
  }

  /** Opens a change request by `ana` and waits for what follows. */
  async open(changes: FileChanges, more: Partial<OpenRequest> = {}): Promise<number> {
    registerSecretObjects(changes);
    const number = await this.forge.open({ repository: this.repository, by: "ana", changes, ...more });
    this.#opened.push(number);
    await this.idle();
    return number;
  }

  /** Writes a comment and waits for the answer. */
  async comment(number: number, body: string, by = "ana"): Promise<void> {
    await this.forge.comment(this.repository, number, by, body);
    await this.idle();
  }

  async push(number: number, changes: FileChanges): Promise<string> {
    registerSecretObjects(changes);
    const commit = await this.forge.push(this.repository, number, changes);
    await this.idle();
    return commit;
  }

  async approve(number: number, by = "bo"): Promise<void> {
    await this.forge.review(this.repository, number, by, "approve");
    await this.idle();
  }

  async close(number: number): Promise<void> {
    await this.forge.close(this.repository, number);
    await this.idle();
  }

  /** Renames the repository, and has Argo CD read it there, as its operator would. */
  async rename(to: string, applications: readonly string[] = ["web", "api"]): Promise<void> {
    await this.forge.renameRepository(this.repository, to);
    this.repository = to;
    for (const name of applications) this.argocd.addApplication(this.resourceOf(name));
    await this.idle();
    // The service keeps the list of applications for ten seconds.
    this.clock.advance(10_000);
  }

  /** Lets something happen right before the code host or Argo CD works on the `nth` request of this kind from now on. */
  meanwhile(
    where: "forge" | "argocd",
    { nth = 1, ...request }: { readonly method?: string; readonly path: RegExp; readonly nth?: number },
    act: () => Promise<void> | void,
  ): void {
    const { faults } = this[where];
    if (nth > 1) faults.add({ ...request, times: nth - 1, fault: { kind: "meanwhile", act: () => undefined } });
    faults.add({ ...request, times: 1, fault: { kind: "meanwhile", act } });
  }

  /** Resolves when the code host or Argo CD gets the `nth` request of this kind from now on. */
  asked(where: "forge" | "argocd", request: Parameters<Bot["meanwhile"]>[1]): Promise<void> {
    return new Promise((resolve) => this.meanwhile(where, request, resolve));
  }

  /** Lets something happen once a plan of many applications is posted, while Kubernetes is still being asked about it. */
  whileAsked(act: () => Promise<void> | void): void {
    const question = { path: /\/application\.ApplicationService\/ServerSideDiff$/ };
    let release: () => void = () => undefined;
    const acted = new Promise<void>((resolve) => (release = resolve));
    // A plan is posted while its first question is under way, and only then are the others asked.
    this.meanwhile("argocd", question, () => acted);
    this.meanwhile("argocd", question, async () => {
      try {
        await act();
      } finally {
        release();
      }
    });
  }

  /** Webhooks that are sent during the act never reach the service. */
  async loseWebhooks(act: () => Promise<void>): Promise<void> {
    this.forge.connect({ url: `${this.service.url}/lost`, secret: SECRET });
    await act();
    await this.idle();
    this.forge.connect({ url: `${this.service.url}/webhook/${this.host}`, secret: SECRET });
  }

  /** Ends the service and starts it again with the same stores. */
  async restart(): Promise<void> {
    await this.idle();
    await this.service.close();
    const overrides = { clock: this.clock, stores: this.stores, compute: sharedPool() };
    const reading = readingWith(this.#options, this.world);
    const config = configFor(this.world, this.#options);
    this.service = await startService(config, loggerFor(this.#options), { ...overrides, ...reading });
    this.forge.connect({ url: `${this.service.url}/webhook/${this.host}`, secret: SECRET });
  }

  /** Until no webhook is on its way and nothing runs in the service. */
  idle(): Promise<void> {
    return untilIdle(this.forge, this.service);
  }

  seen(number: number): SeenChangeRequest {
    return this.forge.changeRequest(this.repository, number);
  }

  /** Bodies of the service's own comments, oldest first. */
  answers(number: number): readonly string[] {
    const people = new Set(["ana", "bo", "olga"]);
    return this.seen(number)
      .comments.filter(({ author }) => !people.has(author))
      .map(({ body }) => body);
  }

  lastComment(number: number): string {
    return this.answers(number).at(-1) ?? "";
  }

  ref(number: number): ChangeRequestRef {
    const repositoryId = this.forge.repositoryId(this.repository);
    return { host: this.host, repository: repositoryName(this.repository), repositoryId, number };
  }

  /** An Application resource whose source is the scenario's repository. */
  resourceOf(name: string, more: Partial<ApplicationOptions> = {}): object {
    return applicationResource(name, { repoURL: this.forge.cloneUrl(this.repository), ...more });
  }

  /** Names of the applications that this change request has locked. */
  async locked(number: number): Promise<readonly string[]> {
    return (await this.stores.locks.list(this.ref(number))).map(({ application }) => application);
  }

  /** A commit in which the definition of an application points at another folder; its live value becomes the path. */
  moved(name: string, path = "apps/moved"): FileChanges {
    return {
      [`argocd/${name}.yaml`]: asYaml(this.resourceOf(name, { path })),
      [`${path}/configmap.yaml`]: configMap(name, { value: path }),
    };
  }

  /** Applications that this change request has a record "deployed, not merged" of. */
  async deployed(number: number): Promise<readonly string[]> {
    return (await this.stores.deployments.ofChange(this.ref(number))).map(({ application }) => application);
  }

  /** A value in a live ConfigMap of the cluster, in the usual namespace or in one of the name of the ConfigMap (`apart`). */
  liveValue(name: string, key = "value"): string | undefined {
    const found = ["guestbook", name].map((namespace) => this.argocd.liveObject("ConfigMap", namespace, name));
    const [data] = found.filter((one) => one !== undefined) as { data?: Record<string, string> }[];
    return data?.data?.[key];
  }

  /** What accounts did to real Applications, as `verb name`. */
  changes(): readonly string[] {
    return this.argocd.changes.map(({ verb, object }) => `${verb} ${object.replace(/^argocd\//, "")}`);
  }

  /** Declares that these commands were asked for: every other change of a real Application fails the scenario. */
  expectChanges(...changes: readonly string[]): void {
    for (const change of changes) this.#expected.add(change);
  }

  /** Ends the scenario: both sides were honest, and nothing temporary or unasked-for is left behind. */
  async end(): Promise<void> {
    running.delete(this);
    try {
      await this.idle();
      this.forge.faults.clear();
      this.argocd.faults.clear();
      this.clock.advance(24 * 60 * 60 * 1000);
      await this.service.sweep();
      expect(this.argocd.temporaryApplications()).toEqual([]);
      expect(this.forge.violations).toEqual([]);
      expect(compareCalls(this.forge).undescribed).toEqual([]);
      expect(this.argocd.violations).toEqual([]);
      if (this.#options.checkWords !== false) {
        const answers = this.#opened.flatMap((number) => this.answers(number));
        expect(wordsOfOthers(this.host, answers)).toEqual([]);
      }
      if (this.#options.checkChanges !== false) {
        expect(this.changes().filter((change) => !this.#expected.has(change))).toEqual([]);
      }
    } finally {
      registerAuthorizations(this.forge.requests);
      await this.service.close();
      await this.world.stop();
    }
  }
}
