import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { REPOSITORY_FILE, SERVICE } from "../names.js";

export interface ConfigFile {
  readonly name: string;
  readonly text: string;
}

/** Whether a file is named like one of a repository, such as `.svc.yaml` or `.svc.example.yaml`. */
export function isRepositoryFile(path: string): boolean {
  const name = basename(path);
  return name === REPOSITORY_FILE || (name.startsWith(`.${SERVICE}.`) && /\.ya?ml$/.test(name));
}

type FilesRead =
  | { readonly kind: "read"; readonly files: readonly ConfigFile[] }
  | { readonly kind: "unreadable"; readonly messages: readonly string[] };

/** Reads configuration files, in order. */
export async function loadServerFiles(
  paths: readonly string[],
  readFile: (path: string) => Promise<string>,
): Promise<FilesRead> {
  const results = await Promise.allSettled(paths.map(async (name) => ({ name, text: await readFile(name) })));
  const files: ConfigFile[] = [];
  const messages: string[] = [];
  results.forEach((result, index) => {
    if (result.status === "fulfilled") files.push(result.value);
    else messages.push(`${paths[index] ?? ""}: the file cannot be read: ${reasonOf(result.reason)}`);
  });
  return messages.length === 0 ? { kind: "read", files } : { kind: "unreadable", messages };
}

function reasonOf(error: unknown): string {
  const code = errorCode(error);
  if (code === "ENOENT") return "there is no such file; name one with -c FILE";
  if (code === "EACCES") return "access denied";
  if (code === "EISDIR") return "it is a folder";
  return code ?? "unknown reason";
}

/** The code of a Node.js error, such as `ENOENT`; undefined for other errors. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The URL of a file shipped beside the code, below the nearest `package.json`: sources and bundle lie at different depths. @throws {Error} */
export function shippedFile(path: string): URL {
  let folder = new URL(".", import.meta.url);
  while (!existsSync(new URL("package.json", folder))) {
    const above = new URL("..", folder);
    if (above.href === folder.href) throw new Error(`there is no package.json above ${import.meta.url}`);
    folder = above;
  }
  return new URL(path, folder);
}

/** The version of this service, from its `package.json`. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(shippedFile("package.json"), "utf8"));
  const found = typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : "";
  return typeof found === "string" ? found : "";
}
