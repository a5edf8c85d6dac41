import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
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
 * Reads and writes the loose objects and refs of one bare repository (gitrepository-layout(5)) without a process.
 * Nothing in the sandbox packs objects or refs. A new repository is kept in memory until git needs its folder.
 */
export class ObjectFolder {
  readonly #known = new Map<string, StoredObject>();
  /** `HEAD` and the refs of a repository that is in memory; undefined for one on disk. */
  #refs: Map<string, string> | undefined;

  /** Opens the repository in this folder, or creates one there with this default branch. */
  constructor(
    readonly folder: string,
    private readonly newWith?: { readonly defaultBranch: string },
  ) {
    if (newWith !== undefined) this.#refs = new Map([["HEAD", `ref: refs/heads/${newWith.defaultBranch}`]]);
  }

  /** The folder for git, with everything in it. */
  onDisk(): string {
    const refs = this.#refs;
    if (refs === undefined) return this.folder;
    this.#refs = undefined;
    createBareRepository(this.folder, this.newWith?.defaultBranch ?? "main");
    for (const object of this.#known.values()) this.#save(object);
    for (const [ref, text] of refs) if (ref !== "HEAD") this.setRef(ref, text);
    return this.folder;
  }

  /** Writes an object unless it exists. Returns its id. */
  write(type: "blob" | "tree" | "commit", content: Buffer): string {
    const id = createHash("sha1").update(headerOf(type, content)).update(content).digest("hex");
    if (this.#known.has(id)) return id;
    const object = { id, type, content };
    if (this.#refs === undefined) this.#save(object);
    this.#known.set(id, object);
    return id;
  }

  /** The object with this full id. */
  read(id: string): StoredObject | undefined {
    const known = this.#known.get(id);
    if (known !== undefined || this.#refs !== undefined || !FULL_ID.test(id)) return known;
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
    if (this.#refs !== undefined) {
      if (id === undefined) this.#refs.delete(ref);
      else this.#refs.set(ref, id);
      return;
    }
    const file = join(this.folder, ref);
    if (id === undefined) {
      rmSync(file, { force: true });
      return;
    }
    mkdirSync(dirname(file), { recursive: true });
    // As git does it: a reader never finds an empty ref.
    writeFileSync(`${file}.lock`, `${id}\n`);
    renameSync(`${file}.lock`, file);
  }

  /** Full names of the refs below this prefix, sorted. */
  refs(prefix: string): readonly string[] {
    const names = this.#refs === undefined ? this.#refsOnDisk() : [...this.#refs.keys()];
    return names.filter((name) => name.startsWith(prefix)).sort();
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
    if (name === "HEAD" || name.startsWith("refs/")) {
      const text = this.#refs === undefined ? contentOf(join(this.folder, name))?.toString() : this.#refs.get(name);
      const id = text?.trim() ?? "";
      return id.startsWith("ref: ") ? this.#idOf(id.slice(5)) : id;
    }
    if (!/^[0-9a-f]{7,39}$/.test(name)) return undefined;
    const ids = this.#idsWith(name);
    return ids.length === 1 ? ids[0] : undefined;
  }

  #idsWith(start: string): readonly string[] {
    if (this.#refs !== undefined) return [...this.#known.keys()].filter((id) => id.startsWith(start));
    const folder = join(this.folder, "objects", start.slice(0, 2));
    const ids = existsSync(folder) ? readdirSync(folder).map((file) => start.slice(0, 2) + file) : [];
    return ids.filter((id) => id.startsWith(start));
  }

  #refsOnDisk(): string[] {
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
