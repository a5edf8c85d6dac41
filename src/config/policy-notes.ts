import { isDeepStrictEqual } from "node:util";
import { REPOSITORY_FILE } from "../names.js";
import { describeSelectors, SELECTORS } from "./rule-match.js";
import type { RepositoryConfig, RepositoryConfigResult } from "./repository.js";

/** Sentences for a plan about changes of the repository's file. See `resolveSettings` for what takes effect when. */
export function policyNotes(base: RepositoryConfigResult, head: RepositoryConfigResult): readonly string[] {
  if (head.kind === "invalid") return [];
  if (base.kind === "invalid") {
    return [
      `${REPOSITORY_FILE} is broken on the base branch and repaired here: until the merge every application requires approval, and the server's defaults apply to the rest`,
    ];
  }
  const mapping = mappingChanges(base.config, head.config);
  const later = [...ruleChanges(base.config, head.config), ...mapping.later];
  return [
    ...(later.length === 0
      ? []
      : [
          `${REPOSITORY_FILE}: takes effect only after the merge, because rules come from the base branch: ${later.join(", ")}`,
        ]),
    ...(mapping.now.length === 0 ? [] : [`${REPOSITORY_FILE}: acts on this PR already: ${mapping.now.join(", ")}`]),
  ];
}

/** Keys of the file whose values differ, as written there. */
function ruleChanges(base: RepositoryConfig, head: RepositoryConfig): readonly string[] {
  const apart = new Set(["version", "applications", "crPaths", "syncRequirements"]);
  const plain = changedKeys(base, head).filter((key) => !apart.has(key));
  return [...plain.map(snake), ...requirementChanges(base, head)];
}

function requirementChanges(base: RepositoryConfig, head: RepositoryConfig): readonly string[] {
  const [before, after] = [base.syncRequirements, head.syncRequirements];
  const names = [...new Set([...before, ...after].map(describeSelectors))];
  const changed = names.flatMap((name) => {
    const [old, now] = [before, after].map((entries) => entries.find((entry) => describeSelectors(entry) === name));
    return changedKeys(old, now)
      .filter((key) => !SELECTORS.some((one) => one === key))
      .map((key) => `sync_requirements ${name}: ${snake(key)}`);
  });
  if (changed.length > 0 || isDeepStrictEqual(before, after)) return changed;
  return ["the order of sync_requirements"];
}

interface MappingChanges {
  readonly now: readonly string[];
  readonly later: readonly string[];
}

function mappingChanges(base: RepositoryConfig, head: RepositoryConfig): MappingChanges {
  const [before, after] = [pathsOf(base), pathsOf(head)];
  const [looked, looks] = [base.crPaths ?? [], head.crPaths ?? []];
  const crPaths = crPathsChange(looked, looks);
  return {
    now: [...added(before, after).map((one) => `applications ${one}`), ...crPaths.now],
    later: [...added(after, before).map((one) => `removal of applications ${one}`), ...crPaths.later],
  };
}

/** No `cr_paths` means all files, on either side. */
function crPathsChange(before: readonly string[], after: readonly string[]): MappingChanges {
  if (before.length > 0 && after.length === 0) {
    return { now: ["removal of cr_paths (all files are scanned)"], later: [] };
  }
  if (before.length === 0 && after.length > 0) return { now: [], later: ["cr_paths"] };
  return {
    now: added(before, after).map((one) => `cr_paths ${one}`),
    later: added(after, before).map((one) => `removal of cr_paths ${one}`),
  };
}

function pathsOf({ applications }: RepositoryConfig): readonly string[] {
  return applications.flatMap(({ name, paths }) => paths.map((path) => `${name} (${path})`));
}

function added(before: readonly string[], after: readonly string[]): readonly string[] {
  return [...new Set(after)].filter((one) => !before.includes(one));
}

function changedKeys(before: object | undefined, after: object | undefined): readonly string[] {
  const [old, now] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  return [...new Set([...old.keys(), ...now.keys()])].filter((key) => !isDeepStrictEqual(old.get(key), now.get(key)));
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
