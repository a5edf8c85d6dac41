import type { ServerConfig } from "../config/server/server.js";
import { safeMessage } from "../core/model/errors.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { Log } from "../core/ports/log.js";
import { HOSTS } from "../hosts/registry.js";
import { DEPLOYER_TITLE, STORE_TITLE, WEBHOOK_PATHS } from "../names.js";

interface StartParts {
  readonly config: ServerConfig;
  readonly hosts: readonly CodeHost[];
  readonly deployer: Deployer;
  readonly ping: () => Promise<void>;
  readonly log: Log;
}

const DEPLOYER_CURE = "check deployer.server_url, deployer.token and, for a self-signed certificate, deployer.insecure";
const STORE_CURE =
  "check kvstore.address and kvstore.password; until it is available, commands are answered with `failed to acquire lock`";

/**
 * Checks once that every outside system is reachable and accepts our credentials, and logs the cure where it does not.
 * The service starts anyway; commands that need a missing system say so.
 */
export async function checkAtStart({ config, hosts, deployer, ping, log }: StartParts): Promise<void> {
  await Promise.all([
    ...hosts.map(async (host) => {
      const { title, cure } = HOSTS[host.id];
      await check(log, title, cure, async () => {
        const self = await host.self();
        log.info({ account: self.login, webhook: WEBHOOK_PATHS[host.id] }, `connected to ${title}`);
        await checkPermissions(host, title, log);
      });
    }),
    check(log, DEPLOYER_TITLE, DEPLOYER_CURE, async () => {
      const { version, account } = await deployer.check();
      log.info({ version, account, url: config.deployer.serverUrl }, `connected to ${DEPLOYER_TITLE}`);
    }),
    check(log, STORE_TITLE, STORE_CURE, ping),
  ]);
}

async function checkPermissions(host: CodeHost, system: string, log: Log): Promise<void> {
  try {
    for (const problem of await host.missingPermissions()) log.warn({ system, problem }, "a permission is missing");
  } catch (error) {
    log.warn({ system, problem: safeMessage(error) }, "could not check the permissions");
  }
}

async function check(log: Log, system: string, cure: string, ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    log.error({ system, problem: safeMessage(error), cure, err: error }, `not usable at start: ${system}`);
  }
}
