import { repost } from "../comments/post-once.js";
import { StoreUnavailable } from "../core/model/errors.js";
import { PORT_EFFECTS, type Effect, type RunPorts } from "../core/ports/effects.js";
import type { RunTicket } from "../core/ports/event-queue.js";
import { wrapPort, type EveryCall } from "../observe/wrap-port.js";

/**
 * Blocks the writes of a run whose change request another replica has taken over. While that is unknown, because the
 * store is unavailable, the run can still post comments; all other writes are blocked.
 */
export function fence<Parts extends RunPorts & { readonly ticket: RunTicket }>(parts: Parts): Parts {
  const { ticket } = parts;
  const host = wrapPort(parts.host, confirmFirst(PORT_EFFECTS.host, ticket));
  const ports: RunPorts = {
    // An interrupted attempt may have posted the same comment.
    host: ticket.again ? wrapPort(host, { postComment: (_call, ...given) => repost(host, ...given) }) : host,
    repositories: wrapPort(parts.repositories, confirmFirst(PORT_EFFECTS.repositories, ticket)),
    deployer: wrapPort(parts.deployer, confirmFirst(PORT_EFFECTS.deployer, ticket)),
    locks: wrapPort(parts.locks, confirmFirst(PORT_EFFECTS.locks, ticket)),
    plans: wrapPort(parts.plans, confirmFirst(PORT_EFFECTS.plans, ticket)),
    deployments: wrapPort(parts.deployments, confirmFirst(PORT_EFFECTS.deployments, ticket)),
    audit: wrapPort(parts.audit, confirmFirst(PORT_EFFECTS.audit, ticket)),
    live: wrapPort(parts.live, confirmFirst(PORT_EFFECTS.live, ticket)),
  };
  return { ...parts, ...ports };
}

function confirmFirst(effects: Readonly<Record<string, Effect | undefined>>, ticket: RunTicket): EveryCall {
  return (method, call) => {
    switch (Object.hasOwn(effects, method) ? effects[method] : undefined) {
      case "act":
        return ticket.confirm().then(call);
      case "speak":
        return confirmIfPossible(ticket).then(call);
      case "read":
      case "record":
      case undefined:
        return call();
    }
  };
}

async function confirmIfPossible(ticket: RunTicket): Promise<void> {
  try {
    await ticket.confirm();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
  }
}
