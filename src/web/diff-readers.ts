import { LRUCache } from "lru-cache";
import { type AuthSection, type LoginConfig, logsInWith } from "../config/server/server.js";
import type { Account } from "../core/model/account.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Log } from "../core/ports/log.js";
import { HOST_TITLES } from "../names.js";
import { within } from "./time-limit.js";
import type { Viewer } from "./viewer.js";

/** Whether somebody sees the diffs of a change request. `why` and `cure` are sentences for them. */
type DiffRight = { readonly kind: "shown" } | { readonly kind: "hidden"; readonly why: string; readonly cure: string };

interface DiffReadersParts {
  readonly config: LoginConfig;
  readonly hosts: readonly CodeHost[];
  readonly clock: Clock;
  readonly log: Log;
  /** How long a page waits for the host, in milliseconds; a later answer is still cached. */
  readonly timeoutMs?: number;
}

/** Cached answers, one per person and repository. */
const MOST_ANSWERS = 20_000;
/** How long somebody who lost access still sees diffs. */
const YES_KEPT_MS = 5 * 60_000;
/** Shorter, so that new access takes effect soon. */
const NO_KEPT_MS = 60_000;
const TIMEOUT_MS = 5_000;

const SHOWN: DiffRight = { kind: "shown" };

/** Who sees diffs: whoever can read the repository at the host. Pages, API and live streams all ask here. */
export class DiffReaders {
  readonly #answers: LRUCache<string, boolean>;
  /** Requests in flight, by key. */
  readonly #open = new Map<string, Promise<boolean>>();

  constructor(private readonly parts: DiffReadersParts) {
    const perf = { now: () => parts.clock.now().getTime() };
    this.#answers = new LRUCache({ max: MOST_ANSWERS, ttl: YES_KEPT_MS, ttlResolution: 0, perf });
  }

  async ask(viewer: Viewer, change: ChangeRequestRef): Promise<DiffRight> {
    const title = HOST_TITLES[change.host];
    switch (viewer.kind) {
      case "unguarded":
        return hidden("Authentication is off, so no diff is shown.", "The operator can set `auth.enabled`.");
      case "anonymous":
        return hidden("Diffs are shown after a login only.", "Sign in first.");
      case "account":
        if (!this.#hasAccountOn(change, viewer.account)) return this.#withoutAccount(viewer.account, title);
        return this.#asReader(viewer.account, change, title);
    }
  }

  /** Whether the login proved an account on the very server that the change request is on. */
  #hasAccountOn({ host }: ChangeRequestRef, { provider }: Account): boolean {
    return provider === host && logsInWith(host, this.parts.config);
  }

  #withoutAccount({ role, provider }: Account, title: string): DiffRight {
    const { diffs }: Pick<AuthSection, "diffs"> = this.parts.config.auth;
    if (diffs === "all" || role === "admin") return SHOWN;
    if (provider === "api-token") {
      return hidden(
        "Diffs are not shown to an API token with the role user.",
        "Have the operator give it the role admin, or set `auth.diffs` to `all`.",
      );
    }
    return hidden(
      `Diffs are shown only to people who can read the repository on ${title}, and svc does not know your account there.`,
      `Sign in with ${title}, ask an admin, or have the operator set \`auth.diffs\` to \`all\`.`,
    );
  }

  async #asReader(account: Account, change: ChangeRequestRef, title: string): Promise<DiffRight> {
    const host = this.parts.hosts.find(({ id }) => id === change.host);
    if (host === undefined) {
      return hidden(`${title} is no longer configured, so nobody can be asked who may read this diff.`, "");
    }
    try {
      if (await this.#answer(account, change, host)) return SHOWN;
    } catch (error) {
      this.parts.log.warn({ err: error, change, account: account.id }, "could not ask who may read a diff");
      return hidden(`${title} did not say whether you can read this repository.`, "Reload the page in a minute.");
    }
    return hidden(
      `Diffs are shown only to people who can read the repository on ${title}, and ${account.username} cannot.`,
      `Ask one of its owners for access. svc asks ${title} again after a minute.`,
    );
  }

  async #answer(account: Account, change: ChangeRequestRef, host: CodeHost): Promise<boolean> {
    const key = JSON.stringify([account.id, account.username, account.external === true, host.id, change.repository]);
    const kept = this.#answers.get(key);
    if (kept !== undefined) return kept;
    const open = this.#open.get(key) ?? this.#question(key, account, change, host);
    this.#open.set(key, open);
    return within(this.parts.timeoutMs ?? TIMEOUT_MS, open);
  }

  async #question(key: string, account: Account, change: ChangeRequestRef, host: CodeHost): Promise<boolean> {
    try {
      const { id, username: login, external = false } = account;
      const may = await host.mayRead(change, { id: id.slice(id.indexOf(":") + 1), login, external });
      this.#answers.set(key, may, { ttl: may ? YES_KEPT_MS : NO_KEPT_MS });
      return may;
    } finally {
      this.#open.delete(key);
    }
  }
}

function hidden(why: string, cure: string): DiffRight {
  return { kind: "hidden", why, cure };
}
