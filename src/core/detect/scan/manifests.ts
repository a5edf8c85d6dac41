import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { matchesPath } from "../../../config/pattern.js";
import { projectOf } from "../../model/application-spec.js";
import type { Compute } from "../../ports/compute.js";
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
import { followLinks } from "../tree/symlinks.js";
import { FileReader, FULL_READING, NOTHING, SMALL_READING, type FileText } from "./read-files.js";
import type { FileResources, Resource } from "./resources.js";
import { mayHoldResource } from "./spelling.js";

/** Paths per read, which bounds the texts held at a time. */
const BATCH = 1000;
/** Limit of what is remembered, in characters of files with resources. Any other file counts as `EMPTY_WEIGHT`. */
const CACHE_LIMIT = 64 * 1024 * 1024;
const EMPTY_WEIGHT = 100;
/** For so long a file that took too long is not tried again; a busy machine may have been at fault. */
const REFUSED_MS = 10 * 60_000;

/** A file that holds resources or may hold some. */
interface ReadFile {
  readonly path: string;
  readonly found: FileResources;
}

interface ScannedTree {
  readonly crPaths: string;
  /** In the order of their paths. */
  readonly files: readonly ReadFile[];
}

/** A scanner that remembers what it found in each blob, across commits and repositories. */
export function createManifestScanner(compute: Compute, cacheLimit = CACHE_LIMIT): ManifestScanner {
  const remembered = new LRUCache<string, FileResources>({ maxSize: cacheLimit });
  /** By the list itself: a snapshot returns the same one for a commit that it knows, the base of most pushes. */
  const scanned = new WeakMap<readonly TreeEntry[], ScannedTree>();

  return { scan };

  async function scan(request: ScanRequest): Promise<ManifestScan> {
    const { snapshot, revision, crPaths, nameOf, owner, trusted, signal } = request;
    const tree = await snapshot.list(revision);
    const whole = scanned.get(tree);
    if (whole?.crPaths === crPaths.join("\n")) return assemble(whole.files, nameOf);
    const links = await linkedFiles(tree, request);
    const linked = new Set(links.values());
    const entries = tree.filter(
      (entry) => linked.has(entry.path) || (entry.kind === "file" && isCandidate(entry, crPaths)),
    );
    const read = new Map<string, FileResources>();
    let complete = true;
    const refusedKey = (blob: string) => `${trusted ? "trusted" : "others"} ${blob}`;
    const missing = entries.filter(({ path, blob }) => {
      const known = remembered.get(blob) ?? remembered.get(refusedKey(blob));
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
        const size = weightOf(resources, text ?? "");
        if (keep === "always") remembered.set(blob, resources, { size });
        else complete = false;
        if (keep === "a-while") remembered.set(refusedKey(blob), resources, { size, ttl: REFUSED_MS });
      }
    }
    const files = entries.flatMap(({ path }): ReadFile[] => {
      const found = read.get(path);
      return found === undefined ? [] : [{ path, found }];
    });
    for (const [path, target] of links) {
      const problem = target === undefined ? NO_TARGET : read.get(target)?.problem;
      if (problem !== undefined) files.push({ path, found: { resources: [], problem } });
    }
    if (complete) scanned.set(tree, { crPaths: crPaths.join("\n"), files });
    return assemble(files, nameOf);
  }
}

const NO_TARGET: Unreadable = { reason: "it is a link that cannot be followed", mayHide: true };

/** Each blob once. */
function worthReading(entries: readonly TreeEntry[], texts: ReadonlyMap<string, string>): readonly FileText[] {
  const files = new Map<string, FileText>();
  for (const { path, blob } of entries) {
    const text = texts.get(path);
    if (text !== undefined && mayHoldResource(text)) files.set(blob, { blob, text });
  }
  return [...files.values()];
}

function weightOf(resources: FileResources, text: string): number {
  return EMPTY_WEIGHT + (mayHold(resources) ? text.length : 0);
}

/** What Argo CD reads in a directory, Jsonnet aside, by the name alone. */
function isCandidate({ path }: TreeEntry, crPaths: readonly string[]): boolean {
  if (!/\.(?:ya?ml|json)$/i.test(path)) return false;
  return crPaths.length === 0 || crPaths.some((pattern) => matchesPath(pattern, path));
}

/**
 * The files that links with such a name lead to, whatever these are called: Argo CD reads them as well. Undefined for a
 * link that cannot be read.
 */
async function linkedFiles(
  tree: readonly TreeEntry[],
  { snapshot, revision, crPaths }: ScanRequest,
): Promise<ReadonlyMap<string, string | undefined>> {
  const links = tree.filter((entry) => entry.kind === "symlink" && isCandidate(entry, crPaths));
  if (links.length === 0) return new Map();
  const entries = new Map(tree.map((entry) => [entry.path, entry]));
  const targets = await snapshot.linkTargets(revision);
  return new Map(
    links.flatMap(({ path }): [string, string | undefined][] => {
      const { path: target, unreadable } = followLinks(path, (one) => entries.get(one), targets);
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

function toApplication(resource: Resource, file: string, nameOf: Naming): FoundApplication {
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
    },
    content: resource.content,
    problem: resource.problem,
  };
}

function toApplicationSet({ name, namespace, whole, content }: Resource, file: string): FoundApplicationSet {
  return { file, set: { name, namespace, resource: whole }, content };
}
