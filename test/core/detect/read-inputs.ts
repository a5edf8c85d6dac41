import { touchedPaths } from "../../../src/core/detect/inputs/input-set.js";
import { inputsOf } from "../../../src/core/detect/inputs/inputs.js";
import type { Application } from "../../../src/core/model/application.js";
import { ChangedPaths } from "../../../src/core/model/collections.js";
import type { InputSet } from "../../../src/core/model/input-set.js";
import type { JsonObject } from "../../../src/core/model/json.js";
import { sampleApplication } from "../sample-application.js";
import { type Files, HEAD, memorySnapshot, OWN_URL } from "./memory-snapshot.js";

/** An Application `web` of Argo CD's own namespace. */
export function application(spec: JsonObject, more: Partial<Application> = {}): Application {
  return sampleApplication("web", spec, more);
}

/** With one source in the change request's repository. */
export function single(path: string, more: JsonObject = {}): Application {
  return application({ source: { repoURL: OWN_URL, path, ...more } });
}

/** What it reads of these files at a commit. */
export async function inputs(files: Files, of: Application, positions: readonly number[] = [1]): Promise<InputSet> {
  return inputsOf(of, positions, memorySnapshot(files), HEAD);
}

/** Which of these paths are inputs. */
export async function touched(
  files: Files,
  of: Application,
  paths: readonly string[],
  positions: readonly number[] = [1],
): Promise<readonly string[]> {
  return touchedAmong(await inputs(files, of, positions), paths);
}

/** Why the whole repository counts; undefined when it does not. */
export async function wholeReason(
  files: Files,
  of: Application,
  positions: readonly number[] = [1],
): Promise<string | undefined> {
  return (await inputs(files, of, positions)).find(({ whole }) => whole !== undefined)?.whole;
}

/** The paths among these that are inputs. */
export function touchedAmong(found: InputSet, paths: readonly string[]): readonly string[] {
  return touchedPaths(found, new ChangedPaths(paths));
}
