import { renderingSources } from "../../model/application-spec.js";
import type { ApplicationSet } from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import { followsBase, isOwnSource, type Branches } from "../inputs/moving-sources.js";
import { isOwnRepository } from "../tree/repository-url.js";

/**
 * A copy of the set with its git generators pinned to this commit where they follow the base branch of the change
 * request's repository, also inside matrix and merge generators. The template keeps its target revision, so that both
 * sides of a preview differ only by the change request.
 */
export function pinGitGenerators(set: ApplicationSet, change: Branches, revision: Revision): ApplicationSet {
  const resource = mapGitGenerators(set.resource, (git) => (moves(git, change) ? { ...git, revision } : git));
  return { ...set, resource };
}

function moves(git: JsonObject, change: Branches): boolean {
  const { revision } = git;
  return isOwn(git, change) && followsBase(typeof revision === "string" ? revision : "", change);
}

function isOwn({ repoURL }: JsonObject, change: Branches): boolean {
  return typeof repoURL === "string" && isOwnRepository(change, repoURL);
}

/** Argo CD allows two levels of matrix and merge generators. */
const NESTING = 3;

function mapGitGenerators(resource: JsonObject, replace: (git: JsonObject) => JsonObject): JsonObject {
  const spec = resource.spec;
  if (!isJsonObject(spec)) return resource;
  return { ...resource, spec: { ...spec, generators: mapped(spec.generators, NESTING) } };

  function mapped(generators: Json | undefined, levels: number): Json | undefined {
    if (!Array.isArray(generators) || levels === 0) return generators;
    return (generators as readonly Json[]).map((generator): Json => {
      if (!isJsonObject(generator)) return generator;
      const members = Object.entries(generator).map(
        ([kind, options]) => [kind, member(kind, options, levels)] as const,
      );
      return Object.fromEntries<Json | undefined>(members);
    });
  }

  function member(kind: string, options: Json | undefined, levels: number): Json | undefined {
    if (!isJsonObject(options)) return options;
    if (kind === "git") return replace(options);
    const nests = kind === "matrix" || kind === "merge";
    return nests ? { ...options, generators: mapped(options.generators, levels - 1) } : options;
  }
}

/** The options of every git generator of a set, also inside matrix and merge generators. */
export function gitGenerators(set: ApplicationSet): readonly JsonObject[] {
  const found: JsonObject[] = [];
  mapGitGenerators(set.resource, (git) => {
    found.push(git);
    return git;
  });
  return found;
}

/** Whether a git generator may read what the change request changes. A template may resolve to the base branch. */
export function mayMove(git: JsonObject, change: Branches): boolean {
  return moves(git, change) || (isTemplated(git) && (isTemplate(git.repoURL) || isOwn(git, change)));
}

/** Whether the repository or the revision of a git generator is a template, which svc cannot pin to a commit. */
export function isTemplated(git: JsonObject): boolean {
  return isTemplate(git.repoURL) || isTemplate(git.revision);
}

function isTemplate(text: Json | undefined): boolean {
  return typeof text === "string" && text.includes("{{");
}

/**
 * Whether a generator reads the change request's repository, at any revision, or every source of the template that renders
 * manifests does.
 */
export function readsRepository(set: ApplicationSet, change: Branches): boolean {
  if (gitGenerators(set).some((git) => isOwn(git, change))) return true;
  const spec = set.resource.spec;
  const template = isJsonObject(spec) && isJsonObject(spec.template) ? spec.template.spec : undefined;
  if (!isJsonObject(template)) return false;
  const rendering = renderingSources(template);
  return rendering.length > 0 && rendering.every((source) => isOwnSource(source, change));
}
