import { isOwnSource } from "../detect/inputs/moving-sources.js";
import { gitGenerators } from "../detect/scan/git-generators.js";
import { isOwnRepository } from "../detect/tree/repository-url.js";
import {
  type Application,
  type ApplicationSet,
  type LiveApplication,
  type Source,
  sourcesOf,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import type { Member } from "../model/effect.js";
import type { DefinedIn } from "../model/settings.js";
import type { Naming } from "../ports/deployer.js";
import { withoutCredentials } from "../secrets/hide-in-text.js";

/** What runs, to find where it is defined. */
interface Running {
  readonly live: ReadonlyMap<ApplicationName, Application>;
  readonly change: Pick<ChangeRequest, "repositoryUrls">;
}

/** Applications that define applications; more are taken for a cycle. */
const MAX_LEVELS = 8;

/**
 * The other repositories that an application which runs is defined in: those that its parent or its ApplicationSet is read
 * from. If nothing declares it, those of its own sources.
 */
export function definedElsewhere(
  application: Application | LiveApplication,
  running: Running,
  levels = MAX_LEVELS,
): readonly DefinedIn[] {
  const { parent } = application;
  const { owningSet, generatedBy } = { owningSet: undefined, generatedBy: undefined, ...application };
  const declared =
    owningSet === undefined
      ? parent && ofParent(parent, running, levels)
      : generatedBy === undefined
        ? [unknown(`svc cannot see the ApplicationSet ${owningSet}, which generates it`)]
        : ofSet(generatedBy, running, levels);
  return declared ?? elsewhere(gitSources(application), running);
}

/** The same of an application that a parent or a set defines; of a new one, those that will define it. */
export function reachedFrom(
  { application, reachedBy, definedIn = [] }: Member,
  running: Running & { readonly everySet: readonly ApplicationSet[]; readonly nameOf: Naming },
): readonly DefinedIn[] {
  const now = running.live.get(application);
  switch (reachedBy.kind) {
    case "direct":
      return definedIn;
    case "child": {
      const before = now === undefined ? [] : definedElsewhere(now, running);
      return distinct([...before, ...ofParent(reachedBy.of, running, MAX_LEVELS)]);
    }
    case "generated": {
      const set = running.everySet.find(({ namespace, name }) => running.nameOf(namespace, name) === reachedBy.by);
      const bySet = set && ofSet(set, running, MAX_LEVELS);
      return bySet ?? (now === undefined ? [] : definedElsewhere(now, running));
    }
  }
}

/** A chart's values may come from another source, and say what it defines, so that all sources count. */
function ofParent(name: ApplicationName, running: Running, levels: number): readonly DefinedIn[] {
  const parent = running.live.get(name);
  if (parent === undefined) {
    return [unknown(`svc cannot see the application ${name}, which Argo CD tracks as its parent`)];
  }
  const read = gitSources(parent);
  if (read.length > 0 || parent.parent === name) return elsewhere(read, running);
  // Only its definition says what its charts make of it.
  if (levels === 0) return [unknown(`the applications above ${name} define each other`)];
  return definedElsewhere(parent, running, levels - 1);
}

/** Undefined if neither a repository that svc knows nor a parent declares the set. */
function ofSet(set: ApplicationSet, running: Running, levels: number): readonly DefinedIn[] | undefined {
  const read = gitGenerators(set).flatMap(({ repoURL, revision }) =>
    typeof repoURL === "string" ? [{ repoURL, targetRevision: typeof revision === "string" ? revision : "" }] : [],
  );
  if (read.length === 0 && set.parent === undefined) return undefined;
  const byParent = set.parent === undefined ? [] : ofParent(set.parent, running, levels);
  const others = read.filter(({ repoURL }) => !isOwnRepository(running.change, repoURL));
  return distinct([...byParent, ...others.map(place)]);
}

function gitSources({ spec }: Application): readonly Source[] {
  return sourcesOf(spec).filter(({ chart, repoURL }) => chart === undefined && !/^\s*oci:/i.test(repoURL));
}

function elsewhere(sources: readonly Source[], { change }: Running): readonly DefinedIn[] {
  return distinct(sources.filter((source) => !isOwnSource(source, change)).map(place));
}

function place({ repoURL, targetRevision }: Pick<Source, "repoURL" | "targetRevision">): DefinedIn {
  return { kind: "repository", repoURL: withoutCredentials(repoURL, "every"), follows: targetRevision };
}

function unknown(reason: string): DefinedIn {
  return { kind: "unknown", reason };
}

function distinct(places: readonly DefinedIn[]): readonly DefinedIn[] {
  return [...new Map(places.map((one) => [JSON.stringify(one), one])).values()];
}
