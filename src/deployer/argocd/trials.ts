import { setImmediate } from "node:timers/promises";
import { hasNamespace, inNamespace } from "../../core/diff/manifest-key.js";
import { destinationOf, type LiveApplication, type Manifest } from "../../core/model/application.js";
import { changeRequestKey } from "../../core/model/change-request.js";
import {
  isJsonObject,
  readJsonText,
  type JsonText,
  withLongIntegers,
  withoutLongIntegers,
} from "../../core/model/json.js";
import {
  type Deployer,
  isOlder,
  type RefusalCause,
  shortVersion,
  type Trial,
  type TrialObject,
  type TrialRequest,
} from "../../core/ports/deployer.js";
import { createSemaphore, getManagedResources, type Parts } from "./application-api.js";
import { ArgoCdFailure, GRPC, parseObjectText } from "./argocd-failure.js";
import { liveKey, type LiveTexts, readLiveTextsTask, type RecentAnswers } from "./live-resources.js";
import type * as Messages from "./server-side-diff.js";
import type { AnsweredObject, AskedObject } from "./server-side-diff.js";
import { readLarge } from "./unread-answer.js";

/** Argo CD's own client sends as much at once. */
const BATCH_CHARACTERS = 250 * 1024;
const BATCH_OBJECTS = 100;
/** For one application; a refused object costs about ten of them. */
const MOST_CALLS = 60;
const PAUSE_MS = 60_000;

/** Asks Kubernetes through Argo CD's server-side diff. For what was applied client-side it misses removed members: alone it never proves "no change". */
export function createTrials(
  { config, client, compute, clock, log }: Parts,
  recent: RecentAnswers,
  version: (signal: AbortSignal) => Promise<string>,
): Deployer["tryObjects"] {
  const semaphore = createSemaphore(config.renderConcurrency);
  const pauses = new Map<string, { readonly until: number; readonly reason: string }>();
  let messages: Promise<typeof Messages> | undefined;

  async function ask({ application, objects, change }: TrialRequest, signal: AbortSignal): Promise<readonly Trial[]> {
    const deadline = performance.now() + config.requestTimeoutMs;
    const left = () => deadline - performance.now();
    const answer =
      recent.get(application) ??
      (await getManagedResources(client, application, { timeoutMs: config.requestTimeoutMs, signal }));
    recent.delete(application);
    const wanted = objects.flatMap((one) => [liveKey(one), liveKey({ ...one, namespace: "" })]);
    const limits = { owner: changeRequestKey(change), signal, what: "the live resources" };
    const live = readJsonText<LiveTexts>(await readLarge(compute, readLiveTextsTask, { answer, wanted }, limits));
    const questions = objects.map((one) => questionOf(one, live, destinationOf(application.spec).namespace));
    const trials = new Map<Question, Trial>();
    const waiting = batches(questions.filter(({ reason }) => reason === undefined));
    const stopped = await askInTurn(waiting, trials, { application, left, signal });
    return questions.map((one) => trials.get(one) ?? { kind: "untried", reason: one.reason ?? stopped ?? TOO_MANY });
  }

  /** Asks about whole batches, and about the halves of a refused one. Returns why it stopped early. */
  async function askInTurn(
    batches: Question[][],
    trials: Map<Question, Trial>,
    { application, left, signal }: { application: LiveApplication; left: () => number; signal: AbortSignal },
  ): Promise<string | undefined> {
    for (let calls = 0; calls < MOST_CALLS; calls += 1) {
      const batch = batches.shift();
      if (batch === undefined) return undefined;
      if (left() <= 0) return `Kubernetes did not answer within ${Math.round(config.requestTimeoutMs / 1000)} s`;
      try {
        const found = await answers(application, batch, left(), signal);
        for (const one of batch) trials.set(one, trialOfAnswer(one, found.get(liveKey(one.asked))));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ArgoCdFailure)) throw error;
        const reason = stopReason(error);
        if (reason !== undefined) {
          log.warn({ application: application.name, err: error }, "could not try objects in the cluster");
          if (isUnavailable(error)) pause(application, reason);
          return reason;
        }
        if (error.code === GRPC.permissionDenied && error.message.includes(OF_OTHERS) && batch.some(isNew)) {
          const all = [batch, ...batches.splice(0)];
          for (const one of all.flat().filter(isNew)) trials.set(one, { kind: "untried", reason: NEW_ALONE });
          batches.push(...all.map((one) => one.filter((each) => !isNew(each))).filter((one) => one.length > 0));
          continue;
        }
        const [only] = batch;
        const half = Math.ceil(batch.length / 2);
        if (batch.length === 1 && only !== undefined) trials.set(only, trialOfError(only, error));
        else batches.unshift(batch.slice(0, half), batch.slice(half));
      }
      // Lets other work run between two large answers. After the last one, the next application is waiting.
      if (batches.length > 0) await setImmediate();
    }
    return undefined;
  }

  async function answers(
    { resourceName, namespace, project }: LiveApplication,
    batch: readonly Question[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, AnsweredObject>> {
    const query = { appName: resourceName, appNamespace: namespace, project };
    // Loaded on demand, and once: protobuf is needed for nothing else.
    const { readObjects, SERVER_SIDE_DIFF, writeQuery } = await (messages ??= import("./server-side-diff.js"));
    const message = writeQuery(
      query,
      batch.map(({ asked, placed }) => ({ ...asked, target: withoutLongIntegers(JSON.stringify(placed)) })),
    );
    const call = { path: SERVER_SIDE_DIFF, message, permission: "applications, get", timeoutMs, signal };
    return new Map(readObjects(await client.grpc(call)).map((one) => [liveKey(one), one]));
  }

  function pause({ spec }: LiveApplication, reason: string): void {
    pauses.set(destinationOf(spec).cluster, { until: clock.now().getTime() + PAUSE_MS, reason });
  }

  function pausedFor({ spec }: LiveApplication): string | undefined {
    const found = pauses.get(destinationOf(spec).cluster);
    return found !== undefined && clock.now().getTime() < found.until ? found.reason : undefined;
  }

  return async (request, signal) => {
    const untried = (reason: string) => request.objects.map((): Trial => ({ kind: "untried", reason }));
    signal.throwIfAborted();
    try {
      const old = tooOld(await version(signal));
      if (old !== undefined) return untried(old);
      return await semaphore.run(async () => {
        const paused = pausedFor(request.application);
        return paused === undefined ? ask(request, signal) : untried(paused);
      }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ArgoCdFailure)) throw error;
      log.warn({ application: request.application.name, err: error }, "could not try objects in the cluster");
      return untried(error.message);
    }
  };
}

const TOO_MANY = "too many changed objects, or too many that Kubernetes refuses";
/** How some Argo CD 3.3 and 3.4 refuse a batch with objects that are not the application's yet (v3.4.0 `ServerSideDiff`). */
const OF_OTHERS = " not found as part of application ";
const NEW_ALONE = "new, and this Argo CD tries only what the application has already";
const isNew = ({ asked }: Question): boolean => asked.live === "";
const UNANSWERED: Trial = { kind: "untried", reason: "Argo CD's answer leaves them out" };

function batches(questions: readonly Question[]): Question[][] {
  const found: Question[][] = [];
  let room = 0;
  for (const one of questions) {
    const { size } = one;
    const last = found.at(-1);
    if (last === undefined || size > room || last.length >= BATCH_OBJECTS) {
      found.push([one]);
      room = BATCH_CHARACTERS - size;
    } else {
      last.push(one);
      room -= size;
    }
  }
  return found;
}

function tooOld(version: string): string | undefined {
  const older = isOlder(version, "3.2");
  if (older === undefined) return "the version of Argo CD is not known";
  return older ? `Argo CD ${shortVersion(version)} cannot try objects in the cluster; 3.2 or newer can` : undefined;
}

/** Why no other object needs to be tried either; undefined if the error may be about one of the objects. */
function stopReason(error: ArgoCdFailure): string | undefined {
  const { code, message } = error;
  if (code === undefined) {
    return error.reason === "unsupported"
      ? "gRPC-Web does not get through to Argo CD: let the proxy in front of it pass it"
      : message;
  }
  if (code === GRPC.unimplemented) return "this Argo CD cannot try objects in the cluster";
  if (code === GRPC.deadlineExceeded || code === GRPC.unavailable || code === GRPC.resourceExhausted) return message;
  if (UNREACHABLE.test(message)) return `Argo CD cannot reach the cluster: ${shownPart(message)}`;
  return error.reason === "forbidden" || code === GRPC.unauthenticated ? message : undefined;
}

/** Whether the cluster is unavailable for other applications too. A too large answer, for instance, is about one alone. */
function isUnavailable({ reason, message }: ArgoCdFailure): boolean {
  return reason === "unreachable" || UNREACHABLE.test(message);
}

/** How Go words a connection that fails, and Kubernetes credentials that have expired. */
const UNREACHABLE =
  /\bdial tcp\b|connection refused|no such host|i\/o timeout|TLS handshake|x509: |context deadline exceeded|Client\.Timeout|provide credentials|: Unauthorized$/;

function trialOfAnswer({ asked, lastApplied }: Question, found: AnsweredObject | undefined): Trial {
  if (found === undefined) return UNANSWERED;
  if (asked.live === "") return { kind: "accepted" };
  const [before, after, whole] = [found.liveState, found.targetState, asked.live].map(readableObject);
  if (before === undefined || after === undefined || whole === undefined) return { kind: "accepted" };
  return { kind: "accepted", answer: { before, after, whole, lastApplied } };
}

/** Undefined for what is not an object: it proves nothing. */
function readableObject(text: string): JsonText<Manifest> | undefined {
  try {
    return isJsonObject(parseObjectText(text, "answered")) ? (withLongIntegers(text) as JsonText<Manifest>) : undefined;
  } catch {
    return undefined;
  }
}

function trialOfError({ asked, lastApplied }: Question, error: ArgoCdFailure): Trial {
  const refusal = readRefusal(error.message, asked);
  if (refusal === undefined) return { kind: "untried", reason: shownPart(error.message) };
  return { kind: "refused", ...refusal, created: asked.live === "", lastApplied };
}

/** Without what Argo CD writes in front of the cluster's own words. */
function shownPart(message: string): string {
  return message.replace(/^[^]{0,1000}in dryrun mode for resource [^\s:]{1,500}: /, "");
}

interface Question {
  readonly asked: Omit<AskedObject, "target">;
  /** Written when it is asked about: all objects of an application as texts may be large. */
  readonly placed: Manifest;
  /** Characters, of both states. */
  readonly size: number;
  readonly lastApplied: Manifest | undefined;
  readonly reason: string | undefined;
}

/** Larger objects fit into no cluster (etcd's limit is 1.5 MiB). */
const LARGEST = 2 * 1024 * 1024;

/**
 * Argo CD tries objects with its own rights in the cluster. So that nobody can sound out with a change request what others
 * have there, new objects are tried only in namespaces that the application deploys to already.
 */
function questionOf(object: TrialObject, { objects, namespaces }: LiveTexts, destination: string): Question {
  const { group, kind, name, manifest } = object;
  // Only the live object shows that a custom kind is cluster-scoped, whatever the manifest says.
  const namespace = [object.namespace, ""].find((one) => objects[liveKey({ ...object, namespace: one })] !== undefined);
  const found = namespace === undefined ? undefined : objects[liveKey({ ...object, namespace })];
  const place = namespace ?? object.namespace;
  const placed = inNamespace(manifest, place || undefined);
  const asked = { group, kind, namespace: place, name, live: found?.text ?? "" };
  const size = asked.live.length + JSON.stringify(placed).length;
  const own = place === destination || namespaces.includes(place);
  const reason = size > LARGEST ? "too large" : reasonAgainst(object, asked, own);
  return { asked, placed, size, lastApplied: found?.lastApplied, reason };
}

function reasonAgainst(
  { manifest, namespace }: TrialObject,
  { live }: Pick<AskedObject, "live">,
  own: boolean,
): string | undefined {
  if (live !== "") return undefined;
  if (namespace === "") return "new and cluster-wide";
  if (!hasNamespace(manifest)) return "new, and whether it belongs in a namespace is not known";
  return own ? undefined : "new, in a namespace where the application has nothing yet";
}

/** Reads Argo CD's error about one object; undefined unless it is known to say that Kubernetes refuses the object. */
export function readRefusal(
  text: string,
  { kind, name }: { kind: string; name: string },
): { readonly cause: RefusalCause; readonly message: string } | undefined {
  const mark = `in dryrun mode for resource ${kind}/${name}: `;
  const at = text.indexOf(mark);
  if (at === -1) return undefined;
  const said = text.slice(at + mark.length).trim();
  const invalid = /^\S{1,300} "[^"\n]{0,300}" is invalid: ([^]+)$/.exec(said)?.[1];
  if (invalid !== undefined) return { cause: causeOfInvalid(invalid), message: invalid };
  const cause = FORMS.find(([pattern]) => pattern.test(said))?.[1];
  return cause === undefined
    ? undefined
    : { cause, message: said.replace(/^\S{1,300} "[^"\n]{0,300}" is forbidden: /, "") };
}

const IMMUTABLE =
  /\bimmutable\b|may not change once set|updates to \w+ (?:spec for fields other than|are forbidden)|(?:can ?not|may not) (?:be )?(?:changed?|updated?|less than)\b/i;
const EXCLUSIVE =
  /may not be specified when|must not be specified when|may not specify more than|Duplicate value|only one of|at most one/i;

function causeOfInvalid(message: string): RefusalCause {
  if (IMMUTABLE.test(message)) return "immutable";
  return EXCLUSIVE.test(message) ? "conflict" : "invalid";
}

/** The first that matches counts; undefined for what says nothing about the object. */
const FORMS: readonly (readonly [RegExp, RefusalCause | undefined])[] = [
  [/^admission webhook "[^"]{0,300}" denied the request/, "denied"],
  [/ denied request: /, "denied"],
  // Argo CD's API server may have fewer rights in the cluster than its controller, which syncs.
  [/ is forbidden: User "/, undefined],
  [/ is forbidden: /, "denied"],
  [/^namespaces "[^"]{0,300}" not found/, "no-namespace"],
  // "could not find the requested resource" may as well be about a namespace that the kind does not have.
  [/^no matches for kind |^resource mapping not found /, "no-kind"],
  [/ field not declared in schema|^strict decoding error: unknown field /, "unknown-field"],
  [/: duplicate entries for key /, "conflict"],
];
