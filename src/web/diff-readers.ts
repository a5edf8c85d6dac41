import { LRUCache } from "lru-cache";
import { type LoginConfig, logsInWith } from "../config/server/server.js";
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

interface Question {
  readonly account: Account;
  readonly change: ChangeRequestRef;
  readonly host: CodeHost;
}

/** Who sees diffs: whoever can read the repository at the host. Pages, API and live streams all ask here. */
export class DiffReaders {
  readonly #answers: LRUCache<string, boolean, Question>;

  constructor(private readonly parts: DiffReadersParts) {
    this.#answers = new LRUCache<string, boolean, Question>({
      // `max` would reserve the memory for all of them at once.
      maxSize: MOST_ANSWERS,
      sizeCalculation: () => 1,
      ttl: YES_KEPT_MS,
      ttlResolution: 0,
      perf: { now: () => parts.clock.now().getTime() },
      ignoreFetchAbort: true,
      async fetchMethod(_key, _old, { options, context: { account, change, host } }) {
        const { id, username: login, external = false } = account;
        const may = await host.mayRead(change, { id: id.slice(id.indexOf(":") + 1), login, external });
        options.ttl = may ? YES_KEPT_MS : NO_KEPT_MS;
        return may;
      },
    });
  }

  async ask(viewer: Viewer, change: ChangeRequestRef): Promise<DiffRight> {
    const title = HOST_TITLES[change.host];
    switch (viewer.kind) {
      case "unguarded":
        return hidden("Authentication is off, so no diff is shown.", "The operator can set `auth.enabled`.");
      case "anonymous":
        return hidden("Diffs are shown after a login only.", "Sign in first.");
      case "account":
        // Whether the login proved an account on the very server that the change request is on.
        if (viewer.account.provider !== change.host || !logsInWith(change.host, this.parts.config)) {
          return this.#withoutAccount(viewer.account, title);
        }
        return this.#asReader(viewer.account, change, title);
    }
  }

  #withoutAccount({ role, provider }: Account, title: string): DiffRight {
    if (this.parts.config.auth.diffs === "all" || role === "admin") return SHOWN;
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
    const { repository, repositoryId } = change;
    const person = [account.id, account.username, account.external === true];
    const key = JSON.stringify([...person, host.id, repository, repositoryId]);
    try {
      const answer = this.#answers.fetch(key, { context: { account, change, host } });
      if ((await within(this.parts.timeoutMs ?? TIMEOUT_MS, answer)) === true) return SHOWN;
    } catch (error) {
      this.parts.log.warn({ err: error, change, account: account.id }, "could not ask who may read a diff");
      return hidden(`${title} did not say whether you can read this repository.`, "Reload the page in a minute.");
    }
    return hidden(
      `Diffs are shown only to people who can read the repository on ${title}, and ${account.username} cannot.`,
      `Ask one of its owners for access. svc asks ${title} again after a minute.`,
    );
  }
}

function hidden(why: string, cure: string): DiffRight {
  return { kind: "hidden", why, cure };
}
