import type { GitStore } from "../../git/git-store.js";
import { runGit } from "../../git/run-git.js";

export interface CommitFacts {
  readonly id: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly title: string;
  readonly authorName: string;
  readonly authorEmail: string;
  readonly at: Date;
}

const format = "%H%x00%P%x00%an%x00%ae%x00%ct%x00%B%x01";

/** Reads commits with git; a commit never changes, so each is read once. */
export class CommitReader {
  readonly #store: GitStore;
  readonly #known = new Map<string, Promise<CommitFacts>>();

  constructor(store: GitStore) {
    this.#store = store;
  }

  /** One commit by its id. */
  read(repository: string, id: string): Promise<CommitFacts> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const facts = this.#log(repository, ["--no-walk", id]).then(([commit]) => {
      if (commit === undefined) throw new Error(`${repository} has no commit ${id}`);
      return commit;
    });
    this.#known.set(id, facts);
    facts.catch(() => this.#known.delete(id));
    return facts;
  }

  /** What `to` has and `from` lacks, oldest first. */
  between(repository: string, from: string, to: string): Promise<CommitFacts[]> {
    return this.#log(repository, ["--reverse", `${from}..${to}`]);
  }

  async #log(repository: string, selection: readonly string[]): Promise<CommitFacts[]> {
    const { stdout } = await runGit(this.#store.directory(repository), ["log", `--format=${format}`, ...selection]);
    return stdout.split("\x01").flatMap((entry) => {
      const [id, parents = "", authorName = "", authorEmail = "", seconds = "", message = ""] = entry
        .trimStart()
        .split("\0");
      if (id === undefined || id === "") return [];
      const [title = ""] = message.split("\n");
      const at = new Date(Number(seconds) * 1000);
      return [
        {
          id,
          parents: parents.split(" ").filter((parent) => parent !== ""),
          message,
          title,
          authorName,
          authorEmail,
          at,
        },
      ];
    });
  }
}
