import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** How a version stands in the built code, and how the next one would write it and still read the old. */
const EDITS: readonly (readonly [RegExp, string])[] = [
  [/\bv: z\.literal\(1\)/g, "v: z.union([z.literal(1), z.literal(2)])"],
  [/\{ v: 1,/g, "{ v: 2,"],
  [/\b(value|record)\.v ~= 1\b/g, "($1.v ~= 1 and $1.v ~= 2)"],
  [/value\.v == 1\b/g, "(value.v == 1 or value.v == 2)"],
];

/**
 * Makes, beside a build, one that writes every stored value as version 2 and reads both, as a later release would.
 * @throws {Error} when an edit found nothing: the code writes versions in another way now.
 */
export async function makeNextBuild(build: string, target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await cp(build, target, { recursive: true });
  const found = new Map(EDITS.map(([pattern]) => [pattern, 0]));
  const files = await readdir(target, { recursive: true });
  for (const file of files.filter((name) => /\.(?:js|lua)$/.test(name))) {
    const path = join(target, file);
    const before = await readFile(path, "utf8");
    let text = before;
    for (const [pattern, by] of EDITS) {
      found.set(pattern, (found.get(pattern) ?? 0) + (text.match(pattern)?.length ?? 0));
      text = text.replace(pattern, by);
    }
    if (text !== before) await writeFile(path, text);
  }
  for (const [pattern, count] of found) if (count === 0) throw new Error(`nothing matches ${String(pattern)}`);
}
