import { type Application, type ApplicationSpec, isHydrated, type Source, sourcesOf } from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import type { ChangeRequest } from "../../model/change-request.js";
import type { ChangedPaths } from "../../model/collections.js";
import type { InputSet } from "../../model/input-set.js";
import type { FixedSource, Side } from "../../model/subject.js";
import type { Commits } from "../../ports/context.js";
import type { Snapshot } from "../../ports/snapshot.js";
import { cleanPath } from "../tree/repository-path.js";
import { canonicalRepository, isOwnRepository, redactUserInfo, refIn, servedByApi } from "../tree/repository-url.js";
import { buildEnvironment, kustomizeEntries, touchedPaths, touches, withVariables } from "./input-set.js";
import { inputsAtAny } from "./inputs.js";

/** What decides which sources a change request moves. */
export type Branches = Pick<
  ChangeRequest,
  "repositoryUrls" | "baseBranch" | "defaultBranch" | "repository" | "repositoryId"
>;

/**
 * 1-based positions of the sources that get the change request's commit: those of its repository that follow its base
 * branch, `ref` sources included (Argo CD refuses two revisions of one repository in an application). All others keep
 * their own revision. An application with a source hydrator has none: Argo CD syncs only what it has hydrated.
 */
export function movingPositions(spec: ApplicationSpec, change: Branches): readonly number[] {
  return movingAmong(ownSources(spec, change), spec, change);
}

/** The same, given the application's `ownSources`. */
function movingAmong(own: readonly Source[], spec: ApplicationSpec, change: Branches): readonly number[] {
  if (isHydrated(spec)) return [];
  return own.filter((source) => followsBase(source.targetRevision, change)).map(({ position }) => position);
}

/** The Git sources of the change request's repository, at any revision. */
export function ownSources(spec: ApplicationSpec, change: Branches): readonly Source[] {
  return sourcesOf(spec).filter((source) => isOwnSource(source, change));
}

/** Whether it reads the change request's repository with git, at any revision. */
export function isOwnSource({ chart, repoURL }: Source, change: Pick<Branches, "repositoryUrls">): boolean {
  return chart === undefined && !/^\s*oci:/i.test(repoURL) && isOwnRepository(change, repoURL);
}

/** Whether a target revision means the tip of the change request's base branch. */
export function followsBase(targetRevision: string, { baseBranch, defaultBranch }: Branches): boolean {
  if (isCommitId(targetRevision)) return false;
  if (targetRevision === "" || targetRevision === "HEAD") return baseBranch === defaultBranch;
  // A branch can have a name that begins with `refs/heads/`.
  return targetRevision.replace(/^refs\/heads\//, "") === baseBranch;
}

/**
 * What an application follows of the change request's repository besides its base branch, where a push deploys without a
 * change request. A tag counts, since whoever may push can move it, and so does any name that is not a full commit id.
 */
export function followedAside(spec: ApplicationSpec, change: Branches): readonly string[] {
  const names = ownSources(spec, change).map(({ targetRevision }) => nameAside(targetRevision, change));
  return [...new Set(names.filter((name) => name !== undefined))];
}

/** The name of a revision of the change request's repository that moves, unless it means the base branch. */
export function nameAside(targetRevision: string, change: Branches): string | undefined {
  if (isCommitId(targetRevision) || followsBase(targetRevision, change)) return undefined;
  return targetRevision === "" ? "HEAD" : targetRevision;
}

/** Why no change request deploys a hydrated application. */
export const HYDRATED =
  "it uses Argo CD's source hydrator, which deploys only what it has hydrated itself: it takes effect at the merge";

/** Why a change request does not move all of an application's own sources; undefined if it does. */
export function notMovingReason(spec: ApplicationSpec, change: Branches): string | undefined {
  const own = ownSources(spec, change);
  if (own.length === 0) return `none of its sources is in ${change.repository}`;
  const others = own.filter((source) => !followsBase(source.targetRevision, change));
  if (isHydrated(spec) && others.length < own.length) return HYDRATED;
  if (others.length === 0) return undefined;
  const several = !isHydrated(spec) && sourcesOf(spec).length > 1;
  const followed = others.map((source) => {
    const name = source.targetRevision === "" ? `HEAD (${change.defaultBranch})` : source.targetRevision;
    return several ? `source ${source.position} follows ${name}` : `it follows ${name}`;
  });
  return `${followed.join(", ")}, not ${change.baseBranch}: this change does not reach it before that moves`;
}

/** The commit that a target revision names now, or why svc cannot tell which one Argo CD would take. */
type FollowedRevision =
  | { readonly kind: "commit"; readonly commit: Revision }
  | { readonly kind: "unclear"; readonly problem: string };

/**
 * Resolves a target revision as Argo CD does (v3.5 `lsRemote` in util/git/client.go), but takes none of two commits where
 * Argo CD takes either. Abbreviated commit ids and ranges of versions are not resolved: somebody who may push decides later
 * what they mean.
 * @param refs branches and tags by full name.
 */
export function followedRevision(
  targetRevision: string,
  refs: ReadonlyMap<string, Revision>,
  defaultBranch: string,
): FollowedRevision {
  if (isCommitId(targetRevision)) return { kind: "commit", commit: targetRevision.toLowerCase() as Revision };
  const name = targetRevision === "" ? "HEAD" : targetRevision;
  if (isRange(name)) return unclear(`${name} may mean a range of versions`);
  const named = [`refs/heads/${name}`, `refs/tags/${name}`];
  if (name.startsWith("refs/")) named.push(name);
  if (name === "HEAD") named.push(`refs/heads/${defaultBranch}`);
  const found = named.filter((ref) => refs.has(ref));
  const [commit, ...others] = new Set(found.map((ref) => refs.get(ref)));
  if (commit === undefined) return unclear(missing(name));
  return others.length === 0 ? { kind: "commit", commit } : unclear(`${name} means both ${found.join(" and ")}`);
}

/** Argo CD takes 40 digits as a commit id, even if a branch has that name. */
function isCommitId(targetRevision: string): boolean {
  return /^[0-9A-Fa-f]{40}$/.test(targetRevision);
}

const VERSION = /^v?\d+(?:\.\d+){0,2}(?:-[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?$/;
/**
 * Whether a name may be a constraint of the library Masterminds/semver (its `cvRegex`), which means the highest tag in it, before
 * any branch of that name. Some names of branches count as well, such as `2.x`.
 */
function isRange(name: string): boolean {
  if (VERSION.test(name) || !/^[\s\dA-Za-z.,|*=!<>~^+-]*$/.test(name)) return false;
  // Each class takes all it can, so that a long text costs no more than its length.
  const bare = name.replace(/^[\s=!<>~^]+/, "");
  return /^v?[\dxX*|]+(?:\.[\dxX*|]+){0,2}(?:[\s,|<>=!~^+-]|$)/.test(bare);
}

function missing(name: string): string {
  if (/^[0-9A-Fa-f]{7,}$/.test(name)) return `${name} is an abbreviated commit id`;
  return `${name} is neither a branch nor a tag of this repository`;
}

function unclear(reason: string): FollowedRevision {
  return { kind: "unclear", problem: `${reason}, so svc cannot tell which commit Argo CD would deploy` };
}

interface SideFound {
  readonly side: Side;
  /** Why a source of this repository has no certain commit, with the cure; `side` leaves it out. */
  readonly unclear: string | undefined;
  /** Why a source may not follow the base branch although it has its name; part of `unclear`. */
  readonly doubtful: string | undefined;
}

/** Finds the commit of every source of this repository; asks the host for branches and tags only if it has to. @throws {RepositoryFailure} */
export async function sideOf(spec: ApplicationSpec, { change, snapshot }: Commits): Promise<SideFound> {
  const own = ownSources(spec, change);
  const positions = movingAmong(own, spec, change);
  const others = isHydrated(spec) ? [] : own.filter(({ position }) => !positions.includes(position));
  const doubtful = own.filter((source) => positions.includes(source.position) && mayMeanTag(source));
  if (others.length + doubtful.length === 0) {
    return { side: { spec, positions, fixed: [] }, unclear: undefined, doubtful: undefined };
  }
  const refs = await snapshot.refs();
  const doubts = doubtful.flatMap((source) => {
    const problem = tagProblem(source, refs);
    return problem === undefined ? [] : [`source ${source.position}: ${problem}`];
  });
  const problems = [...doubts];
  const fixed = others.flatMap((source): readonly FixedSource[] => {
    const { position, targetRevision } = source;
    const found = followedRevision(taggedName(source) ?? targetRevision, refs, change.defaultBranch);
    if (found.kind === "commit") return [{ position, follows: targetRevision, revision: found.commit }];
    problems.push(`source ${position}: ${found.problem}`);
    return [];
  });
  const cure = `Name a branch${doubts.length > 0 ? ` (refs/heads/${change.baseBranch})` : ""}, a tag or a whole commit id as its target revision`;
  const sentences = (why: readonly string[]) => (why.length === 0 ? undefined : `${why.join("; ")}. ${cure}`);
  return { side: { spec, positions, fixed }, unclear: sentences(problems), doubtful: sentences(doubts) };
}

/** Whether Argo CD may look for a tag before the branch of this name (`MaxVersion` in util/versions of v3.5). */
function mayMeanTag(source: Source): boolean {
  return isRange(source.targetRevision) || taggedName(source) !== undefined;
}

/** The name of the tag that a version with a prefix means. */
function taggedName({ targetRevision, tagPrefix }: Source): string | undefined {
  return tagPrefix !== undefined && VERSION.test(targetRevision) ? `${tagPrefix}${targetRevision}` : undefined;
}

/** Whether a version may be in a range. Only `1.x`, `1.x.x`, `1.2.x` and the like are compared with it. */
function mayBeIn(range: string, version: string): boolean {
  const numbers = /^v?(\d+(?:\.\d+)?)(?:\.[xX*]){1,2}$/.exec(range)?.[1]?.split(".");
  const [major = "", minor = "0"] = /^v?(\d+)(?:\.(\d+))?/.exec(version)?.slice(1) ?? [];
  return numbers === undefined || numbers.every((number, at) => Number(number) === Number([major, minor][at]));
}

function tagProblem(source: Source, refs: ReadonlyMap<string, Revision>): string | undefined {
  const { targetRevision, tagPrefix = "" } = source;
  if (taggedName(source) !== undefined) return `${targetRevision} with the prefix ${tagPrefix} means a tag`;
  const start = `refs/tags/${tagPrefix}`;
  const tags = [...refs.keys()].flatMap((ref) => (ref.startsWith(start) ? [ref.slice(start.length)] : []));
  // Without such a version among the tags, Argo CD takes the branch.
  if (!tags.some((tag) => VERSION.test(tag) && mayBeIn(targetRevision, tag))) return undefined;
  return `${targetRevision} may mean a range of versions, and Argo CD takes the highest tag in it before a branch of that name`;
}

interface InputReasons {
  /** Why sources that follow the base branch are affected; empty when they are not. */
  readonly moving: readonly string[];
  /** Whether sources of the repository that do not follow the base branch read changed files. */
  readonly others: boolean;
  /** What its files read by address of this repository's base branch, if that changes. Completes "its files read … when it is merged". */
  readonly byAddress: string | undefined;
  /** The changed files that are certainly read: not those of a source that may read any file. */
  readonly touched: readonly string[];
}

interface Surroundings {
  readonly change: ChangeRequest;
  readonly snapshot: Snapshot;
  readonly changed: ChangedPaths;
  /** What the base branch changed since the head left it: it may have come to read what changes. */
  readonly since: ChangedPaths;
}

/** Compares the changed files with what any of these definitions of one application reads, in the trees of both sides. */
export async function findInputReasons(
  definitions: readonly Application[],
  around: Surroundings,
): Promise<InputReasons> {
  const { change, changed } = around;
  const moving: string[] = [];
  const touched: (readonly string[])[] = [];
  let others = false;
  let byAddress: string | undefined;
  for (const definition of definitions) {
    const sources = ownSources(definition.spec, change);
    const own = [...new Set(sources.map(({ position }) => position))];
    const moved = movingAmong(sources, definition.spec, change);
    const inputs = await inputsOfBothSides(definition, moved, around);
    if (touches(inputs, changed)) {
      const certain = certainlyTouched(inputs, changed);
      moving.push(reasonOf(inputs, certain, changed));
      touched.push(certain);
    }
    const fixed = own.filter((position) => !moved.includes(position));
    const rest = await inputsOfBothSides(definition, fixed, around);
    if (touches(rest, changed)) {
      others = true;
      touched.push(certainlyTouched(rest, changed));
    }
    const found = await findByAddress(definition, [...inputs, ...rest], around);
    byAddress ??= found?.reads;
    touched.push(found?.touched ?? []);
  }
  return { moving: [...new Set(moving)], others, byAddress, touched: touched.flat() };
}

/** More addresses, and more of its own repository, than any application needs. */
const MAX_ADDRESSES = 1000;
const MAX_OWN = 50;

/** The first address, in these inputs or in what such addresses lead to, that means changed files of the base branch. */
async function findByAddress(
  definition: Application,
  inputs: InputSet,
  around: Surroundings,
): Promise<{ readonly reads: string; readonly touched: readonly string[] } | undefined> {
  const { change, changed } = around;
  const named = sourcesOf(definition.spec).flatMap((source) => {
    const { chart, repoURL, helm } = source;
    const charts = chart === undefined ? [] : [repoURL];
    const files = [...charts, ...(helm?.valueFiles ?? []), ...(helm?.fileParameters ?? [])];
    const environment = buildEnvironment(definition, source.path);
    const filled = files.flatMap((file) => withVariables(file, environment).slice(0, 1));
    // Anything may stand in place of a variable that svc does not know.
    const web = filled.filter((file) => /^https?:/i.test(file)).map((file) => file.replace(/(?<=\/)[^/$]*\$.*$/s, ""));
    return [...web, ...kustomizeEntries(source)];
  });
  const waiting = [...inputs.flatMap(({ addresses = [] }) => addresses), ...named];
  const seen = new Set<string>();
  let own = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const path = ownPathOf(next, change);
    if (path !== undefined) own += 1;
    if (own > MAX_OWN || seen.size > MAX_ADDRESSES || (path === undefined && isLong(next))) {
      return { reads: "more or longer addresses than svc looks up: the change may reach it", touched: [] };
    }
    if (path === undefined) continue;
    const source = { repoURL: change.repositoryUrls[0] ?? "", path };
    const read = await inputsOfBothSides({ ...definition, annotations: {}, spec: { source } }, [1], around);
    if (touches(read, changed)) {
      const reads = `${withoutSecrets(next)} by this address: the change reaches it`;
      return { reads, touched: certainlyTouched(read, changed) };
    }
    for (const one of read.flatMap(({ addresses = [] }) => addresses)) waiting.push(one);
  }
  return undefined;
}

/** A query with other options than those of Kustomize may hold a token, and a long one would hide what follows it. */
function withoutSecrets(address: string): string {
  const [bare = "", query = ""] = address.split(/\?(.*)/s);
  const isOpen = query.split("&").every((part) => /^(?:(?:ref|version|submodules|timeout|depth)=|$)/.test(part));
  return redactUserInfo(isOpen && address.length <= LONGEST_ADDRESS ? address : bare);
}

/** No repository has a longer one, and the cost of reading it grows faster than its length. */
const LONGEST_ADDRESS = 2048;

/** Whether an address has more than `ownPathOf` looks at, such as many `./` in front of the repository. */
function isLong(address: string): boolean {
  const [bare = ""] = address.split(/[?#]/, 1);
  return bare.length > LONGEST_ADDRESS || bare.split("/").length > MOST_PARTS;
}

/**
 * The path in the change request's repository that an address names as Kustomize reads it, if that is at the base branch:
 * `https://host/owner/name//path?ref=branch`, `host:owner/name` and the like (`NewRepoSpecFromURL` of Kustomize 5), or as a single file.
 */
function ownPathOf(address: string, change: Branches): string | undefined {
  const [, written = "", query = ""] = /^(?:git::)?([^?#]*)\??([^#]*)/i.exec(address) ?? [];
  const bare = written.replace(/^(?:[\w-]+@([\w.-]+)\/|([\w-]+(?:\.[\w-]+)+):(?!\d+\/))/, "git@$1$2:");
  // A query may be as long as somebody likes.
  if (bare.length > LONGEST_ADDRESS) return undefined;
  const url = bare.includes("://") || /^[^/]+@/.test(bare) ? bare : `https://${bare}`;
  const parts = url.split("/");
  const file = ownFileOf(parts, change);
  if (file !== undefined || !followsBase(refIn(query), change)) return file;
  const ends = endOfRepository(parts, 1, (start) => isOwnRepository(change, start));
  return ends === -1 ? servedByApi(url, change) : cleanPath(...parts.slice(ends + 1));
}

/**
 * The path of a single file of the base branch, which the hosts serve at `<repository>/raw/<branch>/<path>`, some with `/-` before
 * it or with `blob` in place of `raw`, or at `<owner>/<name>/<branch>/<path>` of a host `raw.…`, or of the path `/raw` on servers
 * without a subdomain for files.
 */
function ownFileOf(parts: readonly string[], change: Branches): string | undefined {
  const isOwn = (url: string) => isOwnRepository(change, url);
  const own = change.repositoryUrls.map(pathOnHost);
  const file = /^raw\./i.test(parts[2] ?? "")
    ? behindRepository(parts, (url) => own.includes(pathOnHost(url)))
    : (/^(?:-\/)?(?:raw|blob)\/(.*)$/s.exec(behindRepository(parts, isOwn))?.[1] ??
      (parts[3] === "raw" ? behindRepository(parts.toSpliced(3, 1), isOwn) : ""));
  const { baseBranch, defaultBranch } = change;
  const names = [`refs/heads/${baseBranch}/`, `${baseBranch}/`, ...(baseBranch === defaultBranch ? ["HEAD/"] : [])];
  const name = names.find((one) => `${file}/`.startsWith(one));
  return name === undefined ? undefined : cleanPath(file.slice(name.length));
}

/** What follows the address of a repository; empty without one. */
function behindRepository(parts: readonly string[], isRepository: (url: string) => boolean): string {
  const ends = endOfRepository(parts, 3, isRepository);
  return ends === -1 ? "" : parts.slice(ends + 1).join("/");
}

/** More parts than the address of a repository has: hosts allow some twenty groups in each other. */
const MOST_PARTS = 40;

function endOfRepository(parts: readonly string[], first: number, isRepository: (url: string) => boolean): number {
  const starts = parts.slice(0, MOST_PARTS).map((_, at) => parts.slice(0, at + 1).join("/"));
  return starts.findIndex((start, at) => at >= first && isRepository(start));
}

function pathOnHost(url: string): string {
  return canonicalRepository(url)?.replace(/^[^/]*\//, "") ?? url;
}

function inputsOfBothSides(
  definition: Application,
  positions: readonly number[],
  { change, snapshot, changed, since }: Surroundings,
): Promise<InputSet> {
  const { mergeBase, headRevision, baseRevision } = change;
  const others = [
    { to: headRevision, changed },
    { to: baseRevision, changed: since },
  ];
  return inputsAtAny(definition, positions, snapshot, mergeBase, ...others);
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
