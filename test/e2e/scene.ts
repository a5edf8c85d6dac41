import { pino } from "pino";
import { stringify } from "yaml";
import type { Forge } from "../../sandbox/forge.js";
import { appKeys, GITHUB_APP, GITLAB_TOKEN, startForges, type Forges } from "../../sandbox/world.js";
import { loadServerConfig } from "../../src/config/server/server.js";
import { SERVER_FILE, WEBHOOK_PATHS, type HostId } from "../../src/names.js";
import { startService, type Overrides } from "../../src/service/service.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { Conversation } from "./conversation.js";
import { repositoryFiles, type Setting } from "./files.js";
import { openGitGate, type GitGate } from "./git-gate.js";
import type { E2eOptions } from "./options.js";
import { runName, type Place } from "./own-objects.js";
import type { Waiting } from "./waiting.js";

const SECRET = "e2e-webhook-secret";

/** One host with its repository. */
export interface Act {
  readonly talk: Conversation;
  readonly setting: Setting;
}

/** The code hosts in miniature, the git server for Argo CD, and svc itself between them and Argo CD. */
export interface Scene {
  readonly acts: readonly Act[];
  readonly gate: GitGate;
  /** Ends svc; Argo CD may still read from the git server. */
  endService(): Promise<void>;
  close(): Promise<void>;
}

export interface SceneParts {
  readonly options: E2eOptions;
  readonly id: string;
  readonly place: Place;
  readonly waiting: Waiting;
  readonly overrides?: Pick<Overrides, "compute" | "startGit">;
  /** Takes the lines of svc's log. */
  readonly log: (line: string) => void;
}

/** Starts everything but Argo CD. @throws {Error} with nothing left running. */
export async function startScene(parts: SceneParts): Promise<Scene> {
  const { hosts } = parts.options;
  const forges = await startForges({ github: hosts.includes("hosta"), gitlab: hosts.includes("hostb") });
  const opened: { close(): Promise<unknown> }[] = [{ close: () => forges.stop() }];
  const close = async () => {
    for (const one of [...opened].reverse()) await one.close();
  };
  try {
    const gate = await openGitGate(forges, parts.options.git);
    opened.push(gate);
    const { clock } = parts.waiting;
    const logger = pino({ level: parts.options.log ?? "silent" }, { write: parts.log });
    const service = await startService(configOf(parts, forges, gate), logger, {
      ...parts.overrides,
      clock,
      stores: createMemoryStores(clock),
    });
    let ending: Promise<void> | undefined;
    const endService = () => (ending ??= service.close());
    opened.push({ close: endService });
    const acts: Act[] = [];
    for (const host of hosts) {
      const forge = forgeOf(forges, host);
      const setting = settingOf(parts, forge, gate);
      const repository = repositoryOf(parts.id, forge);
      await forge.createRepository(repository, repositoryFiles(setting));
      for (const login of ["ana", "bo"]) forge.setAccess(repository, login, "write");
      forge.connect({ url: `${service.url}${WEBHOOK_PATHS[host]}`, secret: SECRET });
      acts.push({ setting, talk: new Conversation(host, repository, forge, service) });
    }
    return { acts, gate, endService, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Its name holds the run's id: Argo CD keeps what it read from an address for minutes. */
function repositoryOf(id: string, { title }: Forge): string {
  return `${runName(id)}/${title.toLowerCase()}`;
}

function settingOf({ id, place }: SceneParts, forge: Forge, gate: GitGate): Setting {
  const prefix = `${runName(id)}-${forge.title.toLowerCase()}`;
  return { prefix, place, repoURL: `${gate.url}/${repositoryOf(id, forge)}.git` };
}

function forgeOf({ github, gitlab }: Forges, host: HostId): Forge {
  const forge = host === "hosta" ? github : gitlab;
  if (forge === undefined) throw new Error(`the host ${host} was not started`);
  return forge;
}

/** svc's defaults, but for the merge. Hosts are on loopback for svc, and have the git server's name for Argo CD. */
function configOf({ options }: SceneParts, { github, gitlab }: Forges, gate: GitGate) {
  const { url, token, insecure } = options.argocd;
  const aliases = [new URL(gate.url).hostname];
  const sections = {
    server: { host: "127.0.0.1", port: 0, shutdown_grace: "5s" },
    deployer: { server_url: url, token, insecure, sync_timeout: "3m" },
    ...(github && {
      hosta: {
        app_id: GITHUB_APP.id,
        private_key: appKeys().privateKey,
        webhook_secret: SECRET,
        api_url: github.apiUrl,
        web_url: github.url,
        aliases,
      },
    }),
    ...(gitlab && { hostb: { url: gitlab.url, token: GITLAB_TOKEN, webhook_secret: SECRET, aliases } }),
    comments: { nothing_affected: "comment" },
  };
  const loaded = loadServerConfig([{ name: SERVER_FILE, text: stringify(sections) }], {});
  if (loaded.kind === "valid") return loaded.config;
  throw new Error(`svc's configuration for this run: ${JSON.stringify(loaded.problems)}`);
}
