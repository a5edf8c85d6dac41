import { createHash } from "node:crypto";
import { createDetectionCaches, openSnapshot } from "../../../src/core/detect/inputs/snapshot.js";
import { applicationName, repositoryName, revision, type Revision } from "../../../src/core/model/brand.js";
import type { ChangeRequest } from "../../../src/core/model/change-request.js";
import type { Naming } from "../../../src/core/ports/deployer.js";
import type { RepositorySnapshot, TreeEntry } from "../../../src/core/ports/repositories.js";
import type { Snapshot } from "../../../src/core/ports/snapshot.js";
import { INLINE_READING } from "../../in-memory/inline-compute.js";

export const MERGE_BASE = revision("a".repeat(40));
export const HEAD = revision("b".repeat(40));
export const BASE_TIP = revision("c".repeat(40));

/** A text is a file; a `binary` one cannot be read as text. A symlink without a target has one that cannot be read. */
export type Files = Readonly<
  Record<
    string,
    string | { readonly kind: "symlink" | "submodule" | "binary"; readonly id?: string; readonly target?: string }
  >
>;

export interface MemorySnapshot extends Snapshot {
  /** Paths that were read, in order. */
  readonly reads: string[];
}

const LARGEST_READ = 1024 * 1024;

/** A repository at the commits of a change request, held in memory. The base branch has not moved without a `tip`. */
export function memorySnapshot(
  base: Files,
  head: Files = base,
  refs: Readonly<Record<string, Revision>> = {},
  tip: Files = base,
  commitsBetween?: RepositorySnapshot["commitsBetween"],
): MemorySnapshot {
  const trees = new Map<Revision, Files>([
    [MERGE_BASE, base],
    [HEAD, head],
    [BASE_TIP, tip],
  ]);
  const reads: string[] = [];
  const filesAt = (at: Revision) => trees.get(at) ?? {};
  const repository: RepositorySnapshot = {
    async list(at) {
      return Object.entries(filesAt(at))
        .map(([path, content]) => toEntry(path, content))
        .sort((left, right) => (left.path < right.path ? -1 : 1));
    },
    async read(at, paths) {
      reads.push(...paths);
      return new Map(
        paths.flatMap((path) => {
          const content = filesAt(at)[path];
          return typeof content === "string" && content.length <= LARGEST_READ ? [[path, content]] : [];
        }),
      );
    },
    async readLarge(at, path) {
      reads.push(`large ${path}`);
      const content = filesAt(at)[path];
      return typeof content === "string" ? content : undefined;
    },
    async changedPaths(from, to) {
      return changedPaths(from, to);
    },
    async printedPaths(from, to) {
      return changedPaths(from, to);
    },
    async linkTargets(at) {
      return new Map(
        Object.entries(filesAt(at)).flatMap(([path, content]) =>
          typeof content === "object" && content.kind === "symlink" && content.target !== undefined
            ? [[path, content.target]]
            : [],
        ),
      );
    },
    async refs() {
      return new Map(Object.entries(refs));
    },
    async commitsBetween(from, to) {
      if (commitsBetween !== undefined) return commitsBetween(from, to);
      const paths = changedPaths(from, to);
      return { commits: from === to ? [] : [{ id: to, parents: [from], subject: "Change", paths }], complete: true };
    },
    async isCleanMerge() {
      return false;
    },
    async revertConflicts() {
      return undefined;
    },
    async *pastTexts(at, path) {
      const content = filesAt(at)[path];
      if (content !== undefined) yield typeof content === "string" ? content : undefined;
    },
  };
  return { ...openSnapshot(repository, createDetectionCaches(), INLINE_READING), reads };

  function changedPaths(from: Revision, to: Revision): readonly string[] {
    const [before, after] = [filesAt(from), filesAt(to)];
    const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...paths].filter((path) => JSON.stringify(before[path]) !== JSON.stringify(after[path])).sort();
  }
}

function toEntry(path: string, content: Files[string]): TreeEntry {
  const blob = createHash("sha1").update(JSON.stringify(content)).digest("hex");
  if (typeof content === "string" || content.kind === "binary") return { path, kind: "file", executable: false, blob };
  return { path, kind: content.kind, executable: false, blob };
}

export const CHANGE: ChangeRequest = {
  host: "hosta",
  repository: repositoryName("acme/deploy"),
  number: 7,
  title: "Change",
  webUrl: "https://git.example.com/acme/deploy/pull/7",
  author: { id: "1", login: "ana", bot: false },
  state: "open",
  draft: false,
  fork: false,
  headBranch: "change",
  baseBranch: "main",
  defaultBranch: "main",
  headRevision: HEAD,
  baseRevision: BASE_TIP,
  mergeBase: MERGE_BASE,
  mergeability: "mergeable",
  repositoryUrls: ["https://git.example.com/acme/deploy.git", "git@git.example.com:acme/deploy.git"],
};

export const OWN_URL = "https://git.example.com/acme/deploy";

/** Argo CD's own namespace is `argocd`. */
export const nameOf: Naming = (namespace, name) =>
  applicationName(namespace === undefined || namespace === "argocd" ? name : `${namespace}/${name}`);
