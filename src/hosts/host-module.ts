import type { Logger } from "pino";
import type { ServerConfig } from "../config/server/server.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { HostTerms } from "../core/model/host-words.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { ContentBudget } from "../core/ports/stores.js";
import type { LimitWaits } from "./limit-waits.js";
import type { WebhookIntake, WebhookRoute } from "./webhook-route.js";

/** One code host that svc knows. Importing a module does not load the host's client library. */
export interface HostModule extends HostTerms {
  /** The oldest version of a server that people run themselves. */
  readonly oldest: string;
  /** What an operator should check if the host does not answer, or refuses our credentials. */
  readonly cure: string;
  /** What makes a repository one that svc serves. */
  readonly unlisted: string;
  /** The rate limit that an answer counts towards, out of a small fixed set; header names in lower case. */
  rateLimitOf(headers: Readonly<Record<string, string>>): string;
  /** The host as its section of the configuration describes it; undefined if there is no such section. */
  configured(config: ServerConfig): ConfiguredHost | undefined;
}

interface ConfiguredHost {
  readonly apiUrl: string;
  changeRequestUrl(change: Pick<ChangeRequestRef, "repository" | "number">): string;
  /** Loads the client library. Sends no request. */
  connect(parts: HostParts): Promise<ConnectedHost>;
}

export interface HostParts {
  readonly clock: Clock;
  readonly budget: ContentBudget;
  readonly waits: LimitWaits;
  /** Pino, because Probot asks for it. */
  readonly log: Logger;
}

export interface ConnectedHost {
  readonly host: CodeHost;
  /** The route that receives the host's webhooks; undefined without a secret that proves where they come from. */
  readonly webhook: ((intake: WebhookIntake) => WebhookRoute) | undefined;
}
