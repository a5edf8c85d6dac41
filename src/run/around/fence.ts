import { repost } from "../../comments/publish.js";
import { StoreUnavailable } from "../../core/model/errors.js";
import type { RunTicket } from "../../core/ports/event-queue.js";
import { PORT_REACH, type Reach, type RunPorts } from "../../core/ports/reach.js";
import { type EveryCall, wrapPort } from "../../observe/wrap-port.js";

/**
 * Blocks the writes of a run whose change request another replica has taken over. While that is unknown, because the
 * store is unavailable, the run can still post comments; all other writes are blocked.
 */
export function fence<Parts extends RunPorts & { readonly ticket: RunTicket }>(parts: Parts): Parts {
  const { ticket } = parts;
  const host = wrapPort(parts.host, confirmFirst(PORT_REACH.host, ticket));
  const ports: RunPorts = {
    // An interrupted attempt may have posted the same comment.
    host: ticket.again ? wrapPort(host, { postComment: (_call, ...given) => repost(host, ...given) }) : host,
    repositories: wrapPort(parts.repositories, confirmFirst(PORT_REACH.repositories, ticket)),
    deployer: wrapPort(parts.deployer, confirmFirst(PORT_REACH.deployer, ticket)),
    locks: wrapPort(parts.locks, confirmFirst(PORT_REACH.locks, ticket)),
    waiting: wrapPort(parts.waiting, confirmFirst(PORT_REACH.waiting, ticket)),
    plans: wrapPort(parts.plans, confirmFirst(PORT_REACH.plans, ticket)),
    deployments: wrapPort(parts.deployments, confirmFirst(PORT_REACH.deployments, ticket)),
    audit: wrapPort(parts.audit, confirmFirst(PORT_REACH.audit, ticket)),
    live: wrapPort(parts.live, confirmFirst(PORT_REACH.live, ticket)),
    notifications: wrapPort(parts.notifications, confirmFirst(PORT_REACH.notifications, ticket)),
  };
  return { ...parts, ...ports };
}

function confirmFirst(reach: Readonly<Record<string, Reach | undefined>>, ticket: RunTicket): EveryCall {
  return (method, call) => {
    switch (Object.hasOwn(reach, method) ? reach[method] : undefined) {
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
