import { followedRevision, movingAmong, ownSources } from "../detect/inputs/moving-sources.js";
import { type ApplicationSpec, isHydrated } from "../model/application.js";
import type { FixedSource, Side } from "../model/subject.js";
import type { Commits } from "../ports/context.js";

/** A side with what its sources follow. */
interface SideFound {
  readonly side: Side;
  /** Why a source of this repository has no certain commit, with the cure; `side` leaves it out. */
  readonly unclear: string | undefined;
}

/**
 * Finds the commit of every source of this repository. Asks the host for branches and tags only if a source follows
 * something else than the base branch.
 * @throws {RepositoryFailure}
 */
export async function sideOf(spec: ApplicationSpec, { change, snapshot }: Commits): Promise<SideFound> {
  const own = ownSources(spec, change);
  const positions = movingAmong(own, spec, change);
  const others = isHydrated(spec) ? [] : own.filter(({ position }) => !positions.includes(position));
  if (others.length === 0) return { side: { spec, positions, fixed: [] }, unclear: undefined };
  const refs = await snapshot.refs();
  const problems: string[] = [];
  const fixed = others.flatMap(({ position, targetRevision }): readonly FixedSource[] => {
    const found = followedRevision(targetRevision, refs, change.defaultBranch);
    if (found.kind === "commit") return [{ position, follows: targetRevision, revision: found.commit }];
    problems.push(`source ${position}: ${found.problem}`);
    return [];
  });
  const cure = "Name a branch, a tag or a whole commit id as its target revision";
  return {
    side: { spec, positions, fixed },
    unclear: problems.length === 0 ? undefined : `${problems.join("; ")}. ${cure}`,
  };
}
