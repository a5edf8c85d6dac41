import {
  NO_FILE,
  parseRepositoryConfig,
  type RepositoryConfig,
  type RepositoryConfigResult,
} from "../../config/repository/repository-schema.js";
import type { BranchFile, PolicyFiles } from "../../config/rules/settings.js";
import { REPOSITORY_FILE } from "../../names.js";
import { type Reading, TextReader } from "../detect/tree/yaml-documents.js";
import type { Revision } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { RepositoryFailure } from "../model/errors.js";
import type { Task } from "../ports/compute.js";
import type { RepositorySnapshot } from "../ports/repositories.js";

/**
 * Reads the repository files that decide about a change request: at the head, at the tips of the base branch and of the
 * default branch.
 * @throws {RepositoryFailure} if the default branch or the history of a broken file cannot be read.
 */
export async function readPolicyFiles(
  change: ChangeRequest,
  snapshot: RepositorySnapshot,
  reading: Reading,
): Promise<PolicyFiles> {
  const [base, before, after, standard] = await Promise.all([
    contentAt(change.baseRevision, snapshot),
    contentAt(change.mergeBase, snapshot),
    contentAt(change.headRevision, snapshot),
    change.baseBranch === change.defaultBranch ? undefined : defaultBranchFile(change, snapshot, reading),
  ]);
  // A head that leaves the file alone gets the file of the base branch, as a merge would give it.
  const changed = after.id !== before.id && after.id !== base.id;
  const file = await parsed(base, `${REPOSITORY_FILE} (base branch)`, reading);
  return {
    base: await branchFile(file, change.baseRevision, snapshot, reading),
    defaultBranch: standard,
    head: changed ? await parsed(after, REPOSITORY_FILE, reading) : file,
    changed,
  };
}

async function defaultBranchFile(
  { defaultBranch, repository }: ChangeRequest,
  snapshot: RepositorySnapshot,
  reading: Reading,
): Promise<BranchFile> {
  const tip = (await snapshot.refs()).get(`refs/heads/${defaultBranch}`);
  if (tip === undefined) {
    throw new RepositoryFailure(`the default branch of ${repository}, whose rules hold as well, could not be found`);
  }
  const file = await parsed(await contentAt(tip, snapshot), `${REPOSITORY_FILE} (default branch)`, reading);
  return branchFile(file, tip, snapshot, reading);
}

async function branchFile(
  file: RepositoryConfigResult,
  tip: Revision,
  snapshot: RepositorySnapshot,
  reading: Reading,
): Promise<BranchFile> {
  return { file, earlier: file.kind === "valid" ? undefined : await lastReadable(tip, snapshot, reading) };
}

/** The newest version of a broken file on the branch's first-parent history that can be read. */
async function lastReadable(
  tip: Revision,
  snapshot: RepositorySnapshot,
  reading: Reading,
): Promise<RepositoryConfig | undefined> {
  for await (const text of snapshot.pastTexts(tip, REPOSITORY_FILE)) {
    const version = text === undefined ? undefined : await readRepositoryFile({ text, name: REPOSITORY_FILE }, reading);
    if (version?.kind === "valid") return version.config;
  }
  return undefined;
}

interface Content {
  /** Equal for equal contents. */
  readonly id: string;
  /** Undefined if there is no file. */
  readonly text: string | undefined;
}

async function contentAt(revision: Revision, snapshot: RepositorySnapshot): Promise<Content> {
  const entries = await snapshot.list(revision);
  const entry = entries.find(({ path }) => path === REPOSITORY_FILE);
  if (entry === undefined) {
    const isFolder = entries.some(({ path }) => path.startsWith(`${REPOSITORY_FILE}/`));
    return isFolder ? { id: "folder", text: UNREADABLE } : { id: "", text: undefined };
  }
  const id = `${entry.kind} ${entry.blob}`;
  return { id, text: (await snapshot.read(revision, [REPOSITORY_FILE])).get(REPOSITORY_FILE) ?? UNREADABLE };
}

/** A link, a folder, a binary or an oversized file is invalid: reading it as empty would silently lift its rules. */
const UNREADABLE = "- not a readable file";

async function parsed({ text }: Content, name: string, reading: Reading): Promise<RepositoryConfigResult> {
  return text === undefined ? NO_FILE : readRepositoryFile({ text, name }, reading);
}

interface RepositoryFile {
  readonly text: string;
  readonly name: string;
}

export const readRepositoryFileTask: Task<RepositoryFile, RepositoryConfigResult> = {
  name: "read-repository-file",
  run: ({ text, name }) => parseRepositoryConfig(text, name),
};

/** Reads a repository's file, which anybody may have written. */
export async function readRepositoryFile(file: RepositoryFile, reading: Reading): Promise<RepositoryConfigResult> {
  const read = await new TextReader(reading).run(readRepositoryFileTask, file, file.text.length);
  if (read.kind === "done") return read.output;
  const message = `reading it takes too much ${read.limit}: simplify it`;
  return { kind: "invalid", problems: [{ file: file.name, line: 1, column: 1, key: "", message }] };
}
