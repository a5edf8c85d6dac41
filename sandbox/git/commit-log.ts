import type { ObjectFolder } from "./object-folder.js";

export interface CommitFacts {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: string;
  readonly email: string;
  readonly committer: { readonly name: string; readonly email: string };
  /** ISO 8601, UTC. */
  readonly date: string;
  readonly message: string;
}

/** One commit by its full id (gitformat-signature(5) shows the format). Other headers are ignored. */
export function readCommit(objects: ObjectFolder, id: string): CommitFacts {
  const found = objects.read(id);
  if (found?.type !== "commit") throw new Error(`${id} is not a commit`);
  const text = found.content.toString();
  const end = text.indexOf("\n\n");
  const header = text.slice(0, end);
  const [, author = "", email = "", seconds = "0"] = /^author (.*?) ?<(.*)> (\d+) [+-]\d{4}$/m.exec(header) ?? [];
  const [, committer = "", committerEmail = ""] = /^committer (.*?) ?<(.*)> \d+ [+-]\d{4}$/m.exec(header) ?? [];
  return {
    id,
    committer: { name: committer, email: committerEmail },
    tree: /^tree ([0-9a-f]+)$/m.exec(header)?.[1] ?? "",
    parents: [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, parent = ""]) => parent),
    author,
    email,
    date: new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z"),
    message: text.slice(end + 2).trimEnd(),
  };
}
