import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Allows what code hosts allow: partial clones, and fetching any object by id. Objects stay loose. */
const CONFIGURATION = `[core]
\trepositoryformatversion = 0
\tbare = true
[uploadpack]
\tallowFilter = true
\tallowAnySHA1InWant = true
[gc]
\tauto = 0
`;

/** Creates an empty bare repository as `git init --bare` does (gitrepository-layout(5)), without a process. */
export async function createBareRepository(directory: string, defaultBranch: string): Promise<void> {
  await mkdir(join(directory, "objects", "pack"), { recursive: true });
  await mkdir(join(directory, "refs", "heads"), { recursive: true });
  await writeFile(join(directory, "HEAD"), `ref: refs/heads/${defaultBranch}\n`);
  await writeFile(join(directory, "config"), CONFIGURATION);
}
