import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** The size of a mirror on disk. */
export interface MirrorSize {
  /** Of the packs and the files beside them. */
  readonly bytes: number;
  readonly packs: number;
}

/** Files that git never changes again. Other names are still being written. */
const FINISHED = /^pack-[0-9a-f]+\.[a-z]+$/;

/** Measures a bare repository. It may have hundreds of packs; only new ones are measured. */
export class MirrorScale {
  #finished: ReadonlyMap<string, number> = new Map();

  constructor(private readonly path: string) {}

  /** The size is zero if there is no repository. */
  async weigh(): Promise<MirrorSize> {
    const folder = join(this.path, "objects", "pack");
    const names = await readdir(folder).catch(() => []);
    const sizes = await Promise.all(
      names.map(async (name) => [name, this.#finished.get(name) ?? (await sizeOf(join(folder, name)))] as const),
    );
    this.#finished = new Map(sizes.filter(([name, bytes]) => FINISHED.test(name) && bytes > 0));
    return {
      bytes: sizes.reduce((sum, [, bytes]) => sum + bytes, 0),
      packs: names.filter((name) => name.endsWith(".pack")).length,
    };
  }
}

/** Zero if the file is gone. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
