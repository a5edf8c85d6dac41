import { createBareRepository } from "../git/bare-repository.js";
import { runGit } from "../git/run-git.js";
import { unknown } from "./api-error.js";

/** Objects stay loose, as `ObjectFolder` reads them, and nothing is asked of a person. */
const FETCH = [
  ...["-c", "fetch.unpackLimit=1000000", "-c", "maintenance.auto=false"],
  ...["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--end-of-options"],
];

/** A bare copy of a repository elsewhere, which the repo-server brings up to date by git. Its default branch is `main`. */
export class FetchedCopy {
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly folder: string,
    private readonly url: string,
  ) {
    createBareRepository(folder, "main");
  }

  /** Fetches every branch and tag. @throws {ApiError} with a repo-server's words if the repository cannot be read. */
  async refs(): Promise<void> {
    try {
      await this.#inTurn(["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]);
    } catch (error) {
      const reason = error instanceof Error ? error.message.replace(/^.*? exited with \d+: /s, "") : "";
      throw unknown(`failed to list refs: ${reason}`);
    }
  }

  /** Fetches a commit by its id, if the repository has it and gives it away. */
  async commit(id: string): Promise<void> {
    await this.#inTurn([id]).catch(() => undefined);
  }

  /** One after the other: a fetch that began earlier may miss what was pushed since. */
  #inTurn(refspecs: readonly string[]): Promise<unknown> {
    const mine = this.#last.then(() => runGit(this.folder, [...FETCH, this.url, ...refspecs]));
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
