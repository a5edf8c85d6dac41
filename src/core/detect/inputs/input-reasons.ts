import type { Application } from "../../model/application.js";
import type { ChangeRequest } from "../../model/change-request.js";
import type { ChangedPaths, InputSet } from "../../model/input-set.js";
import type { Snapshot } from "../../ports/snapshot.js";
import { touchedPaths, touches } from "./input-set.js";
import { inputsAtEither } from "./inputs.js";
import { movingAmong, ownSources } from "./moving-sources.js";

interface InputReasons {
  /** Why sources that follow the base branch are affected; empty when they are not. */
  readonly moving: readonly string[];
  /** Whether sources of the repository that do not follow the base branch read changed files. */
  readonly others: boolean;
  /** The changed files that are certainly read: not those of a source that may read any file. */
  readonly touched: readonly string[];
}

interface Surroundings {
  readonly change: ChangeRequest;
  readonly snapshot: Snapshot;
  readonly changed: ChangedPaths;
}

/** Compares the changed files with what any of these definitions of one application reads, in both trees. */
export async function findInputReasons(
  definitions: readonly Application[],
  around: Surroundings,
): Promise<InputReasons> {
  const { change, changed } = around;
  const moving: string[] = [];
  const touched: (readonly string[])[] = [];
  let others = false;
  for (const definition of definitions) {
    const sources = ownSources(definition.spec, change);
    const own = [...new Set(sources.map(({ position }) => position))];
    const moved = movingAmong(sources, definition.spec, change);
    const inputs = await inputsInBothTrees(definition, moved, around);
    if (touches(inputs, changed)) {
      const certain = certainlyTouched(inputs, changed);
      moving.push(reasonOf(inputs, certain, changed));
      touched.push(certain);
    }
    const fixed = own.filter((position) => !moved.includes(position));
    const rest = await inputsInBothTrees(definition, fixed, around);
    if (touches(rest, changed)) {
      others = true;
      touched.push(certainlyTouched(rest, changed));
    }
  }
  return { moving: [...new Set(moving)], others, touched: touched.flat() };
}

function inputsInBothTrees(
  definition: Application,
  positions: readonly number[],
  { change, snapshot, changed }: Surroundings,
): Promise<InputSet> {
  const difference = { from: change.mergeBase, to: change.headRevision, changed };
  return inputsAtEither(definition, positions, snapshot, difference);
}

function certainlyTouched(inputs: InputSet, changed: ChangedPaths): readonly string[] {
  return touchedPaths(
    inputs.map((part) => ({ ...part, whole: undefined })),
    changed,
  );
}

function reasonOf(inputs: InputSet, certain: readonly string[], changed: ChangedPaths): string {
  const known = inputs.filter(({ whole }) => whole === undefined);
  const [first, ...more] = known.length === inputs.length ? certain : touchedPaths(known, changed);
  if (first !== undefined) {
    return `it reads ${first}${more.length > 0 ? ` and ${more.length} more of the changed files` : ""}`;
  }
  const whole = inputs.find((part) => part.whole !== undefined)?.whole ?? "";
  return `it may read any changed file: ${whole}`;
}
