import { repost } from "../comments/repost.js";
import { StoreUnavailable } from "../core/model/errors.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { DeploymentStore } from "../core/ports/deployment-store.js";
import type { RunTicket } from "../core/ports/event-queue.js";
import type { LockStore } from "../core/ports/lock-store.js";
import type { PlanStore } from "../core/ports/plan-store.js";
import { observeCalls } from "../observe/observe-calls.js";
import type { Run } from "./run.js";

/**
 * The same run, which does nothing that others can see once another replica has taken over its change request. Where that
 * cannot be told because the store is away, it still speaks, and changes nothing else.
 */
export function fenced(run: Run): Run {
  const { ticket } = run;
  const confirm = () => ticket.confirm();
  const speak = () => confirmUnlessAway(ticket);
  const deployer: readonly (keyof Deployer)[] = ["sync", "updateSpec"];
  const locks: readonly (keyof LockStore)[] = ["acquire", "release"];
  const deployments: readonly (keyof DeploymentStore)[] = ["save", "remove"];
  const plans: readonly (keyof PlanStore)[] = ["save"];
  const spoken: readonly (keyof CodeHost)[] = ["editComment", "minimise", "react", "setStatus", "postComment"];
  const host = guarded(guarded(run.host, ["merge"], confirm), spoken, speak);
  return {
    ...run,
    host: ticket.again ? reposting(host) : host,
    deployer: guarded(run.deployer, deployer, confirm),
    locks: guarded(run.locks, locks, confirm),
    deployments: guarded(run.deployments, deployments, confirm),
    plans: guarded(run.plans, plans, confirm),
  };
}

async function confirmUnlessAway(ticket: RunTicket): Promise<void> {
  try {
    await ticket.confirm();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
  }
}

/** The same host; a comment that an earlier attempt of the run posted is not posted twice. */
function reposting(host: CodeHost): CodeHost {
  return replaced(host, "postComment", (change, body) => repost(host, change, body));
}

/** The same object; before these methods something is waited for that may throw. */
function guarded<T extends object>(port: T, names: readonly (keyof T)[], before: () => Promise<void>): T {
  const guards = new Set<unknown>(names);
  return observeCalls(port, (method, call) => (guards.has(method) ? before().then(call) : call()));
}

/** The same object with one method in the place of its own. */
function replaced<T extends object, K extends keyof T>(port: T, name: K, method: T[K]): T {
  return new Proxy(port, {
    get(target, asked) {
      return asked === name ? method : (Reflect.get(target, asked, target) as unknown);
    },
  });
}
