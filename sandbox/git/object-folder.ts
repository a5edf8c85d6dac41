import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";

export interface StoredObject {
  readonly id: string;
  readonly type: string;
  readonly content: Buffer;
}

const FULL_ID = /^[0-9a-f]{40}$/;

/**
 * Reads and writes the loose objects and refs of one bare repository (gitrepository-layout(5)) without a process.
 * Nothing in the sandbox packs objects or refs.
 */
export class ObjectFolder {
  readonly #known = new Map<string, StoredObject>();

  constructor(private readonly folder: string) {}

  /** Writes an object unless it exists. Returns its id. */
  write(type: "blob" | "tree" | "commit", content: Buffer): string {
    const whole = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
    const id = createHash("sha1").update(whole).digest("hex");
    if (this.#known.has(id)) return id;
    const file = this.#fileOf(id);
    if (!existsSync(file)) {
      mkdirSync(join(file, ".."), { recursive: true });
      writeFileSync(file, deflateSync(whole, { level: 1 }));
    }
    this.#known.set(id, { id, type, content });
    return id;
  }

  /** The object with this full id. */
  read(id: string): StoredObject | undefined {
    const known = this.#known.get(id);
    if (known !== undefined || !FULL_ID.test(id)) return known;
    const stored = contentOf(this.#fileOf(id));
    if (stored === undefined) return undefined;
    const whole = inflateSync(stored);
    const end = whole.indexOf(0);
    const [type = ""] = whole.toString("latin1", 0, end).split(" ");
    const object = { id, type, content: whole.subarray(end + 1) };
    this.#known.set(id, object);
    return object;
  }

  /** Resolves `HEAD`, a full ref, a full id, or an id abbreviated to at least seven characters. */
  commit(name: string): StoredObject | undefined {
    const id = this.#idOf(name);
    const object = id === undefined ? undefined : this.read(id);
    if (object?.type === "tag") return this.commit(headerOf(object, "object") ?? "");
    return object?.type === "commit" ? object : undefined;
  }

  /** The root tree of the commit with this id. */
  treeOf(commit: string): StoredObject | undefined {
    const object = this.commit(commit);
    return object && this.read(headerOf(object, "tree") ?? "");
  }

  #idOf(name: string): string | undefined {
    if (FULL_ID.test(name)) return name;
    if (name === "HEAD" || name.startsWith("refs/")) {
      const text = contentOf(join(this.folder, name))?.toString().trim() ?? "";
      return text.startsWith("ref: ") ? this.#idOf(text.slice(5)) : text;
    }
    if (!/^[0-9a-f]{7,39}$/.test(name)) return undefined;
    const folder = join(this.folder, "objects", name.slice(0, 2));
    const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.startsWith(name.slice(2))) : [];
    return files.length === 1 ? `${name.slice(0, 2)}${files[0] ?? ""}` : undefined;
  }

  #fileOf(id: string): string {
    return join(this.folder, "objects", id.slice(0, 2), id.slice(2));
  }
}

/** The file's content, or undefined if there is no such file. */
function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

function headerOf({ content }: StoredObject, name: string): string | undefined {
  const end = content.indexOf("\n\n");
  const header = content.toString("utf8", 0, end < 0 ? content.length : end);
  return new RegExp(`^${name} ([0-9a-f]{40})$`, "m").exec(header)?.[1];
}
