import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { matchesPath } from "../../../config/pattern.js";
import type { Naming } from "../../ports/deployer.js";
import type {
  FoundApplication,
  FoundApplicationSet,
  ManifestScan,
  ManifestScanner,
  ScanRequest,
} from "../../ports/manifest-scanner.js";
import type { TreeEntry } from "../../ports/repositories.js";
import { mayHoldResource, readResources, type FileResources, type Resource } from "./resources.js";

/** Paths per read, which bounds the texts held at a time. */
const BATCH = 1000;
/** Characters that one scan parses, about a minute of work. Later scans continue from what is remembered. */
const MAX_PARSED = 32 * 1024 * 1024;
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
}

/** A scanner that remembers what it found in each blob, across commits and repositories. */
export function createManifestScanner(cacheLimit = CACHE_LIMIT): ManifestScanner {
  const remembered = new LRUCache<string, FileResources>({ maxSize: cacheLimit });
  /** By the list itself: a snapshot returns the same one for a commit that it knows, the base of most pushes. */
  const scanned = new WeakMap<readonly TreeEntry[], ScannedTree>();

  return { scan };

  async function scan({ snapshot, revision, crPaths, nameOf }: ScanRequest): Promise<ManifestScan> {
    const tree = await snapshot.list(revision);
    const whole = scanned.get(tree);
    if (whole?.crPaths === crPaths.join("\n")) return assemble(whole.files, nameOf);
    const entries = tree.filter((entry) => isCandidate(entry, crPaths));
    const read = new Map<string, FileResources>();
    let complete = true;
    const missing = entries.filter(({ path, blob }) => {
      const known = remembered.get(blob);
      if (known !== undefined && mayHold(known)) read.set(path, known);
      return known === undefined;
    });
    let parsed = 0;
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH);
      const texts = await snapshot.read(
        revision,
        batch.map(({ path }) => path),
      );
      for (const { path, blob } of batch) {
        const text = texts.get(path);
        if (text !== undefined && mayHoldResource(text)) parsed += text.length;
        if (parsed > MAX_PARSED) {
          read.set(path, { resources: [], problem: "the repository has more Application resources than svc reads" });
          complete = false;
          continue;
        }
        const resources = readResources(text);
        if (mayHold(resources)) read.set(path, resources);
        // A file that could not be read may be readable through another snapshot with other limits.
        if (text !== undefined) remembered.set(blob, resources, { size: weightOf(resources, text) });
        else complete = false;
        if (resources.resources.length > 0) await setImmediate();
      }
    }
    const files = entries.flatMap(({ path }): readonly ReadFile[] => {
      const found = read.get(path);
      return found === undefined ? [] : [{ path, found }];
    });
    if (complete) scanned.set(tree, { crPaths: crPaths.join("\n"), files });
    return assemble(files, nameOf);
  }
}

function weightOf(resources: FileResources, text: string): number {
  return EMPTY_WEIGHT + (mayHold(resources) ? text.length : 0);
}

function isCandidate({ path, kind }: TreeEntry, crPaths: readonly string[]): boolean {
  if (kind !== "file" || !/\.ya?ml$/i.test(path)) return false;
  return crPaths.length === 0 || crPaths.some((pattern) => matchesPath(pattern, path));
}

/** Most files hold nothing of ours. */
function mayHold({ resources, problem }: FileResources): boolean {
  return resources.length > 0 || problem !== undefined;
}

function assemble(files: readonly ReadFile[], nameOf: Naming): ManifestScan {
  const applications: FoundApplication[] = [];
  const applicationSets: FoundApplicationSet[] = [];
  const unreadable = new Map<string, string>();
  for (const { path, found } of files) {
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
  const project = resource.spec.project;
  return {
    file,
    application: {
      name,
      resourceName: resource.name,
      namespace: name === resource.name ? undefined : resource.namespace,
      project: typeof project === "string" && project !== "" ? project : "default",
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
