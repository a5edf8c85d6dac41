import { parseRepositoryConfig, type RepositoryConfigResult } from "../../config/repository/repository.js";
import { TextReader, type Reading } from "../detect/tree/foreign-text.js";
import type { Task } from "../ports/compute.js";

interface RepositoryFile {
  readonly text: string;
  /** As people know it. */
  readonly name: string;
}

/** Reads and validates a repository's file. */
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
