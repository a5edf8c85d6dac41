import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Environment } from "../config/environment.js";
import { errorCode } from "../config/files.js";
import type { Clock } from "../core/ports/clock.js";
import { SERVER_FILE, SERVICE } from "../names.js";

/** New files for secrets, created before the secrets are, so that none is created that cannot be stored. */
export class SecretFiles {
  readonly #files = new Map<string, { readonly path: string; readonly handle: FileHandle }>();

  private constructor(readonly folder: string) {}

  /** Creates empty files that only this user can read, and touches no others. @throws {SetupRefused} and leaves nothing behind. */
  static async create(folder: string, names: readonly string[]): Promise<SecretFiles> {
    const files = new SecretFiles(folder);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      for (const name of names) {
        const path = join(folder, name);
        files.#files.set(name, { path, handle: await open(path, "wx", 0o600) });
      }
    } catch (error) {
      await files.discard();
      throw new SetupRefused(sentenceFor(error, folder, names[files.#files.size] ?? ""));
    }
    return files;
  }

  /** Writes the texts and closes the files. @throws {SetupRefused} after removing the files. */
  async write(texts: Readonly<Record<string, string>>): Promise<readonly string[]> {
    try {
      for (const [name, { handle }] of this.#files) {
        await handle.writeFile(texts[name] ?? "");
        await handle.sync();
        await handle.close();
      }
    } catch (error) {
      await this.discard();
      throw new SetupRefused(`${this.folder}: the secrets cannot be written (${errorCode(error) ?? "unknown reason"})`);
    }
    return [...this.#files.values()].map(({ path }) => path);
  }

  /** Removes the files that were created. */
  async discard(): Promise<void> {
    for (const { path, handle } of this.#files.values()) {
      await handle.close().catch(() => undefined);
      await rm(path, { force: true });
    }
  }
}

function sentenceFor(error: unknown, folder: string, name: string): string {
  const path = join(folder, name);
  const code = errorCode(error) ?? "unknown reason";
  switch (code) {
    case "EEXIST":
      return `${path} exists already, and setup overwrites nothing: move it away, or name another folder with --secrets`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `${path} cannot be written: access denied. Name another folder with --secrets`;
    default:
      return `${path} cannot be written (${code}): name another folder with --secrets`;
  }
}

/** What setup needs of the process. */
export interface SetupParts {
  readonly env: Environment;
  /** Reads all of standard input. */
  readonly stdin: () => Promise<string>;
  readonly print: (lines: readonly string[]) => void;
  readonly clock: Clock;
}

/** Sections of the configuration, ready to be copied. */
export function sectionLines(sections: Readonly<Record<string, object>>): readonly string[] {
  const text = stringify(sections, { lineWidth: 0 });
  return [
    "",
    `This goes into ${SERVER_FILE}, or into config of the chart's values:`,
    "",
    ...text.trimEnd().split("\n"),
  ];
}

/** What to do after setup. */
export function nextSteps(steps: readonly string[], secrets: string): readonly string[] {
  const all = [
    ...steps,
    `Set a variable for each file in ${secrets}/, or make the Secret of the chart: kubectl -n ${SERVICE} create secret generic ${SERVICE} --from-file=${secrets}/`,
    `Check that everything works together: ${SERVICE} check --online ${SERVER_FILE}`,
  ];
  return ["", "Next:", ...all.map((step, index) => `${index + 1}. ${step}`)];
}

/** Ends setup. The message tells the operator what to do. */
export class SetupRefused extends Error {
  override readonly name = "SetupRefused";
  /** Retrying the same setup cannot succeed. */
  readonly final: boolean;

  constructor(message: string, { final = false }: { readonly final?: boolean } = {}) {
    super(message);
    this.final = final;
  }
}
