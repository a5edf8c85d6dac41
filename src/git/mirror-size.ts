import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** What a mirror takes on the disk. */
export interface MirrorSize {
  /** Of the packs and of what lies beside them. */
  readonly bytes: number;
  readonly packs: number;
}

/** A file that git never changes once it has this name; the others are still being written. */
const FINISHED = /^pack-[0-9a-f]+\.[a-z]+$/;

/** Measures a bare repository; each fetch leaves a pack, and of hundreds only the new ones are looked at. */
export class MirrorScale {
  #finished: ReadonlyMap<string, number> = new Map();

  constructor(private readonly path: string) {}

  /** A repository that is not there has no size. */
  async weigh(): Promise<MirrorSize> {
    const folder = join(this.path, "objects", "pack");
    const names = await readdir(folder).catch(() => []);
    const sizes = await Promise.all(
      names.map(async (name): Promise<readonly [string, number]> => {
        const bytes = this.#finished.get(name) ?? (await sizeOf(join(folder, name)));
        return [name, bytes];
      }),
    );
    this.#finished = new Map(sizes.filter(([name, bytes]) => FINISHED.test(name) && bytes > 0));
    return {
      bytes: sizes.reduce((sum, [, bytes]) => sum + bytes, 0),
      packs: names.filter((name) => name.endsWith(".pack")).length,
    };
  }
}

/** Zero for a file that is gone. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
