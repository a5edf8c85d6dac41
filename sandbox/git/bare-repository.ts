import { mkdirSync, writeFileSync } from "node:fs";
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
export function createBareRepository(directory: string, defaultBranch: string): void {
  mkdirSync(join(directory, "objects", "pack"), { recursive: true });
  mkdirSync(join(directory, "refs", "heads"), { recursive: true });
  writeFileSync(join(directory, "HEAD"), `ref: refs/heads/${defaultBranch}\n`);
  writeFileSync(join(directory, "config"), CONFIGURATION);
}
