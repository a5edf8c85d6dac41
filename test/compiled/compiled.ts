import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** A module of `src/` as JavaScript; undefined outside of test runs that compile the sources. */
export function compiled(path: string): URL | undefined {
  const folder = process.env.SVC_TEST_COMPILED;
  return folder === undefined ? undefined : pathToFileURL(join(folder, "src", path));
}

/** Arguments with which Node runs the program. */
export function mainProgram(): readonly string[] {
  const main = compiled("main.js");
  return main === undefined ? ["--import", "tsx", "src/main.ts"] : [fileURLToPath(main)];
}
