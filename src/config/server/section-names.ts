import { type ConfigProblem, type ConfigTree, keyPath, type MapTree } from "../yaml-tree.js";

interface OtherName {
  /** Keys of the map that holds the section. */
  readonly within: readonly string[];
  readonly name: string;
  readonly other: string;
}

/** Product names, for people who do not know `hosta` and `hostb`. */
export const OTHER_NAMES: readonly OtherName[] = [
  { within: [], name: "hosta", other: "github" },
  { within: [], name: "hostb", other: "gitlab" },
  { within: [], name: "deployer", other: "argocd" },
  { within: [], name: "kvstore", other: "redis" },
  { within: ["auth"], name: "hosta", other: "github" },
  { within: ["auth"], name: "hostb", other: "gitlab" },
];

interface Renamed {
  readonly tree: MapTree;
  readonly problems: readonly ConfigProblem[];
  /** Puts the names that this file uses into a problem's key; the products' if it uses none of the others. */
  readonly asWritten: (problem: ConfigProblem) => ConfigProblem;
}

/** Renames a file's sections to the names used everywhere else. A section under both names is a mistake. */
export function renameSections(file: MapTree): Renamed {
  const problems: ConfigProblem[] = [];
  const specified = OTHER_NAMES.filter(({ within, name }) => mapAt(file, within)?.entries.has(name) === true);
  const called = OTHER_NAMES.filter((one) => specified.length === 0 || mapAt(file, one.within)?.entries.has(one.other));
  let tree = file;
  for (const one of OTHER_NAMES) {
    const keys = mapAt(tree, one.within)?.entries;
    const other = keys?.get(one.other);
    if (other === undefined) continue;
    if (keys?.has(one.name) === true) {
      const message = `is another name of \`${one.name}\`, which is set as well: keep one of them`;
      problems.push({ ...other.keyAt, key: keyPath([...one.within, one.other]), message });
      tree = changedAt(tree, one.within, one.other, undefined);
    } else {
      tree = changedAt(tree, one.within, one.other, one.name);
    }
  }
  return { tree, problems, asWritten: (problem) => ({ ...problem, key: called.reduce(writtenKey, problem.key) }) };
}

function writtenKey(key: string, { within, name, other }: OtherName): string {
  const [known, written] = [name, other].map((one) => keyPath([...within, one]));
  const rest = known !== undefined && key.startsWith(known) ? key.slice(known.length) : undefined;
  return rest !== undefined && /^(?:$|[.[])/.test(rest) ? `${written ?? ""}${rest}` : key;
}

function mapAt(tree: ConfigTree | undefined, [part, ...rest]: readonly string[]): MapTree | undefined {
  if (tree?.kind !== "map") return undefined;
  return part === undefined ? tree : mapAt(tree.entries.get(part)?.value, rest);
}

/** Renames or removes one key; the others keep their order. */
function changedAt(tree: MapTree, [part, ...rest]: readonly string[], key: string, name: string | undefined): MapTree {
  type Entry = readonly [string, { readonly keyAt: MapTree["at"]; readonly value: ConfigTree }];
  const entries = [...tree.entries].flatMap(([known, entry]): readonly Entry[] => {
    if (part === undefined) {
      if (known !== key) return [[known, entry]];
      return name === undefined ? [] : [[name, entry]];
    }
    const { value } = entry;
    if (known !== part || value.kind !== "map") return [[known, entry]];
    return [[known, { ...entry, value: changedAt(value, rest, key, name) }]];
  });
  return { ...tree, entries: new Map(entries) };
}
