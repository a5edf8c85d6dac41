import { pino } from "pino";
import { type CheckResult, emptyStages } from "../config/check.js";
import { allowsOwner, allowsRepository, namesHost, withEachHost } from "../config/repository-names.js";
import { NO_FILE } from "../config/repository/repository-schema.js";
import { resolveSettings } from "../config/rules/settings.js";
import type { ServerConfig } from "../config/server/server.js";
import { type Application, destinationOf, projectOf, sourcesOf } from "../core/model/application.js";
import type { ApplicationName, RepositoryName } from "../core/model/brand.js";
import { groupedBy } from "../core/model/collections.js";
import { DeployerFailure, HostFailure } from "../core/model/errors.js";
import { listed } from "../core/model/host-words.js";
import type { AccessRule, Settings } from "../core/model/settings.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { Log } from "../core/ports/log.js";
import { withoutCredentials } from "../core/secrets/hide-in-text.js";
import { HOSTS } from "../hosts/registry.js";
import { HOST_IDS, type HostId, LABELS } from "../names.js";
import { createTelemetry } from "../observe/telemetry.js";
import { createWorkerPool } from "../workers/worker-pool.js";
import { createAdapters } from "./adapters.js";
import { systemClock } from "./service.js";
import { checkAtStart } from "./start-checks.js";

/** Runs the checks of a start without starting, and returns a line for each finding. */
export async function checkOnline(
  config: ServerConfig,
  files: Parameters<typeof emptyStages>[0] = [],
): Promise<CheckResult> {
  const log = pino({ level: "silent" });
  const telemetry = await createTelemetry({ ...config.server, metricsPort: undefined }, [], undefined, log);
  const compute = createWorkerPool();
  const adapters = await createAdapters({ config, telemetry, stores: undefined, compute, clock: systemClock, log });
  const { deployer, stores } = adapters;
  const hosts = Object.values(adapters.hosts);
  const found = new Findings();
  try {
    await checkAtStart({ config, hosts, deployer, ping: () => stores.ping(), log: found });
    // Without Argo CD there is nothing to compare the rules with, and the check has said so.
    if (!found.bad) {
      await lookAtApplications(deployer, config, files, found);
      for (const host of hosts) await lookAtHost(host, config, found);
    }
  } finally {
    await Promise.all([adapters.close(), telemetry.close(), compute.close()]);
  }
  return { lines: found.lines, exitCode: found.bad ? 1 : 0 };
}

async function lookAtApplications(
  deployer: Deployer,
  config: ServerConfig,
  files: Parameters<typeof emptyStages>[0],
  found: Findings,
): Promise<void> {
  let applications: readonly Application[];
  try {
    applications = await deployer.listApplications(new AbortController().signal);
  } catch (error) {
    if (!(error instanceof DeployerFailure)) throw error;
    found.lines.push(`could not list the applications: ${error.message}`);
    found.bad = true;
    return;
  }
  const names = applications.map(({ name }) => name);
  found.lines.push(...checkRules(applications, config).map((line) => `warning: ${line}`), ...emptyStages(files, names));
  await found.look("what Argo CD compares", async () => uncomparable(applications, await deployer.uncompared()));
}

async function lookAtHost(host: CodeHost, config: ServerConfig, found: Findings): Promise<void> {
  const { title } = HOSTS[host.id];
  const polls = (config[host.id]?.poll ?? "off") !== "off";
  await found.look("the installations of the App", async () =>
    installedOutside(host.id, await host.installedOn(), config),
  );
  await found.look(`the repositories on ${title}`, async () => {
    const served = await servedBy(host, config);
    if (polls && served.length === 0) found.warn(noRepository(host.id), NOTHING_TO_POLL);
    return queueWarnings(host, served);
  });
  if (!polls) await found.look(`the webhooks of ${title}`, () => webhookWarnings(host, config));
}

/** Installations of a public App by strangers: nobody can prevent them, and their events are ignored. */
function installedOutside(host: HostId, owners: readonly string[], { defaults }: ServerConfig): readonly string[] {
  return owners
    .filter((owner) => !allowsOwner(defaults.allowedRepos, host, owner))
    .map(
      (owner) =>
        `warning: the App is installed on ${owner}, of which defaults.allowed_repos names no repository: its events are ignored. Uninstall it there, or name them`,
    );
}

/** Only the host knows whether its webhooks arrive. They cannot before svc runs, so this is no mistake. */
async function webhookWarnings(host: CodeHost, { defaults }: ServerConfig): Promise<readonly string[]> {
  const problems = await host.webhookProblems((name) => allowsRepository(defaults.allowedRepos, host.id, name));
  return problems.map((problem) => `warning: ${problem}`);
}

/** Each costs a call or two. */
const MOST_LOOKED_AT = 20;

async function queueWarnings(host: CodeHost, served: readonly RepositoryName[]): Promise<readonly string[]> {
  const problems = await host.queueProblems(served.slice(0, MOST_LOOKED_AT));
  const rest = served.length - MOST_LOOKED_AT;
  const more =
    rest > 0 ? [`${rest} more repositories on ${HOSTS[host.id].title} were not looked at for merge queues`] : [];
  return [...problems, ...more].map((problem) => `warning: ${problem}`);
}

/** Applications whose plans would fail as Argo CD's own comparison does. */
function uncomparable(
  applications: readonly Application[],
  reasons: ReadonlyMap<ApplicationName, string>,
): readonly string[] {
  const failed = applications.flatMap(({ name, spec }) => {
    const reason = reasons.get(name);
    const from = [...new Set(sourcesOf(spec).map(({ repoURL }) => withoutCredentials(repoURL, "addresses")))];
    return reason === undefined ? [] : [`warning: Argo CD cannot compare ${name} (${from.join(", ")}): ${reason}`];
  });
  if (failed.length === 0) return [];
  const more = failed.length > MOST_NAMED ? [`warning: and ${failed.length - MOST_NAMED} more`] : [];
  const cure =
    "warning: where it cannot read a repository, give it credentials (argocd repo add, or Settings, Repositories); otherwise fix the source. Plans fail until then";
  return [...failed.slice(0, MOST_NAMED), ...more, cure];
}

async function servedBy(host: CodeHost, config: ServerConfig): Promise<readonly RepositoryName[]> {
  const { allowedRepos } = config.defaults;
  const listed = await host.repositories((owner) => allowsOwner(allowedRepos, host.id, owner));
  return listed.filter((name) => allowsRepository(allowedRepos, host.id, name));
}

const NOTHING_TO_POLL = "there is nothing to poll";

function noRepository(host: HostId): { readonly problem: string; readonly cure: string } {
  const { title, unlisted } = HOSTS[host];
  return {
    problem: `${title} shows svc no repository that defaults.allowed_repos names`,
    cure: `${unlisted}, and check the names`,
  };
}

/** Collects the lines that a start would log. */
class Findings implements Log {
  readonly lines: string[] = [];
  bad = false;

  debug(): void {
    return;
  }

  info(_fields: object, text: string): void {
    this.lines.push(text);
  }

  warn(fields: object, text: string): void {
    this.#add(fields, text);
  }

  error(fields: object, text: string): void {
    this.#add(fields, text);
  }

  child(): Log {
    return this;
  }

  /** Adds what it finds, or a warning that it could not look: the service runs without. */
  async look(at: string, find: () => Promise<readonly string[]>): Promise<void> {
    try {
      this.lines.push(...(await find()));
    } catch (error) {
      if (!(error instanceof HostFailure || error instanceof DeployerFailure)) throw error;
      this.lines.push(`warning: could not look at ${at}: ${error.message}`);
    }
  }

  #add(fields: object, text: string): void {
    this.bad = true;
    const { problem, cure } = { problem: "", cure: "", ...fields };
    const parts = [text, problem, cure].filter((part) => part !== "");
    this.lines.push(parts.map((part, index) => (index < parts.length - 1 ? part.replace(/\.$/, "") : part)).join(": "));
  }
}

const MOST_NAMED = 5;

/**
 * Mistakes in the server's rules and in annotations that only the running applications show: names of repositories that may
 * be on either host, and lists that together allow nobody. Does not know the rules in repositories' files, nor who is in a
 * team.
 */
export function checkRules(applications: readonly Application[], config: ServerConfig): readonly string[] {
  const hosts = HOST_IDS.filter((id) => config[id] !== undefined);
  const [unmetOnFirst = [], ...unmetOnOthers] = hosts.map((host) => {
    const file = { file: NO_FILE, earlier: undefined };
    const files = { base: file, defaultBranch: undefined, head: NO_FILE, changed: false };
    return unmet(applications, resolveSettings(config.defaults, config, files, host).settings);
  });
  return [
    ...(hosts.length > 1 ? applications.flatMap((one) => annotationWithoutHost(one)) : []),
    // Lists that name people of one host alone allow nobody on the other, as they should.
    ...unmetOnFirst.filter((line) => unmetOnOthers.every((lines) => lines.includes(line))),
  ];
}

function annotationWithoutHost({ name, annotations }: Application): readonly string[] {
  const named = annotations[LABELS.repository]?.trim();
  if (named === undefined || namesHost(named)) return [];
  return [
    `${name}: the annotation ${LABELS.repository} names no host, so it gives no right: write ${withEachHost(HOST_IDS, named)}`,
  ];
}

/** The rules of all applications that deploy to a namespace hold for each of them. */
function unmet(applications: readonly Application[], settings: Pick<Settings, "accessTo">): readonly string[] {
  const places = groupedBy(applications, ({ spec }) => {
    const { cluster, namespace } = destinationOf(spec);
    return `the namespace ${namespace} of ${cluster}`;
  });
  return [...places].flatMap(([place, some]) => {
    const rules = some.flatMap(({ name, spec }) => {
      const { cluster, namespace } = destinationOf(spec);
      return settings.accessTo({ name, project: projectOf(spec), cluster, namespaces: [namespace] }, "sync");
    });
    if (!allowNobody(rules)) return [];
    const names = listed(
      some.map(({ name }) => name),
      MOST_NAMED,
    );
    return [
      `sync_requirements: nobody may sync what deploys to ${place} (${names}): no person is in all lists that hold there`,
    ];
  });
}

function allowNobody(rules: readonly AccessRule[]): boolean {
  const people = rules
    .filter(({ teams }) => teams.length === 0)
    .map(({ users }) => users.map((one) => one.toLowerCase()));
  const [first, ...others] = people;
  return first !== undefined && others.length > 0 && !first.some((one) => others.every((list) => list.includes(one)));
}
