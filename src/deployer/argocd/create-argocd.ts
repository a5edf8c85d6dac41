import type { Clock } from "../../core/ports/clock.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import { nameOfResource } from "./application-names.js";
import { applicationsOfSet, findApplicationSet, listApplicationSets } from "./application-sets.js";
import { createApplications } from "./applications.js";
import { check } from "./check.js";
import { createClient } from "./client.js";
import type { ArgoCdConfig } from "./config.js";
import { expandApplicationSet } from "./expand-application-set.js";
import { keep } from "./kept.js";
import { createLiveResources } from "./live-resources.js";
import { createRender } from "./render.js";
import { createServerSettings } from "./server-settings.js";
import { sweep } from "./sweep.js";
import { createSync } from "./sync.js";
import { updateSpec } from "./update-spec.js";

/**
 * Argo CD 2.13 and newer over its REST API. Methods throw `DeployerFailure`, or the reason of an aborted signal.
 * `close` waits for the requests that run and then drops the connections.
 */
export function createArgoCd(
  config: ArgoCdConfig,
  parts: { clock: Clock; log: Log },
): Deployer & { close(): Promise<void> } {
  const { clock, log } = parts;
  const client = createClient(config, parts);
  const serverSettings = createServerSettings(client, clock);
  const applications = createApplications({ client, clock, log, serverSettings });
  const sets = keep(async () => listApplicationSets(client, await serverSettings(), log), clock);
  const render = createRender(config, { client, clock, log, serverSettings });
  const liveResources = createLiveResources(config, { client, log });
  const sync = createSync(config, { client, clock, log });

  return {
    check: () => check(client),

    async naming() {
      const { controllerNamespace } = await serverSettings();
      return (namespace, name) => nameOfResource(namespace, name, controllerNamespace);
    },

    listApplications: (signal) => applications.list(signal),
    findApplication: (name, signal) => applications.find(name, signal),
    renderManifests: (request, signal) => render(request, signal),

    async renderingSettings() {
      return (await serverSettings()).digest;
    },

    liveResources: (application, signal) => liveResources(application, signal),

    async expandApplicationSet(set, signal) {
      // Git generators make Argo CD fetch the repository, as a render does.
      return expandApplicationSet(client, await serverSettings(), set, { timeoutMs: config.renderTimeoutMs, signal });
    },

    listApplicationSets: (signal) => sets.get(signal),

    async findApplicationSet(set, signal) {
      return findApplicationSet(client, await serverSettings(), set, signal);
    },

    async applicationsOfSet(set, signal) {
      return applicationsOfSet(client, await serverSettings(), set, { timeoutMs: config.renderTimeoutMs, signal });
    },

    async updateSpec(application, spec) {
      applications.forget();
      await updateSpec({ client, clock }, application, spec);
    },

    sync: (request) => sync.run(request),
    follow: (request) => sync.follow(request),
    findOutcome: (lookup) => sync.find(lookup),
    sweep: async (now) => sweep({ client, clock, log, settings: await serverSettings() }, now),
    close: () => client.close(),
  };
}
