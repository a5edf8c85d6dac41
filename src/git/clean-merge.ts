import { revision, type Revision } from "../core/model/brand.js";
import type { CloneSource } from "../core/ports/code-host.js";
import { DEPTHS } from "./commit-range.js";
import { GitFailure, remoteProblem } from "./git-failure.js";
import type { MirrorRepository } from "./mirror-repository.js";

interface Question {
  readonly folder: MirrorRepository;
  readonly source: CloneSource;
  readonly commit: Revision;
  readonly signal: AbortSignal;
}

/**
 * Whether git itself merges the two parents of this commit to just its tree. False for a conflict, for several merge
 * bases, and where the history cannot be fetched. @throws {GitFailure} if the host does not answer.
 */
export async function isCleanMerge(question: Question): Promise<boolean> {
  const { folder, signal } = question;
  const header = await headerOf(question);
  const tree = /^tree ([0-9a-f]+)$/m.exec(header)?.[1];
  const [one, other, third] = [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, id = ""]) => revision(id));
  if (tree === undefined || one === undefined || other === undefined || third !== undefined) return false;
  for (const depth of [0, ...DEPTHS]) {
    if (depth > 0 && !(await couldDeepen(question, depth))) return false;
    if (await isHistoryKnown(folder, one, other, signal)) {
      return (await mergedTree(question, one, other)) === tree;
    }
  }
  return false;
}

async function couldDeepen({ folder, source, commit, signal }: Question, depth: number): Promise<boolean> {
  try {
    await folder.deepen(source, [commit], depth, signal);
    return true;
  } catch (error) {
    if (error instanceof GitFailure) return false;
    throw error;
  }
}

/** The lines of a commit before its message (gitformat-signature(5) shows them). */
async function headerOf({ folder, commit, signal }: Question): Promise<string> {
  const [found] = await folder.contents([commit], signal);
  if (found?.type !== "commit") return "";
  const text = found.content.toString("latin1");
  return text.slice(0, text.indexOf("\n\n"));
}

/** Whether the history down to the only merge base is here: with a part of it, git would take an older base. */
async function isHistoryKnown(
  folder: MirrorRepository,
  one: Revision,
  other: Revision,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await folder.hasCommits([one, other], signal))) return false;
  const cut = await folder.shallowCommits();
  const unshared = await folder.lines(["rev-list", "--end-of-options", `${one}...${other}`], signal);
  if (unshared.some((id) => cut.has(id))) return false;
  return (await mergeBases(folder, one, other, signal)).length === 1;
}

async function mergeBases(folder: MirrorRepository, one: Revision, other: Revision, signal: AbortSignal) {
  try {
    return await folder.lines(["merge-base", "--all", "--end-of-options", one, other], signal);
  } catch (error) {
    // git exits with 1, without a word, if there are none.
    if (error instanceof GitFailure && error.kind === "exit" && error.stderr === "") return [];
    throw error;
  }
}

/** Undefined if the two conflict. */
async function mergedTree(
  { folder, source, signal }: Question,
  one: Revision,
  other: Revision,
): Promise<string | undefined> {
  try {
    return await folder.mergedTree(source, one, other, signal);
  } catch (error) {
    if (error instanceof GitFailure && error.kind === "exit" && remoteProblem(error) === undefined) return undefined;
    throw error;
  }
}
