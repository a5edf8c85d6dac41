import type { CommitFacts as StoredCommit } from "../../git/commit-log.js";
import type { GitStore } from "../../git/git-store.js";

export interface CommitFacts {
  readonly id: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly title: string;
  readonly authorName: string;
  readonly authorEmail: string;
  readonly committerName: string;
  readonly committerEmail: string;
  readonly at: Date;
}

/** Reads commits in GitLab's terms. */
export class CommitReader {
  readonly #store: GitStore;

  constructor(store: GitStore) {
    this.#store = store;
  }

  /** One commit by its id. */
  async read(repository: string, id: string): Promise<CommitFacts> {
    const [commit] = await this.#store.commits(repository, id, id);
    if (commit === undefined) throw new Error(`${repository} has no commit ${id}`);
    return factsOf(commit);
  }

  /** The commits of a branch that another lacks, newest first. */
  async between(repository: string, from: string, to: string): Promise<readonly CommitFacts[]> {
    return from === to ? [] : (await this.#store.commits(repository, from, to)).map(factsOf).reverse();
  }
}

function factsOf({ id, parents, message, author, email, committer, date }: StoredCommit): CommitFacts {
  const [title = ""] = message.split("\n");
  const [committerName, committerEmail] = [committer.name, committer.email];
  return {
    id,
    parents,
    message,
    title,
    authorName: author,
    authorEmail: email,
    committerName,
    committerEmail,
    at: new Date(date),
  };
}
