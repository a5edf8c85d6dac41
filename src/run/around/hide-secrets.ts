import { posix } from "node:path";
import { redact } from "../../config/schema-parts.js";
import type { Revision } from "../../core/model/brand.js";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { DeployerFailure } from "../../core/model/errors.js";
import { canonicalJson, isJsonObject, isList, type Json, type JsonObject } from "../../core/model/json.js";
import type { SyncedResource, SyncOutcome } from "../../core/model/result.js";
import type { Deployer, HealthReport, Trial } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import type { Snapshot } from "../../core/ports/snapshot.js";
import { EmbeddedTexts } from "../../core/secrets/hide-in-text.js";
import { secretValues } from "../../core/secrets/hide-values.js";
import { type Scrub, scrubberOf } from "../../core/secrets/value-scrubber.js";
import { wrapPort } from "../../observe/wrap-port.js";

/** Files that manifests are written in, and those that Kustomize makes Secrets of. */
const MANIFEST = /\.(?:ya?ml|json)$/i;
const MOST_FILES = 20_000;
const MOST_READ = 2000;

/** The values of the Secrets in the repository at head and base: in manifests, their carriers, Kustomize's generators and templates. */
async function secretsOfRepository(snapshot: Snapshot, change: ChangeRequest): Promise<readonly Json[]> {
  const revisions = [...new Set([change.headRevision, change.baseRevision])];
  const found = await Promise.all(revisions.map((revision) => secretsAt(snapshot, revision)));
  const values = new Map(found.flat().map((value) => [canonicalJson(value), value]));
  return [...values.values()];
}

async function secretsAt(snapshot: Snapshot, revision: Revision): Promise<readonly Json[]> {
  const entries = await snapshot.list(revision);
  const paths = entries.filter(({ path, kind }) => kind === "file" && MANIFEST.test(path)).map(({ path }) => path);
  const texts = await snapshot.read(revision, paths.slice(0, MOST_FILES));
  const tree = await snapshot.tree(revision);
  const embedded = new EmbeddedTexts();
  const values: Json[] = [];
  const files: string[] = [];
  const some = [...texts].filter(([, text]) => /secret|\\[uUx]/i.test(text)).slice(0, MOST_READ);
  for (const [path, text] of some) {
    const documents = (await tree.parseYaml(text))?.filter(isJsonObject);
    if (documents === undefined) values.push(...linesOfData(text));
    values.push(...secretValues(documents ?? [], embedded));
    for (const document of documents ?? []) {
      const generated = generatorsOf(document);
      values.push(...generated.values);
      files.push(...generated.files.map((file) => posix.normalize(posix.join(posix.dirname(path), file))));
    }
  }
  const generatedFrom = await snapshot.read(revision, files.slice(0, MOST_READ));
  for (const text of generatedFrom.values()) values.push(text, ...text.split("\n").map(afterSign));
  return values;
}

function generatorsOf({ secretGenerator }: JsonObject): {
  readonly values: readonly string[];
  readonly files: readonly string[];
} {
  const generators = isList(secretGenerator) ? secretGenerator.filter(isJsonObject) : [];
  const texts = (names: readonly string[]) =>
    generators.flatMap((one) => names.flatMap((name) => textsIn(one[name]))).filter((text) => text !== "");
  return { values: texts(["literals"]).map(afterSign), files: texts(["files", "envs", "env"]).map(afterSign) };
}

function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  return isList(value) ? value.filter((item) => typeof item === "string") : [];
}

/** `key=value` to `value`; a text without a sign as it is. */
function afterSign(text: string): string {
  return text.slice(text.indexOf("=") + 1).trim();
}

/** The values in the lines below `data:` and `stringData:` of a Secret's template, which cannot be parsed as YAML. */
function linesOfData(text: string): readonly string[] {
  if (!/kind:\s*["']?Secret/i.test(text)) return [];
  let indent: number | undefined;
  return text.split("\n").flatMap((line) => {
    const own = line.length - line.trimStart().length;
    if (/^\s*(?:string|binary)?data:\s*$/i.test(line)) {
      indent = own;
      return [];
    }
    if (line.trim() !== "" && indent !== undefined && own <= indent) indent = undefined;
    const value = /^(?:[-._\w]+:)?\s*["']?(.*)$/s.exec(line.trim())?.[1]?.replace(/["']$/, "");
    return indent === undefined || value === undefined || value.includes("{{") ? [] : [value];
  });
}

interface Parts {
  readonly snapshot: Snapshot;
  readonly change: ChangeRequest;
  readonly redact: readonly string[];
  readonly log: Log;
}

/** Hides in texts of Argo CD what the repository's Secrets hold. The repository is searched once, for unusual texts. */
export function hidingInTexts(parts: Parts) {
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

  /** Progress cannot wait for the search: until it is over, such a message is left out. */
  function hideNow(text: string): string {
    if (isUsual(text)) return redact(text, parts.redact);
    if (scrub !== undefined) return redact(scrub(text), parts.redact);
    void search();
    return "";
  }

  return { hide, hideNow };
}

/** Argo CD as one run sees it: no message repeats a value of a Secret in the repository, or what the server's patterns redact. */
export function hidingSecrets(deployer: Deployer, parts: Parts): Deployer {
  const { hide, hideNow } = hidingInTexts(parts);

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

  async function hideTrial(trial: Trial): Promise<Trial> {
    switch (trial.kind) {
      case "accepted":
        return trial;
      case "refused":
        return { ...trial, message: await hide(trial.message) };
      case "untried":
        return { ...trial, reason: await hide(trial.reason) };
    }
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
    tryObjects: async (call) => Promise.all((await call()).map(hideTrial)),
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

/** Whether it is a usual message of a successful sync, or why svc did not ask Kubernetes: these quote only names. */
function isUsual(text: string): boolean {
  return text === "" || USUAL.some((form) => form.test(text));
}

const USUAL = [
  /^(?:waiting for Argo CD to start|successfully synced \((?:all tasks run|no more tasks)\)|one or more tasks are running)$/,
  /^waiting for (?:healthy state of|completion of hook|deletion of hook|deletion of) [\w./-]{1,300}(?: and \d+ more (?:hooks|resources))?$/,
  /^[\w.-]{1,300}\/[\w.-]{1,300} (?:created|configured|unchanged|pruned|replaced|serverside-applied)(?: \((?:server )?dry run\))?$/,
  /^(?:pruned|ignored \(requires pruning\))(?: \(dry run\))?$/,
  /^(?:the version of Argo CD is not known|(?:this )?Argo CD (?:[\w.+-]{1,40} )?cannot try objects in the cluster(?:; 3\.2 or newer can)?)$/,
  /^(?:Argo CD's answer leaves them out|Kubernetes did not answer within \d+ s|too large|too many changed objects, or too many that Kubernetes refuses)$/,
  /^new(?: and cluster-wide|, and whether it belongs in a namespace is not known|, in a namespace where the application has nothing yet)$/,
];
