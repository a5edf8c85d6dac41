import type { Revision } from "../brand.js";
import type { Json } from "../json.js";
import type { RepositorySnapshot, TreeEntry } from "../ports.js";
import { parentOf } from "./repository-path.js";
import { readYamlDocuments } from "./yaml-documents.js";

/** The tree of a commit, with the few files that decide what else is read. */
export interface RepositoryTree {
  hasFile(path: string): boolean;
  hasDirectory(path: string): boolean;
  /** Paths of the entries at or below a directory. */
  entriesIn(directory: string): readonly TreeEntry[];
  readonly symlinks: readonly string[];
  /** The YAML documents of a file; undefined when it is missing, no text, too large, or not all of it can be read. */
  readYaml(path: string): Promise<readonly Json[] | undefined>;
}

/** Files that are read ahead in one go, since a partial clone fetches what it lacks once per read. */
const READ_AHEAD =
  /(?:^|\/)(?:kustomization\.ya?ml|Kustomization|Chart\.yaml|requirements\.yaml|\.argocd-source[^/]*\.yaml)$/;
const MAX_READ_AHEAD = 5000;

type Documents = Promise<readonly Json[] | undefined>;

interface Opened {
  readonly trees: Map<Revision, Promise<RepositoryTree>>;
  /** By blob: most files are the same in all trees of a snapshot, and many applications read the same ones. */
  readonly documents: Map<string, Documents>;
}

const opened = new WeakMap<RepositorySnapshot, Opened>();

/** The tree of a commit; each is listed once per snapshot. */
export function openTree(snapshot: RepositorySnapshot, revision: Revision): Promise<RepositoryTree> {
  const known: Opened = opened.get(snapshot) ?? { trees: new Map(), documents: new Map() };
  opened.set(snapshot, known);
  const tree = known.trees.get(revision) ?? listTree(snapshot, revision, known.documents);
  known.trees.set(revision, tree);
  tree.catch(() => known.trees.delete(revision));
  return tree;
}

async function listTree(
  snapshot: RepositorySnapshot,
  revision: Revision,
  documents: Map<string, Documents>,
): Promise<RepositoryTree> {
  const entries = await snapshot.list(revision);
  const files = new Map(entries.map((entry) => [entry.path, entry]));
  const below = new Map<string, TreeEntry[]>();
  for (const entry of entries) {
    for (let child = entry.path; child !== ""; child = parentOf(child)) {
      const known = below.get(parentOf(child));
      if (known === undefined) below.set(parentOf(child), [entry]);
      else known.push(entry);
    }
  }
  const ahead = entries.filter(({ path, kind }) => kind === "file" && READ_AHEAD.test(path)).map(({ path }) => path);
  let all: Promise<ReadonlyMap<string, string>> | undefined;

  return {
    hasFile: (path) => files.has(path),
    hasDirectory: (path) => path === "" || below.has(path),
    entriesIn: (directory) => below.get(directory) ?? entries.filter(({ path }) => path === directory),
    symlinks: entries.filter(({ kind }) => kind === "symlink").map(({ path }) => path),
    readYaml(path) {
      const entry = files.get(path);
      if (entry?.kind !== "file") return Promise.resolve(undefined);
      const read = documents.get(entry.blob) ?? readText(path).then(readWhole);
      documents.set(entry.blob, read);
      return read;
    },
  };

  async function readText(path: string): Promise<string | undefined> {
    const single = ahead.length > MAX_READ_AHEAD || !READ_AHEAD.test(path);
    if (single) return (await snapshot.read(revision, [path])).get(path);
    all ??= snapshot.read(revision, ahead);
    return (await all).get(path);
  }
}

function readWhole(text: string | undefined): readonly Json[] | undefined {
  if (text === undefined) return undefined;
  const { values, problems } = readYamlDocuments(text);
  return problems.length > 0 ? undefined : values;
}
