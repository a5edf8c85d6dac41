import { CHANGE_REQUEST_PATHS, CHANGE_REQUEST_SIGILS, HOST_PREFIXES, type HostId } from "../../names.js";
import type { RepositoryName, Revision } from "./brand.js";

/** A person or program on a code host. */
export interface User {
  /** The host's numeric id as text; unlike a login it never changes. */
  readonly id: string;
  readonly login: string;
  /** The host marks it as a bot, an app or a token's account. */
  readonly bot: boolean;
}

/** Identifies one pull request or merge request. */
export interface ChangeRequestRef {
  readonly host: HostId;
  /** Its name at the time: repositories are renamed and transferred, and others get their names. */
  readonly repository: RepositoryName;
  /** The host's id of the repository as text; unlike the name it never changes. Absent in what older versions stored. */
  readonly repositoryId?: string | undefined;
  /** As people see it on the host. */
  readonly number: number;
}

/** A change request at the commit that is its head. */
export interface HeadRef extends ChangeRequestRef {
  readonly headRevision: Revision;
}

/** Current facts of a change request from the host's API, never from a webhook's body. */
export interface ChangeRequest extends ChangeRequestRef {
  readonly title: string;
  readonly webUrl: string;
  /** Undefined for a deleted account. */
  readonly author: User | undefined;
  readonly state: "open" | "closed" | "merged";
  readonly draft: boolean;
  /** The head branch is in another repository, or that repository was deleted. */
  readonly fork: boolean;
  readonly headBranch: string;
  readonly baseBranch: string;
  /** The branch that the host merges it into, with all those that it is stacked upon; absent if that is the base branch. */
  readonly stackBase?: string | undefined;
  /** What an empty or `HEAD` target revision means. */
  readonly defaultBranch: string;
  readonly headRevision: Revision;
  /** The tip of the base branch now. */
  readonly baseRevision: Revision;
  /** The commit of the base branch that holds the merge; absent if it is not merged, or the host does not tell. */
  readonly mergedAs?: Revision | undefined;
  /** Where the head branched off the base branch, as computed by the host. */
  readonly mergeBase: Revision;
  /** The id of the pipeline in which the commit status of the head stands; absent if the status does not stand in pipelines. */
  readonly pipeline?: string | undefined;
  /** As computed when the change request was read. A sync asks `CodeHost.mergeability`, which waits for the result. */
  readonly mergeability: Mergeability;
  /** URLs under which Argo CD may know this repository (HTTPS, SSH); compared by `isOwnRepository`. */
  readonly repositoryUrls: readonly string[];
}

/** Whether others build on the head branch, as its name says: svc neither deletes nor updates it. */
export function isSharedHead(
  { headBranch, baseBranch, defaultBranch }: Pick<ChangeRequest, "headBranch" | "baseBranch" | "defaultBranch">,
  protectedBranches: readonly string[],
): boolean {
  return [defaultBranch, baseBranch, ...protectedBranches].includes(headBranch);
}

/** Whether a merge would conflict; hosts compute it in the background. */
export type Mergeability = "mergeable" | "conflicts" | "unknown";

/** What pages say of a change request besides its name. The title is a stranger's text. */
export type ChangeNote = Pick<ChangeRequest, "title" | "state" | "draft">;

/** A unique text for the keys of a commit in a repository: `<host>/acme/deploy@<commit>`. */
export function headKey({ host, repository, headRevision }: HeadRef): string {
  return `${host}/${repository}@${headRevision}`;
}

/** A text for keys: `<host>/acme/deploy/7`. Another repository that gets the name has the same. */
export function changeRequestKey(change: ChangeRequestRef): string {
  return `${change.host}/${change.repository}/${change.number}`;
}

/** A unique text for keys, the same under every name of the repository: `<host>/#123/7`; by name where its id is not known. */
export function identityKey(change: ChangeRequestRef): string {
  const { host, repositoryId, number } = change;
  return repositoryId === undefined ? changeRequestKey(change) : `${host}/#${repositoryId}/${number}`;
}

/** How people refer to it from elsewhere: `acme/deploy#7` or `acme/deploy!7`, depending on the host. */
export function changeRequestName({ host, repository, number }: ChangeRequestRef): string {
  return `${repository}${CHANGE_REQUEST_SIGILS[host]}${number}`;
}

export function sameChangeRequest(left: ChangeRequestRef, right: ChangeRequestRef): boolean {
  return left.host === right.host && left.number === right.number && sameRepositoryOf(left, right);
}

export type InRepository = Pick<ChangeRequestRef, "repository" | "repositoryId">;

/** Compares repositories by id if both are known, otherwise by name. */
export function sameRepositoryOf(left: InRepository, right: InRepository): boolean {
  if (left.repositoryId === undefined || right.repositoryId === undefined) return left.repository === right.repository;
  return left.repositoryId === right.repositoryId;
}

/** Only the identifying members, for stored records. */
export function changeRequestRef(change: ChangeRequestRef): ChangeRequestRef {
  const { host, repository, repositoryId, number } = change;
  return { host, repository, ...(repositoryId === undefined ? {} : { repositoryId }), number };
}

export function headRef(change: HeadRef): HeadRef {
  return { ...changeRequestRef(change), headRevision: change.headRevision };
}

/** The page of a change request on its host. @param root the host's address. */
export function changeRequestAddress(root: string, { host, repository, number }: ChangeRequestRef): string {
  // `encodeURIComponent` throws on a lone surrogate.
  const parts = repository.replace(/\p{Cs}/gu, "").split("/");
  return `${root}/${parts.map(encodeURIComponent).join("/")}/${CHANGE_REQUEST_PATHS[host]}/${number}`;
}

/** Path of a change request's page below the service's base URL. Subgroups are part of the owner, encoded. */
export function changePagePath({ host, repository, number }: ChangeRequestRef): string {
  const cut = repository.lastIndexOf("/");
  const [owner, name] = [repository.slice(0, cut), repository.slice(cut + 1)];
  return `/changes/${HOST_PREFIXES[host][0]}/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/${number}`;
}

/** Whether the current head commit is approved. */
export interface Approval {
  /** Somebody independent approved it, the host's rules are met, and nobody requests changes. */
  readonly approved: boolean;
  /** Logins of the people whose approval counts. */
  readonly approvers: readonly string[];
  /** The same people, for questions about them. */
  readonly people: readonly Approver[];
  /** A sentence for people; undefined if approved. */
  readonly missing: string | undefined;
  /** It is in a merge queue or train, which merges it when its turn comes. */
  readonly queued?: true;
}

export interface Approver extends User {
  /** When they approved, in ISO 8601 and by the host's clock; undefined if it does not tell. */
  readonly at?: string | undefined;
}

/** The reviews as the host reports them: `approved` by its own rules, by somebody other than the author. */
export interface Reviews extends Approval {
  /** Standing approvals by people who may give one, those of earlier commits included; none of this head under another base. */
  readonly looks: readonly Look[];
}

export interface Look {
  readonly by: Approver;
  /** The approved commit; undefined if the host does not report it. */
  readonly saw: Revision | undefined;
  /** Where the approved commit left the base branch of that time; undefined if the base branch is still the same. */
  readonly from: Revision | undefined;
}

/** Who wrote and pushed the commits, as the host reports it. An e-mail address can be forged, a push cannot. */
export interface Authorship {
  /** Accounts by commit. The host knows nothing about a commit that is missing. */
  readonly accounts: ReadonlyMap<string, CommitAccounts>;
  /** Pushes to the head branch, in any order, as far back as the host reports them. */
  readonly pushes: readonly Push[];
  /** The head at which the author opened the change request, and which they answer for; undefined if the host does not report it. */
  readonly opened: string | undefined;
  /** Absent for a change request that reverts none by `svc revert`; `unknown` if our own account opened it and nobody can tell why. */
  readonly reverts?: Reverts | "unknown" | undefined;
}

/** What a change request reverts, and the id of who asked for it. */
export interface Reverts {
  readonly of: number;
  readonly askedBy: string;
}

export interface CommitAccounts {
  /** Author, co-authors and committer, without the host's own account. */
  readonly people: readonly User[];
  /** Some of the addresses belong to no account. */
  readonly unknown: boolean;
}

export interface Push {
  /** Undefined for a deleted account. */
  readonly by: User | undefined;
  /** The head before; undefined for a new branch. */
  readonly before: string | undefined;
  /** The head after the push, or `deleted`; undefined if the host reports only a push to several branches, perhaps to this one. */
  readonly after: string | undefined;
}
