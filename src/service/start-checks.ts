import type { ServerConfig } from "../config/server-config.js";
import { safeMessage } from "../core/model/errors.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { Log } from "../core/ports/log.js";
import { DEPLOYER_TITLE, HOST_TITLES, STORE_TITLE, WEBHOOK_PATHS } from "../names.js";

export interface StartParts {
  readonly config: ServerConfig;
  readonly hosts: readonly CodeHost[];
  readonly deployer: Deployer;
  readonly ping: () => Promise<void>;
  readonly log: Log;
}

/**
 * Asks every outside system once whether it is there and knows our credentials. What is missing is logged with the cure;
 * the service serves meanwhile, and every command that needs the missing one says so in its reply.
 */
export async function checkAtStart(parts: StartParts): Promise<void> {
  const { config, hosts, deployer, ping, log } = parts;
  await Promise.all([
    ...hosts.map(async (host) => {
      const title = HOST_TITLES[host.id];
      await tell(log, title, CURES[host.id], async () => {
        const self = await host.self();
        log.info({ account: self.login, webhook: WEBHOOK_PATHS[host.id] }, `connected to ${title}`);
      });
    }),
    tell(log, DEPLOYER_TITLE, CURES.deployer, async () => {
      const { version, account } = await deployer.check();
      log.info({ version, account, url: config.deployer.serverUrl }, `connected to ${DEPLOYER_TITLE}`);
    }),
    tell(log, STORE_TITLE, CURES.store, ping),
  ]);
}

const CURES = {
  hosta: "check hosta.app_id, hosta.private_key and hosta.api_url, and that the server may reach GitHub",
  hostb: "check hostb.url and hostb.token (scope api), and that the server may reach GitLab",
  deployer: "check deployer.server_url, deployer.token and, for a self-signed certificate, deployer.insecure",
  store: "check kvstore.address and kvstore.password; commands are answered with `failed to acquire lock` meanwhile",
};

async function tell(log: Log, system: string, cure: string, ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    log.error({ system, problem: safeMessage(error), cure, err: error }, `not usable at start: ${system}`);
  }
}
