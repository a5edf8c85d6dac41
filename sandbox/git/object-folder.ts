import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { createBareRepository } from "./bare-repository.js";

export interface StoredObject {
  readonly id: string;
  readonly type: string;
  readonly content: Buffer;
}

const FULL_ID = /^[0-9a-f]{40}$/;

/**
 * Reads and writes the loose objects and the refs of one bare repository (gitrepository-layout(5)) without a process. A new
 * repository is kept in memory until git needs its folder. Its refs stay in memory, and are written to one file for git, which
 * opens a file for each ref that is not packed.
 */
export class ObjectFolder {
  readonly #known = new Map<string, StoredObject>();
  /** Ids by the full names of refs, as `bytesOf` gives them; undefined if git writes them, each to a file of its own. */
  readonly #refs: Map<string, string> | undefined;
  /** The names of the refs: sorted, but for new ones at the end. Sorting them again is cheap. */
  #names: string[];
  readonly #defaultBranch: string;
  #isOnDisk: boolean;
  #areRefsWritten = false;

  /** Creates a repository for this folder with this default branch, or opens the one that is there: a copy of another, or git's own. */
  constructor(
    readonly folder: string,
    from: { readonly defaultBranch: string } | { readonly copyOf: ObjectFolder } | "git",
  ) {
    const isNew = from !== "git" && "defaultBranch" in from;
    this.#isOnDisk = !isNew;
    this.#defaultBranch = from === "git" ? "main" : isNew ? from.defaultBranch : from.copyOf.#defaultBranch;
    this.#refs = from === "git" ? undefined : new Map(isNew ? [] : from.copyOf.#refs);
    this.#names = [...(this.#refs?.keys() ?? [])];
  }

  /** The folder for git, with everything in it. */
  onDisk(): string {
    if (!this.#isOnDisk) {
      this.#isOnDisk = true;
      createBareRepository(this.folder, this.#defaultBranch);
      for (const object of this.#known.values()) this.#save(object);
    }
    if (this.#refs !== undefined && !this.#areRefsWritten) this.#writeRefs(this.#refs);
    return this.folder;
  }

  /** As gitformat-packed-refs describes it: https://git-scm.com/docs/git-pack-refs */
  #writeRefs(refs: ReadonlyMap<string, string>): void {
    this.#areRefsWritten = true;
    this.#names.sort();
    const text = this.#names.map((name) => `${refs.get(name)} ${name}\n`).join("");
    const file = join(this.folder, "packed-refs");
    // As git does it: a reader never finds half of them.
    writeFileSync(`${file}.new`, `# pack-refs with: sorted \n${text}`, "latin1");
    renameSync(`${file}.new`, file);
  }

  /** Writes an object unless it exists. Returns its id. */
  write(type: "blob" | "tree" | "commit", content: Buffer): string {
    const id = createHash("sha1").update(headerOf(type, content)).update(content).digest("hex");
    if (this.#known.has(id)) return id;
    const object = { id, type, content };
    if (this.#isOnDisk) this.#save(object);
    this.#known.set(id, object);
    return id;
  }

  /** The object with this full id. */
  read(id: string): StoredObject | undefined {
    const known = this.#known.get(id);
    if (known !== undefined || !this.#isOnDisk || !FULL_ID.test(id)) return known;
    const stored = contentOf(this.#fileOf(id));
    if (stored === undefined) return undefined;
    const whole = inflateSync(stored);
    const end = whole.indexOf(0);
    const [type = ""] = whole.toString("latin1", 0, end).split(" ");
    const object = { id, type, content: whole.subarray(end + 1) };
    this.#known.set(id, object);
    return object;
  }

  /** Sets a full ref, or deletes it. */
  setRef(ref: string, id: string | undefined): void {
    if (this.#refs === undefined) throw new Error("git writes these refs");
    const name = bytesOf(ref);
    if (id === undefined) this.#names = this.#names.filter((one) => one !== name);
    else if (!this.#refs.has(name)) this.#names.push(name);
    if (id === undefined) this.#refs.delete(name);
    else this.#refs.set(name, id);
    this.#areRefsWritten = false;
  }

  /** Full names of the refs below this prefix, sorted. */
  refs(prefix: string): readonly string[] {
    return (this.#refs === undefined ? this.#refsOfGit() : this.#names.map(textOf))
      .filter((name) => name.startsWith(prefix))
      .sort();
  }

  /** Resolves `HEAD`, a full ref, a full id, or an id abbreviated to at least seven characters. */
  commit(name: string): StoredObject | undefined {
    const id = this.#idOf(name);
    const object = id === undefined ? undefined : this.read(id);
    if (object?.type === "tag") return this.commit(memberOf(object, "object") ?? "");
    return object?.type === "commit" ? object : undefined;
  }

  /** The root tree of the commit with this id. */
  treeOf(commit: string): StoredObject | undefined {
    const object = this.commit(commit);
    return object && this.read(memberOf(object, "tree") ?? "");
  }

  #idOf(name: string): string | undefined {
    if (FULL_ID.test(name)) return name;
    if (name === "HEAD") return this.#idOf(`refs/heads/${this.#defaultBranch}`);
    if (name.startsWith("refs/")) {
      return this.#refs === undefined
        ? contentOf(join(this.folder, name))?.toString().trim()
        : this.#refs.get(bytesOf(name));
    }
    if (!/^[0-9a-f]{7,39}$/.test(name)) return undefined;
    const ids = this.#idsWith(name);
    return ids.length === 1 ? ids[0] : undefined;
  }

  #idsWith(start: string): readonly string[] {
    if (!this.#isOnDisk) return [...this.#known.keys()].filter((id) => id.startsWith(start));
    const folder = join(this.folder, "objects", start.slice(0, 2));
    const ids = existsSync(folder) ? readdirSync(folder).map((file) => start.slice(0, 2) + file) : [];
    return ids.filter((id) => id.startsWith(start));
  }

  #refsOfGit(): string[] {
    const entries = readdirSync(join(this.folder, "refs"), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return files.map((file) => relative(this.folder, join(file.parentPath, file.name)));
  }

  #save({ id, type, content }: StoredObject): void {
    const file = this.#fileOf(id);
    if (existsSync(file)) return;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, deflateSync(Buffer.concat([headerOf(type, content), content]), { level: 1 }));
  }

  #fileOf(id: string): string {
    return join(this.folder, "objects", id.slice(0, 2), id.slice(2));
  }
}

function headerOf(type: string, content: Buffer): Buffer {
  return Buffer.from(`${type} ${content.length}\0`);
}

/** The file's content, or undefined if there is no such file. */
function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

function memberOf({ content }: StoredObject, name: string): string | undefined {
  const end = content.indexOf("\n\n");
  const header = content.toString("utf8", 0, end < 0 ? content.length : end);
  return new RegExp(`^${name} ([0-9a-f]{40})$`, "m").exec(header)?.[1];
}

/** One character for each byte, so that sorting compares bytes, as git does. */
function bytesOf(ref: string): string {
  return Buffer.from(ref).toString("latin1");
}

function textOf(name: string): string {
  return Buffer.from(name, "latin1").toString();
}
