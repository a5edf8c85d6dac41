import { runCommand } from "../../../src/core/commands/commands.js";
import { createDetectionCaches, openSnapshot } from "../../../src/core/detect/inputs/snapshot.js";
import { applicationName, repositoryName } from "../../../src/core/model/brand.js";
import type { ChangeRequest } from "../../../src/core/model/change-request.js";
import type { Command } from "../../../src/core/model/command.js";
import type { CommandResult, Refusal } from "../../../src/core/model/result.js";
import type { CommandContext } from "../../../src/core/ports/context.js";
import type { Snapshot } from "../../../src/core/ports/snapshot.js";
import { createRenderCache } from "../../../src/core/render/render.js";
import { createMemoryStores } from "../../../src/store/memory/memory-stores.js";
import { noDelay } from "../../in-memory/delay.js";
import { INLINE_READING } from "../../in-memory/inline-compute.js";
import { MemoryDeployer } from "../../in-memory/memory-deployer.js";
import { MemoryHost } from "../../in-memory/memory-host.js";
import { MemoryRepositories, withChanges, type FileChanges } from "../../in-memory/memory-repositories.js";
import { commandPorts } from "../../in-memory/run-dependencies.js";
import { JumpClock } from "../../jump-clock.js";
import { recordingLog } from "../../recording-log.js";
import { applicationResource, asYaml, configMap } from "../../scenarios/resources.js";
import { sampleSettings } from "../sample-settings.js";

export const WEB = applicationName("web");
export const API = applicationName("api");
export const ANA = { id: "1", login: "ana", bot: false };
const URL = "https://git.example.com/acme/deploy.git";

export const PLAN: Command = { name: "plan", applications: [] };
export const SYNC: Command = { name: "sync", applications: [], dryRun: false, prune: false };
export const ROLLBACK: Command = { name: "rollback", applications: [], dryRun: false, prune: false };

/** The outside world of the core's commands in memory: `web` and `api` run in Argo CD, and the repository describes both. */
export class CommandWorld {
  readonly clock = new JumpClock();
  readonly log = recordingLog();
  readonly renders = createRenderCache(this.clock);
  readonly stores = createMemoryStores(this.clock);
  readonly repositories = new MemoryRepositories(noDelay);
  readonly deployer = new MemoryDeployer(this.repositories, noDelay);
  readonly host: MemoryHost;
  readonly #detection = createDetectionCaches();

  constructor() {
    this.repositories.commit(
      "main",
      withChanges({}, { ...config(WEB, "1"), ...config(API, "1"), ...definition(WEB), ...definition(API) }),
    );
    for (const name of [WEB, API]) this.deployer.add(name, spec(name));
    this.host = new MemoryHost({
      id: "hostb",
      repository: repositoryName("acme/deploy"),
      repositories: this.repositories,
      delay: noDelay,
    });
  }

  /** Opens a change request and returns its number. */
  open(changes: FileChanges): number {
    return this.host.open(changes, ANA).number;
  }

  async #snapshot(change: ChangeRequest): Promise<Snapshot> {
    const repository = await this.repositories.open(change, await this.host.cloneSource(change));
    return openSnapshot(repository, this.#detection, INLINE_READING);
  }

  async context(number: number, more: Partial<CommandContext> = {}): Promise<CommandContext> {
    const change = this.host.facts(number);
    return {
      ...this.stores,
      ...commandPorts(this),
      renders: this.renders,
      change,
      settings: sampleSettings(),
      snapshot: await this.#snapshot(change),
      host: this.host,
      user: ANA,
      automatic: true,
      runId: "run",
      reload: async (fresh) => ({
        settings: sampleSettings(),
        problems: [],
        snapshot: await this.#snapshot(fresh),
      }),
      signal: new AbortController().signal,
      progress: () => undefined,
      noteStarted: async () => undefined,
      deployer: this.deployer,
      ...more,
    };
  }

  async run(number: number, command: Command, more: Partial<CommandContext> = {}): Promise<CommandResult> {
    return runCommand(command, await this.context(number, more));
  }

  /** `web` to the number of its holder, and so on. */
  async holders(): Promise<Readonly<Record<string, number>>> {
    const locks = await this.stores.locks.list();
    return Object.fromEntries(locks.map(({ application, holder }) => [application, holder.number]));
  }
}

/** A change of what `name` deploys. */
export function config(name: string, value: string): FileChanges {
  return { [`apps/${name}/configmap.yaml`]: configMap(name, { value }) };
}

/** The Application resource of `name`, which deploys to this namespace. */
export function definition(name: string, variant?: string): Record<string, string> {
  return { [`argocd/${name}.yaml`]: asYaml(applicationResource(name, { repoURL: URL, spec: spec(name, variant) })) };
}

export function spec(name: string, variant?: string) {
  return {
    project: "default",
    source: { repoURL: URL, path: `apps/${name}`, targetRevision: "main" },
    destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
    ...(variant === undefined ? {} : { info: [{ name: "variant", value: variant }] }),
  };
}

export function planned(result: CommandResult) {
  if (result.kind !== "planned") throw new Error(JSON.stringify(result));
  return result.plan;
}

export function synced(result: CommandResult) {
  if (result.kind !== "synced" && result.kind !== "rolled-back") throw new Error(JSON.stringify(result));
  return result.applications;
}

export function refused(result: CommandResult): Refusal {
  if (result.kind !== "refused") throw new Error(JSON.stringify(result));
  return result.refusal;
}
