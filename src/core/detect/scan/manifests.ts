import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { matchesPath } from "../../../config/pattern.js";
import { projectOf } from "../../model/application.js";
import type { Compute, Task } from "../../ports/compute.js";
import type { Naming } from "../../ports/deployer.js";
import type {
  FoundApplication,
  FoundApplicationSet,
  ManifestScan,
  ManifestScanner,
  ScanRequest,
  Unreadable,
} from "../../ports/manifest-scanner.js";
import type { TreeEntry } from "../../ports/repositories.js";
import { linkFollower } from "../tree/repository-path.js";
import { type Reading, REFUSED_MS, SHORT_TEXT } from "../tree/yaml-documents.js";
import {
  type FileResources,
  mayHoldResource,
  outsideOfHelm,
  readResources,
  readResourcesTask,
  type Resource,
} from "./resources.js";

/** Paths per read, which bounds the texts held at a time. */
const BATCH = 1000;
/** Limit of what is remembered, in characters of files with resources. Any other file counts as `EMPTY_WEIGHT`. */
const CACHE_LIMIT = 64 * 1024 * 1024;
const EMPTY_WEIGHT = 100;

/** A file that holds resources or may hold some. */
interface ReadFile {
  readonly path: string;
  readonly found: FileResources;
}

interface ScannedTree {
  readonly crPaths: string;
  /** In the order of their paths. */
  readonly files: readonly ReadFile[];
  /** The blobs that took too long. The scan serves only readers to whom all of them are still refused. */
  readonly refused: readonly string[];
}

/** A scanner that remembers what it found in each blob, across commits and repositories. */
export function createManifestScanner(compute: Compute, cacheLimit = CACHE_LIMIT): ManifestScanner {
  const remembered = new LRUCache<string, FileResources>({ maxSize: cacheLimit });
  /** Keyed by the list itself: a snapshot returns the same list for a commit that it knows, such as the base of most pushes. */
  const scanned = new WeakMap<readonly TreeEntry[], ScannedTree>();

  return { scan };

  async function scan(request: ScanRequest): Promise<ManifestScan> {
    const { snapshot, revision, crPaths, nameOf, owner, trusted, signal } = request;
    const tree = await snapshot.list(revision);
    const refusedKey = (blob: string) => `${trusted ? "trusted" : "others"} ${blob}`;
    const whole = scanned.get(tree);
    if (whole?.crPaths === crPaths.join("\n") && whole.refused.every((blob) => remembered.has(refusedKey(blob)))) {
      return assemble(whole.files, nameOf);
    }
    const links = await linkedFiles(tree, request);
    const linked = new Set(links.values());
    const entries = tree.filter(
      (entry) => linked.has(entry.path) || (entry.kind === "file" && isCandidate(entry, crPaths)),
    );
    const read = new Map<string, FileResources>();
    let complete = true;
    const refused: string[] = [];
    const missing = entries.filter(({ path, blob }) => {
      const known = remembered.get(blob) ?? remembered.get(refusedKey(blob));
      if (known !== undefined && !remembered.has(blob)) refused.push(blob);
      if (known !== undefined && mayHold(known)) read.set(path, known);
      return known === undefined;
    });
    const reader = new FileReader(trusted ? FULL_READING : SMALL_READING, { compute, owner, signal });
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH);
      const texts = await snapshot.read(
        revision,
        batch.map(({ path }) => path),
      );
      const found = await reader.read(worthReading(batch, texts));
      for (const { path, blob } of batch) {
        const text = texts.get(path);
        const other = () => reader.readLarge(() => snapshot.readLarge(revision, path));
        const { found: resources, keep } = found.get(blob) ?? (text === undefined ? await other() : NOTHING);
        if (mayHold(resources)) read.set(path, resources);
        const size = EMPTY_WEIGHT + (mayHold(resources) ? (text ?? "").length : 0);
        if (keep === "always") remembered.set(blob, resources, { size });
        else complete = false;
        if (keep === "a-while") remembered.set(refusedKey(blob), resources, { size, ttl: REFUSED_MS });
      }
    }
    const files = foundFiles(entries, read, tree);
    for (const [path, target] of links) {
      const problem = target === undefined ? NO_TARGET : read.get(target)?.problem;
      if (problem !== undefined) files.push({ path, found: { resources: [], problem } });
    }
    if (complete) scanned.set(tree, { crPaths: crPaths.join("\n"), files, refused });
    return assemble(files, nameOf);
  }
}

const NO_TARGET: Unreadable = { reason: "it is a link that cannot be followed", mayHide: true };

/** The resources of each file; those of a chart's templates without the ones that Helm still has to fill in. */
function foundFiles(
  entries: readonly TreeEntry[],
  read: ReadonlyMap<string, FileResources>,
  tree: readonly TreeEntry[],
): ReadFile[] {
  const charts = new Set(tree.flatMap(({ path }) => (/(?:^|\/)Chart\.yaml$/.test(path) ? [path.slice(0, -10)] : [])));
  const isInChart = (path: string) =>
    [...path.matchAll(/(?<=^|\/)templates\//g)].some(({ index }) => charts.has(path.slice(0, index)));
  return entries.flatMap(({ path }) => {
    const found = read.get(path);
    return found === undefined ? [] : [{ path, found: isInChart(path) ? outsideOfHelm(found) : found }];
  });
}

/** Each blob once. */
function worthReading(entries: readonly TreeEntry[], texts: ReadonlyMap<string, string>): readonly FileText[] {
  const files = new Map<string, FileText>();
  for (const { path, blob } of entries) {
    const text = texts.get(path);
    if (text !== undefined && mayHoldResource(text)) files.set(blob, { blob, text });
  }
  return [...files.values()];
}

/** Files that Argo CD reads as manifests in a directory, apart from Jsonnet. */
function isCandidate({ path }: TreeEntry, crPaths: readonly string[]): boolean {
  if (!/\.(?:ya?ml|json)$/i.test(path)) return false;
  return crPaths.length === 0 || crPaths.some((pattern) => matchesPath(pattern, path));
}

/** The files that links with such a name lead to, which Argo CD reads as well; undefined for a link that cannot be read. */
async function linkedFiles(
  tree: readonly TreeEntry[],
  { snapshot, revision, crPaths }: ScanRequest,
): Promise<ReadonlyMap<string, string | undefined>> {
  const links = tree.filter((entry) => entry.kind === "symlink" && isCandidate(entry, crPaths));
  if (links.length === 0) return new Map();
  const entries = new Map(tree.map((entry) => [entry.path, entry]));
  const follow = linkFollower((one) => entries.get(one), await snapshot.linkTargets(revision));
  return new Map(
    links.flatMap(({ path }): [string, string | undefined][] => {
      const { path: target, unreadable } = follow(path);
      if (unreadable !== undefined) return [[path, undefined]];
      return target !== undefined && entries.get(target)?.kind === "file" ? [[path, target]] : [];
    }),
  );
}

/** Most files hold nothing of ours. */
function mayHold({ resources, problem }: FileResources): boolean {
  return resources.length > 0 || problem !== undefined;
}

async function assemble(files: readonly ReadFile[], nameOf: Naming): Promise<ManifestScan> {
  const applications: FoundApplication[] = [];
  const applicationSets: FoundApplicationSet[] = [];
  const unreadable = new Map<string, Unreadable>();
  for (const [index, { path, found }] of files.entries()) {
    if (index % 500 === 499) await setImmediate();
    if (found.problem !== undefined) unreadable.set(path, found.problem);
    for (const resource of found.resources) {
      if (resource.kind === "Application") applications.push(toApplication(resource, path, nameOf));
      else applicationSets.push(toApplicationSet(resource, path));
    }
  }
  return { applications, applicationSets, unreadable };
}

function toApplication(
  resource: Extract<Resource, { readonly kind: "Application" }>,
  file: string,
  nameOf: Naming,
): FoundApplication {
  const { operation } = resource;
  const name = nameOf(resource.namespace, resource.name);
  return {
    file,
    application: {
      name,
      resourceName: resource.name,
      namespace: name === resource.name ? undefined : resource.namespace,
      project: projectOf(resource.spec),
      labels: resource.labels,
      annotations: resource.annotations,
      spec: resource.spec,
      ...(operation === null ? {} : { alsoGiven: { finalizers: [], operation } }),
    },
    content: resource.content,
    problem: resource.problem,
  };
}

function toApplicationSet(
  { name, namespace, whole, content }: Extract<Resource, { readonly kind: "ApplicationSet" }>,
  file: string,
): FoundApplicationSet {
  return { file, set: { name, namespace, resource: whole }, content };
}

/** A file that may hold resources. */
interface FileText {
  readonly blob: string;
  readonly text: string;
}

/** What reading the files of one commit may cost. */
interface ReadingLimits {
  /** Characters of the texts that may hold resources. */
  readonly characters: number;
  /** For each batch, and then for each file of one that took too long. */
  readonly deadlineMs: number;
  /** After so many files that took too long, no other file is read. */
  readonly exceeding: number;
  /** Files over 1 MiB that are searched. */
  readonly largeFiles: number;
}

/** About a minute of work. Later scans continue from what is remembered. */
export const FULL_READING: ReadingLimits = {
  characters: 32 * 1024 * 1024,
  deadlineMs: 10_000,
  exceeding: 3,
  largeFiles: 200,
};
/** For commits of people who may not write to the repository, and for drafts. */
const SMALL_READING: ReadingLimits = {
  characters: 2 * 1024 * 1024,
  deadlineMs: 3_000,
  exceeding: 1,
  largeFiles: 5,
};

/** Characters in one batch: a few hundred ordinary resources. */
const BATCH_BYTES = 256 * 1024;
/** What one commit may have read on this thread: an ordinary change, without a thread to start. */
const INLINE = 192 * 1024;

const TOO_MUCH: Unreadable = {
  reason: "the repository has more Application resources than svc reads",
  mayHide: true,
};
const TOO_LARGE: Unreadable = {
  reason: "it is larger than 1 MiB and, by its words, may hold an Application",
  mayHide: true,
};
const NOT_TRIED: Unreadable = { reason: "other files of this commit already took too long", mayHide: true };

/** Whether a text can hold a resource at all. */
export const mayHoldResourceTask: Task<string, boolean> = { name: "may-hold-resource", run: mayHoldResource };

interface FileReading {
  readonly found: FileResources;
  /** Whether to cache the result. A file that took too long is tried again, since the machine may have been busy. */
  readonly keep: "always" | "a-while" | "never";
}

/** A file that could not be read may be readable through another snapshot with other limits. */
const NO_TEXT: FileReading = { found: readResources(undefined), keep: "never" };
const NOTHING: FileReading = { found: readResources(""), keep: "always" };

/** Reads the files of one commit within its limits: short ones at once, others in batches, and one by one where a batch takes too long. */
class FileReader {
  #characters = 0;
  #inline = 0;
  #exceeding = 0;
  #large = 0;

  constructor(
    private readonly limits: ReadingLimits,
    private readonly reading: Reading,
  ) {}

  /** The files by blob. */
  async read(files: readonly FileText[]): Promise<ReadonlyMap<string, FileReading>> {
    const read = new Map<string, FileReading>();
    let batch: FileText[] = [];
    let size = 0;
    let sinceTurn = 0;
    for (const file of files) {
      const { length } = file.text;
      this.#characters += length;
      if (this.#characters > this.limits.characters) {
        read.set(file.blob, { found: unreadable(TOO_MUCH), keep: "never" });
      } else if (length <= SHORT_TEXT && this.#inline + length <= INLINE) {
        this.#inline += length;
        sinceTurn += length;
        if (sinceTurn > SHORT_TEXT) {
          sinceTurn = 0;
          await setImmediate();
        }
        read.set(file.blob, { found: readResources(file.text), keep: "always" });
      } else {
        if (size + length > BATCH_BYTES) {
          await this.#readBatch(batch, read);
          [batch, size] = [[], 0];
        }
        batch.push(file);
        size += length;
      }
    }
    await this.#readBatch(batch, read);
    return read;
  }

  /** Searches a file that is too large to be parsed for the words of an Application. @param read Reads its text; undefined if there is none. */
  async readLarge(read: () => Promise<string | undefined>): Promise<FileReading> {
    if (this.#large >= this.limits.largeFiles || this.#exceeding >= this.limits.exceeding) return NO_TEXT;
    this.#large += 1;
    const text = await read();
    if (text === undefined) return NO_TEXT;
    const { compute, owner, signal } = this.reading;
    const computed = await compute.run(mayHoldResourceTask, text, {
      owner,
      signal,
      deadlineMs: this.limits.deadlineMs,
    });
    if (computed.kind === "exceeded") this.#exceeding += 1;
    else if (!computed.output) return NOTHING;
    return { found: unreadable(TOO_LARGE), keep: "a-while" };
  }

  async #readBatch(batch: readonly FileText[], read: Map<string, FileReading>): Promise<void> {
    if (batch.length === 0) return;
    if (this.#exceeding >= this.limits.exceeding) {
      for (const { blob } of batch) read.set(blob, { found: unreadable(NOT_TRIED), keep: "never" });
      return;
    }
    const { compute, owner, signal } = this.reading;
    const texts = batch.map(({ text }) => text);
    const { deadlineMs } = this.limits;
    const computed = await compute.run(readResourcesTask, texts, { owner, signal, deadlineMs });
    if (computed.kind === "done") {
      for (const [index, { blob }] of batch.entries()) {
        const found = computed.output[index];
        if (found !== undefined) read.set(blob, { found, keep: "always" });
      }
    } else if (batch.length > 1) {
      for (const file of batch) await this.#readBatch([file], read);
    } else {
      this.#exceeding += 1;
      const reason = computed.limit === "time" ? "reading it takes too long" : "reading it takes too much memory";
      const found = unreadable({ reason, mayHide: true });
      for (const { blob } of batch) read.set(blob, { found, keep: "a-while" });
    }
  }
}

function unreadable(problem: Unreadable): FileResources {
  return { resources: [], problem };
}
