import { mkdir, mkdtemp, readdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformFile } from "@swc/core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What the sources and their imports read beside themselves. */
const BESIDE = ["node_modules", "package.json", "openapi.yaml", "views"];

/**
 * Compiles `src/` into the folder of the run for all threads and programs that tests start: to compile it each time, as
 * tsx does, takes longer than most of them run.
 */
export async function compileSources() {
  const folder = await mkdtemp(join(process.env.SVC_TEST_MEMORY_FOLDER ?? tmpdir(), "svc-compiled-"));
  for (const name of BESIDE) await symlink(join(ROOT, name), join(folder, name));
  const entries = await readdir(join(ROOT, "src"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  await Promise.all(files.map((file) => place(file, join(folder, file.slice(ROOT.length)))));
  process.env.SVC_TEST_COMPILED = folder;
}

async function place(file, target) {
  await mkdir(dirname(target), { recursive: true });
  if (!file.endsWith(".ts")) return symlink(file, target);
  const { code } = await transformFile(file, {
    jsc: { target: "es2022", parser: { syntax: "typescript" } },
    module: { type: "es6" },
    sourceMaps: "inline",
  });
  return writeFile(target.replace(/\.ts$/, ".js"), code);
}
