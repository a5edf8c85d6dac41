import type { Tracer } from "@opentelemetry/api";
import { pino } from "pino";
import { stringify } from "yaml";
import type { ArgoCdOptions } from "../../sandbox/argocd/argocd.js";
import type { FileChanges, Forge } from "../../sandbox/forge.js";
import { appKeys, GITHUB_APP, GITLAB_TOKEN, type SandboxWorld } from "../../sandbox/world.js";
import { loadServerConfig } from "../../src/config/server/server.js";
import type { Compute } from "../../src/core/ports/compute.js";
import { HOST_PREFIXES, type HostId } from "../../src/names.js";
import type { Overrides } from "../../src/service/service.js";
import type { Stores } from "../../src/store/stores.js";
import { startGitElsewhere } from "../git/git-launcher.js";
import { StoredRepositories } from "../in-memory/stored-repositories.js";
import type { JumpClock } from "../jump-clock.js";
import { keepLog, keepsLogs } from "../secrets-in-logs/kept-logs.js";
import { registerSecretFields } from "../secrets-in-logs/secrets-of.js";
import type { ApplicationOptions } from "./resources.js";

export const SECRET = "sandbox-webhook-secret";

/**
 * `npm run test:worlds` plays the attacks in other worlds as well: with both hosts configured, against the live cluster, and with
 * temporary Applications for every render. What a test configures itself wins.
 */
const WORLDS = { "both-hosts": {}, live: { diff_mode: "live" }, always: { temporary_apps: "always" } } as const;
const WORLD = Object.entries(WORLDS).find(([name]) => name === process.env.SVC_TEST_WORLD);

/** Whether a service under test is configured for both hosts, whichever one its people use. */
export const HAS_BOTH_HOSTS = WORLD?.[0] === "both-hosts";

/** A name as settings and annotations need it: with both hosts, it says which one is meant. */
export function nameOn(host: HostId, name: string): string {
  return HAS_BOTH_HOSTS ? `${HOST_PREFIXES[host][0]}:${name}` : name;
}

/** For tests that look at the text of a diff, or at renders by the application's name, which differ in other worlds. */
export const USUAL_RENDERS = { deployer: { diff_mode: "branch", temporary_apps: "auto" } };

type Settings = Readonly<Record<string, unknown>>;
type Sections = Readonly<Record<string, Settings | readonly Settings[] | readonly string[]>>;

export interface BotOptions {
  readonly host: HostId;
  /** Names of applications that Argo CD runs and the repository describes; `web` and `api` when absent. */
  readonly applications?: readonly string[];
  /** What is different about some of these applications, in Argo CD and in the repository's files alike. */
  readonly resources?: (cloneUrl: string) => Readonly<Record<string, Partial<ApplicationOptions>>>;
  /** More files of the repository's main branch; `null` takes one away. */
  readonly files?: (cloneUrl: string) => FileChanges;
  /** Sections of `svc.yaml`, laid over those that point at the sandbox. */
  readonly config?: Sections | ((world: SandboxWorld) => Sections);
  /** Environment variables of the service; none when absent. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly argocd?: Partial<ArgoCdOptions>;
  /** True where svc has no secret of a webhook, because it polls. */
  readonly hookless?: boolean;
  readonly gitlab?: { readonly edition: "ce" | "free" | "premium" };
  /** The store; an embedded one when absent. */
  readonly stores?: (clock: JumpClock) => Stores;
  /** Objects of the world are prepared before the service starts. */
  readonly prepare?: (world: SandboxWorld, forge: Forge) => Promise<void> | void;
  /** Where the log goes; nowhere when absent. */
  readonly log?: (line: string) => void;
  /** True for scenarios about git: the service fetches with it, over HTTP. In others it reads repositories in memory. */
  readonly git?: boolean;
  /** Traces what the service does. */
  readonly tracer?: Tracer;
  /** Worker threads; those of this process when absent. `own`: the service starts some. */
  readonly compute?: Compute | "own";
  /** False for scenarios that change real Applications on purpose by other means than the service. */
  readonly checkChanges?: boolean;
  /** False where comments quote hostile texts, whose words are not ours. */
  readonly checkWords?: boolean;
}

/** Signed webhooks need no secret token. */
function isSigned({ hostb }: Readonly<Record<string, unknown>>): boolean {
  return typeof hostb === "object" && hostb !== null && "signing_token" in hostb;
}

/** The other host of a world of both is not polled. */
function isHookless(host: HostId, options: BotOptions): boolean {
  return options.hookless === true && options.host === host;
}

/** The configuration goes through the real parser. */
export function configFor(world: SandboxWorld, options: BotOptions) {
  const config = typeof options.config === "function" ? options.config(world) : (options.config ?? {});
  const sections: Record<string, unknown> = {
    server: { host: "127.0.0.1", port: 0, base_url: "http://svc.example.com", log_level: "debug" },
    // Scenarios about what Kubernetes says turn it on: it costs two calls for each changed application.
    deployer: { server_url: world.argocd.url, token: world.argocdToken, server_dry_run: "off", ...WORLD?.[1] },
    ...(world.github === undefined
      ? {}
      : {
          hosta: {
            app_id: GITHUB_APP.id,
            private_key: appKeys().privateKey,
            ...(isHookless("hosta", options) ? {} : { webhook_secret: SECRET }),
            api_url: world.github.apiUrl,
            web_url: world.github.url,
          },
        }),
    ...(world.gitlab === undefined
      ? {}
      : {
          hostb: {
            url: world.gitlab.url,
            token: GITLAB_TOKEN,
            ...(isSigned(config) || isHookless("hostb", options) ? {} : { webhook_secret: SECRET }),
          },
        }),
  };
  registerSecretFields(sections);
  registerSecretFields(config);
  const laid = Object.keys(config).length === 0 ? [] : [{ name: "test.yaml", text: stringify(config) }];
  const loaded = loadServerConfig([{ name: "svc.yaml", text: stringify(sections) }, ...laid], options.variables ?? {});
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

/** How a service under test reads repositories. The nightly has git everywhere. */
export function readingWith({ git }: Pick<BotOptions, "git">, world: SandboxWorld): Partial<Overrides> {
  if (git === true || process.env.SVC_NIGHTLY === "1") return { startGit: startGitElsewhere };
  return { repositories: new StoredRepositories((url) => world.repository(url)) };
}

/** At level debug wherever somebody looks at the lines: the scenario, or the search for secrets behind the whole run. */
export function loggerFor({ log }: BotOptions) {
  const shown = process.env.SVC_TEST_LOG;
  if (shown !== undefined && log === undefined) return pino({ level: shown });
  const write = (line: string) => {
    keepLog(line);
    log?.(line);
  };
  return pino({ level: log !== undefined || keepsLogs() ? "debug" : "silent" }, { write });
}
