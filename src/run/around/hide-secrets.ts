import { redact } from "../../config/redaction.js";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { DeployerFailure } from "../../core/model/errors.js";
import type { SyncedResource, SyncOutcome } from "../../core/model/result.js";
import type { Deployer, HealthReport } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import type { Snapshot } from "../../core/ports/snapshot.js";
import { type Scrub, scrubberOf } from "../../core/secrets/value-scrubber.js";
import { secretsOfRepository } from "../../core/survey/known-secrets.js";
import { wrapPort } from "../../observe/wrap-port.js";

interface Parts {
  readonly snapshot: Snapshot;
  readonly change: ChangeRequest;
  readonly redact: readonly string[];
  readonly log: Log;
}

/**
 * Argo CD as one run sees it: no message of it repeats a value of a Secret that stands in the repository, or what the
 * server's patterns redact. The repository is searched once, and only for messages that are not among the usual ones.
 */
export function hidingSecrets(deployer: Deployer, parts: Parts): Deployer {
  let scrub: Scrub | undefined;
  let searching: Promise<Scrub> | undefined;

  function search(): Promise<Scrub> {
    searching ??= secretsOfRepository(parts.snapshot, parts.change)
      .then(scrubberOf)
      .catch((error: unknown) => {
        parts.log.warn({ err: error }, "could not look for Secrets; messages of Argo CD are left out");
        return () => LEFT_OUT;
      })
      .then((found) => (scrub = found));
    return searching;
  }

  async function hide(text: string): Promise<string> {
    const shown = isUsual(text) ? text : (await search())(text);
    return redact(shown, parts.redact);
  }

  async function hideIn(resources: readonly SyncedResource[]): Promise<readonly SyncedResource[]> {
    return Promise.all(resources.map(async (one) => ({ ...one, message: await hide(one.message) })));
  }

  async function hideOutcome<O extends SyncOutcome | undefined>(outcome: O): Promise<O> {
    if (outcome === undefined) return outcome;
    const message = await hide(outcome.message);
    const resources = "resources" in outcome ? { resources: await hideIn(outcome.resources) } : {};
    const unhealthy = "unhealthy" in outcome ? { unhealthy: await hideIn(outcome.unhealthy) } : {};
    return { ...outcome, message, ...resources, ...unhealthy };
  }

  async function hideHealth(report: HealthReport): Promise<HealthReport> {
    return report.kind === "compared" ? { ...report, unhealthy: await hideIn(report.unhealthy) } : report;
  }

  /** Progress cannot wait for the search: until it is over, such a message is left out. */
  function hideNow(text: string): string {
    if (isUsual(text)) return redact(text, parts.redact);
    if (scrub !== undefined) return redact(scrub(text), parts.redact);
    void search();
    return "";
  }

  const failure = async (error: unknown): Promise<never> => {
    if (!(error instanceof DeployerFailure)) throw error;
    const messages = chainOf(error);
    const hidden = await Promise.all(messages.map(hide));
    if (hidden.every((message, index) => message === messages[index])) throw error;
    const [message = "", ...causes] = hidden;
    const cause = causes.reduceRight<Error | undefined>((inner, text) => new Error(text, { cause: inner }), undefined);
    throw new DeployerFailure(error.reason, message, { cause });
  };

  const caught = wrapPort(deployer, (_, call) => {
    const returned = call();
    return returned instanceof Promise ? returned.catch(failure) : returned;
  });
  const reporting = <R extends { readonly onProgress?: Parameters<Deployer["follow"]>[0]["onProgress"] }>(of: R): R => {
    const { onProgress } = of;
    if (onProgress === undefined) return of;
    return { ...of, onProgress: (reported) => onProgress({ ...reported, message: hideNow(reported.message) }) };
  };
  return wrapPort(caught, {
    sync: async (_, request) => hideOutcome(await caught.sync(reporting(request))),
    follow: async (_, request) => hideOutcome(await caught.follow(reporting(request))),
    findOutcome: async (call) => hideOutcome(await call()),
    healthAfter: async (call) => hideHealth(await call()),
  });
}

/** The messages of an error and its causes: a log line has them all. */
function chainOf(error: Error): readonly string[] {
  const messages: string[] = [];
  for (let at: unknown = error; at instanceof Error && messages.length < 10; at = at.cause) messages.push(at.message);
  return messages;
}

const LEFT_OUT =
  "Argo CD's message is left out: svc could not look for the Secrets that it may quote. Read it in Argo CD";

/** What Argo CD says of syncs that go well; it quotes nothing but names. */
function isUsual(text: string): boolean {
  return text === "" || USUAL.some((form) => form.test(text));
}

const USUAL = [
  /^(?:waiting for Argo CD to start|successfully synced \((?:all tasks run|no more tasks)\)|one or more tasks are running)$/,
  /^waiting for (?:healthy state of|completion of hook|deletion of hook|deletion of) [\w./-]{1,300}(?: and \d+ more (?:hooks|resources))?$/,
  /^[\w.-]{1,300}\/[\w.-]{1,300} (?:created|configured|unchanged|pruned|replaced|serverside-applied)(?: \((?:server )?dry run\))?$/,
  /^(?:pruned|ignored \(requires pruning\))(?: \(dry run\))?$/,
];
