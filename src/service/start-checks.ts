import { setTimeout as delay } from "node:timers/promises";
import { safeMessage } from "../core/model/errors.js";
import type { CodeHost } from "../core/ports/code-host.js";
import { isOlder, shortVersion } from "../core/ports/deployer.js";
import type { Log } from "../core/ports/log.js";
import { HOSTS } from "../hosts/registry.js";
import { DEPLOYER_TITLE, STORE_TITLE, WEBHOOK_PATHS } from "../names.js";
import type { SiteParts } from "../web/site.js";

interface StartParts extends Pick<SiteParts, "config" | "hosts" | "deployer" | "log"> {
  readonly ping: () => Promise<void>;
}

/** The oldest Argo CD that svc supports. */
export const OLDEST_DEPLOYER = "2.13";

const DEPLOYER_CURE = "check argocd.server_url, argocd.token and, for a self-signed certificate, argocd.insecure";
const STORE_CURE =
  "check redis.address and redis.password; until it is available, commands are answered with `failed to acquire lock`";

/** Checks once that every outside system accepts our credentials, and logs the cure where one does not. The service starts anyway. */
export async function checkAtStart({ config, hosts, deployer, ping, log }: StartParts): Promise<void> {
  await Promise.all([
    ...hosts.map(async (host) => {
      const { title, cure } = HOSTS[host.id];
      await check(log, title, cure, async () => {
        const self = await host.self();
        log.info({ account: self.login, webhook: WEBHOOK_PATHS[host.id] }, `connected to ${title}`);
        const version = await host.version();
        if (version !== undefined) checkVersion(title, version, HOSTS[host.id].oldest, log);
        await checkPermissions(host, title, log);
      });
    }),
    check(log, DEPLOYER_TITLE, DEPLOYER_CURE, async () => {
      const { version, account } = await deployer.check();
      log.info({ version, account, url: config.deployer.serverUrl }, `connected to ${DEPLOYER_TITLE}`);
      checkVersion(DEPLOYER_TITLE, version, OLDEST_DEPLOYER, log);
    }),
    check(log, STORE_TITLE, STORE_CURE, ping),
  ]);
}

const END_WITHIN_MS = 1_000;

/** Waits for what was begun at the start, but not for systems that answer nothing, which takes half a minute for each call. */
export async function endOfChecks(begun: Promise<void>): Promise<void> {
  await Promise.race([begun, delay(END_WITHIN_MS, undefined, { ref: false })]);
}

/** A version that is no number, as of a development build, is not judged. */
function checkVersion(system: string, version: string, oldest: string, log: Log): void {
  if (isOlder(version, oldest) !== true) return;
  const problem = `${system} ${shortVersion(version)} is older than ${oldest}, so it lacks answers that gates rest on`;
  log.warn({ system, problem, cure: `update ${system}` }, "an older version than svc supports");
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
