import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { errorCode } from "../config/files.js";
import type { Revision } from "../core/model/brand.js";
import type { ChangeRequest, ChangeRequestRef } from "../core/model/change-request.js";
import { HeadMoved, orAborted, RepositoryFailure } from "../core/model/errors.js";
import type { CloneSource } from "../core/ports/code-host.js";
import { Stopped } from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";
import type {
  CommitRange,
  FetchOptions,
  OpenOptions,
  Repositories,
  RepositorySnapshot,
  TreeEntry,
} from "../core/ports/repositories.js";
import { SERVICE } from "../names.js";
import { GitFailure, lastWords, remoteProblem, sourceProblem, type StartGit } from "./git-process.js";
import type { History } from "./history.js";
import { MirrorRepository, type WantedRef } from "./mirror-repository.js";
import { MirrorSnapshot } from "./snapshot.js";
import type { TreeNode } from "./tree-reader.js";

/** Runs one piece of work at a time per folder, in order, but patient work only when nothing else waits. */
class FolderLocks {
  /** The work that waits, by folder. A folder has an entry for as long as work runs in it. */
  readonly #waiting = new Map<string, { readonly first: (() => void)[]; readonly patient: (() => void)[] }>();
  #whenIdle: (() => void)[] = [];

  async alone<T>({ folder: { path }, signal, want }: Fetching, work: () => Promise<T>): Promise<T> {
    const runInTurn = async () => {
      await this.#turn(path, want.patient);
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        this.#passOn(path);
      }
    };
    return orAborted(runInTurn(), signal);
  }

  #turn(folder: string, patient: boolean): Promise<void> {
    const waiting = this.#waiting.get(folder);
    if (waiting === undefined) {
      this.#waiting.set(folder, { first: [], patient: [] });
      return Promise.resolve();
    }
    return new Promise((resolve) => (patient ? waiting.patient : waiting.first).push(resolve));
  }

  #passOn(folder: string): void {
    const waiting = this.#waiting.get(folder);
    const next = waiting?.first.shift() ?? waiting?.patient.shift();
    if (next !== undefined) {
      next();
      return;
    }
    this.#waiting.delete(folder);
    if (this.#waiting.size === 0) for (const tell of this.#whenIdle.splice(0)) tell();
  }

  /** Runs the work if nothing else runs in the folder or waits for it. @returns Whether it ran. */
  async ifFree(path: string, work: () => Promise<void>): Promise<boolean> {
    if (this.#waiting.has(path)) return false;
    await this.#turn(path, false);
    await work().finally(() => this.#passOn(path));
    return true;
  }

  idle(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }
}

export interface GitMirrorOptions {
  /** Folder for the mirrors, used by this process only. Everything in it can be fetched again. */
  readonly dataDir: string;
  readonly log: Log;
  readonly maxBytes?: number;
  /** Bytes that all mirrors together have before a fetch, at most: the least recently used make room. 8 GiB by default. */
  readonly maxTotalBytes?: number;
  /** A mirror with more shallow commits is cloned again: every fetch names all of them to the host. 5,000 by default. */
  readonly maxCommits?: number;
  /** Time limit of a git command in milliseconds; two minutes by default. */
  readonly timeoutMs?: number;
  /** A repository's reader process ends after this time without work, in milliseconds; 30 seconds by default. */
  readonly idleMs?: number;
  readonly startGit?: StartGit | undefined;
}

/** Every fetch leaves a pack or two, and git looks for an object in one after the other. Beyond this they are joined. */
const MAX_PACKS = 200;
/** One fetch serves at most this many waiting callers besides its own. */
const MAX_TOGETHER = 20;
const CACHE_BYTES = 64 * 1024 * 1024;

/** Reads repositories through bare partial clones on disk, one per repository. */
export function createGitMirror(options: GitMirrorOptions): Repositories & { close(): Promise<void> } {
  return new GitMirror(options);
}

/** Whether the mirror on disk may be the cause, because it is full or damaged, rather than the host. */
function isUnexplained(error: unknown): error is GitFailure {
  return error instanceof GitFailure && (error.kind === "too-big" || remoteProblem(error) === undefined);
}

class GitMirror implements Repositories {
  readonly #options: GitMirrorOptions;
  readonly #limits: Required<Omit<GitMirrorOptions, "dataDir" | "log" | "startGit">>;
  readonly #folders = new Map<string, MirrorRepository>();
  readonly #locks = new FolderLocks();
  #opened = 0;
  /** The last attempt to make room. Two at a time would each remove a clone for the same bytes. */
  #room: Promise<void> = Promise.resolve();
  /** What each caller in the line for a folder wants fetched. One fetch serves several of them. */
  readonly #wants = new Map<MirrorRepository, Set<Want>>();
  readonly #closing = new AbortController();
  readonly #caches = {
    texts: new LRUCache<string, { readonly text: string | undefined }>({ maxSize: CACHE_BYTES }),
    folders: new LRUCache<string, TreeNode>({ maxSize: CACHE_BYTES }),
    lists: new LRUCache<string, readonly TreeEntry[]>({ maxSize: CACHE_BYTES }),
    ranges: new LRUCache<string, CommitRange>({ maxSize: CACHE_BYTES / 4 }),
  };

  constructor(options: GitMirrorOptions) {
    this.#options = options;
    const { maxBytes = 2 * 1024 ** 3, maxTotalBytes = 4 * maxBytes, maxCommits = 5000 } = options;
    const { timeoutMs = 120_000, idleMs = 30_000 } = options;
    this.#limits = { maxBytes, maxTotalBytes, maxCommits, timeoutMs, idleMs };
  }

  async open(change: ChangeRequest, source: CloneSource, options: OpenOptions = {}): Promise<RepositorySnapshot> {
    const problem = sourceProblem(source);
    if (problem !== undefined) throw repositoryFailure(change.repository, problem);
    const folder = this.#folderOf(change, source);
    const { signal: given, patient = false, confirmed = false } = options;
    const signal = given === undefined ? this.#closing.signal : AbortSignal.any([given, this.#closing.signal]);
    const commits = commitsOf(change);
    const isMissing = async (asking: AbortSignal) => !(await folder.hasCommits(commits, asking));
    const refs = refsToFetch(change, confirmed ? change.headRevision : source.headRef);
    const want = { refs, isMissing, patient, alone: false };
    const session: Session = { change, source, folder, signal, want, generation: undefined };
    await this.#work(session, () => Promise.resolve());
    const alone = <T>(work: () => Promise<T>) => this.#work(session, work);
    return new MirrorSnapshot(folder, source, commits, signal, this.#caches, alone, `${refsOf(change)}/other`);
  }

  async fetchHead(change: ChangeRequestRef, source: CloneSource, options: FetchOptions): Promise<void> {
    if (sourceProblem(source) !== undefined) return;
    const folder = this.#folderOf(change, source);
    const { pushed } = options;
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    const into = `${refsOf(change)}/head`;
    const isMissing = async (asking: AbortSignal) => {
      const isKnown = (await folder.commitOf(into, asking)) !== undefined;
      return isKnown && (pushed === undefined || !(await folder.hasCommits([pushed], asking)));
    };
    const want = { refs: [{ from: pushed ?? source.headRef, into }], isMissing, patient: false, alone: false };
    const fetching = { folder, source, signal, want };
    const fetchMissing = async () => ((await isMissing(signal)) ? this.#fetchTogether(fetching, false) : undefined);
    await this.#inTurn(fetching, fetchMissing).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Stopped("shutdown"));
    await this.#locks.idle();
    await Promise.all([...this.#folders.values()].map((folder) => folder.close()));
  }

  #folderOf(change: ChangeRequestRef, source: CloneSource): MirrorRepository {
    const folder = this.#folderNamed(folderNameOf(change.host, change.repository, source.url));
    this.#opened += 1;
    folder.openedAs = this.#opened;
    return folder;
  }

  #folderNamed(name: string): MirrorRepository {
    const path = join(this.#options.dataDir, name);
    const folder = this.#folders.get(path) ?? new MirrorRepository(path, this.#limits, this.#options.startGit);
    this.#folders.set(path, folder);
    return folder;
  }

  /** A mirror of a repository that was renamed, deleted or is no longer served is never opened again, but stays on the disk. */
  async #makeRoom(given: MirrorRepository): Promise<void> {
    const { dataDir, log } = this.#options;
    // An earlier process may have left some.
    const names = (await readdir(dataDir).catch(() => [])).filter((name) => FOLDER_NAME.test(name));
    const folders = names.map((name) => this.#folderNamed(name)).sort((a, b) => a.openedAs - b.openedAs);
    const all = await Promise.all(folders.map(async (folder) => ({ folder, bytes: (await folder.size()).bytes })));
    let total = all.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { folder, bytes } of all) {
      if (total <= this.#limits.maxTotalBytes) return;
      if (folder === given || !(await this.#locks.ifFree(folder.path, () => folder.remove()))) continue;
      total -= bytes;
      log.info({ folder: folder.path, bytes }, "removed a clone to make room for others");
    }
  }

  /** Fetches the commits and does work, alone in the folder. What the mirror may be to blame for is tried twice. */
  #work<T>(session: Session, work: () => Promise<T>): Promise<T> {
    const { folder } = session;
    const attempt = () => this.#provide(session).then(work);
    return this.#inTurn(session, async () => {
      try {
        return await attempt();
      } catch (error) {
        if (!isUnexplained(error)) throw this.#translated(session, error);
        await this.#mend(session, error);
      }
      try {
        return await attempt();
      } catch (error) {
        if (isUnexplained(error) && error.kind === "too-big") await folder.remove();
        throw this.#translated(session, error);
      }
    });
  }

  async #inTurn<T>(fetching: Fetching, work: () => Promise<T>): Promise<T> {
    const { folder, want } = fetching;
    const wants = this.#wants.get(folder) ?? new Set();
    this.#wants.set(folder, wants.add(want));
    try {
      return await this.#locks.alone(fetching, () => {
        wants.delete(want);
        return work();
      });
    } finally {
      wants.delete(want);
    }
  }

  /** Removes a mirror that is full or proven damaged. A sound one stays: authors must not be able to cause an expensive clone. */
  async #mend(session: Session, error: GitFailure): Promise<void> {
    const { folder, change } = session;
    const known = { repository: change.repository, problem: lastWords(error, session.source) };
    const damage = error.kind === "too-big" ? "it is too large" : await this.#damageBehind(session, error);
    if (damage === undefined) {
      this.#options.log.warn(known, "git failed although the mirror is sound: trying once more");
      return;
    }
    this.#options.log.warn({ ...known, damage }, "mirror damaged or full: cloning it again");
    await folder.remove();
  }

  /** The damage behind a failure; undefined if the mirror is sound. @throws the failure, in words, if git cannot find out. */
  async #damageBehind(session: Session, failure: GitFailure): Promise<string | undefined> {
    const { folder, change, signal } = session;
    try {
      return await folder.damage(commitsOf(change), signal);
    } catch (error) {
      throw this.#translated(session, error instanceof GitFailure ? failure : error);
    }
  }

  async #provide(session: Session): Promise<void> {
    const { folder, change, signal } = session;
    if (session.generation === folder.generation) return;
    await folder.create(change.headRevision);
    if (!(await folder.hasCommits(commitsOf(change), signal))) {
      if ((await folder.size()).packs > MAX_PACKS) await this.#joinPacks(session);
      if (await folder.isOutgrown()) {
        await folder.remove();
        await folder.create(change.headRevision);
      }
      this.#room = this.#room.catch(() => undefined).then(() => this.#makeRoom(folder));
      await this.#room;
      await this.#fetch(session, (await folder.size()).packs === 0);
    }
    session.generation = folder.generation;
  }

  /** Many packs are slow, but no reason to fail. */
  async #joinPacks(session: Session): Promise<void> {
    try {
      await session.folder.joinPacks(session.signal);
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      const known = { repository: session.change.repository, problem: lastWords(error, session.source) };
      this.#options.log.warn(known, "could not join the packs of a mirror");
    }
  }

  /** Fetches what waiting callers want as well, with one call to the host. If that fails, every caller fetches alone. */
  async #fetchTogether({ folder, source, signal, want }: Fetching, first: boolean): Promise<void> {
    const others = first || want.alone ? [] : await this.#missing(folder, want, signal);
    try {
      await folder.fetchCommits(source, distinct([want, ...others]), { first, signal });
    } catch (error) {
      for (const other of others) other.alone = true;
      if (others.length === 0 || !(error instanceof GitFailure)) throw error;
      await folder.fetchCommits(source, want.refs, { first, signal });
    }
  }

  /** What waiting callers want and the mirror lacks. */
  async #missing(folder: MirrorRepository, want: Want, signal: AbortSignal): Promise<readonly Want[]> {
    const missing: Want[] = [];
    for (const other of this.#wants.get(folder) ?? []) {
      if (missing.length === MAX_TOGETHER) break;
      if (!other.alone && (want.patient || !other.patient) && (await other.isMissing(signal))) missing.push(other);
    }
    return missing;
  }

  async #fetch(session: Session, first: boolean): Promise<void> {
    const { folder, change, signal } = session;
    const began = performance.now();
    await this.#fetchTogether(session, first);
    const ms = Math.round(performance.now() - began);
    this.#options.log.debug({ repository: change.repository, number: change.number, ms }, "fetched");
    const fetched = await folder.commitOf(`${refsOf(change)}/head`, signal);
    if (fetched !== change.headRevision) {
      throw new HeadMoved(`the head of ${change.repository} ${change.number} moved during the fetch`);
    }
  }

  #translated(session: Session, error: unknown): unknown {
    const { repository } = session.change;
    if (error instanceof GitFailure) {
      const words = lastWords(error, session.source);
      const problem = remoteProblem(error) ?? `git says: ${words}`;
      return repositoryFailure(repository, problem, new Error(words));
    }
    const code = errorCode(error);
    if (code === undefined) return error;
    const text = `the folder for mirrors cannot be used (${code}). Make it writable, and free some space`;
    return repositoryFailure(repository, text, error);
  }
}

interface Want {
  readonly refs: readonly WantedRef[];
  readonly isMissing: (signal: AbortSignal) => Promise<boolean>;
  readonly patient: boolean;
  /** Set after a fetch for several callers failed: this want may be the reason. */
  alone: boolean;
}

interface Fetching extends History {
  readonly want: Want;
}

interface Session extends Fetching {
  readonly change: ChangeRequest;
  /** The generation of the folder that is known to contain the commits. */
  generation: number | undefined;
}

function refsOf({ number }: ChangeRequestRef): string {
  return `refs/${SERVICE}/${number}`;
}

function refsToFetch(change: ChangeRequest, head: string): readonly WantedRef[] {
  const refs = refsOf(change);
  return [
    { from: head, otherwise: change.headRevision, into: `${refs}/head` },
    { from: change.baseRevision, into: `${refs}/base` },
    { from: change.mergeBase, into: `${refs}/merge-base` },
  ];
}

/** git refuses to fetch two commits into one ref: the first one counts. */
function distinct(wants: readonly Want[]): readonly WantedRef[] {
  const refs = wants.flatMap((want) => want.refs);
  return refs.filter((ref, index) => refs.findIndex(({ into }) => into === ref.into) === index);
}

function commitsOf({ headRevision, baseRevision, mergeBase }: ChangeRequest): readonly Revision[] {
  return [...new Set([headRevision, baseRevision, mergeBase])];
}

const FOLDER_NAME = /^[0-9a-f]{40}$/;

function folderNameOf(host: string, repository: string, url: string): string {
  const hash = createHash("sha256").update(JSON.stringify([host, repository, url]));
  return hash.digest("hex").slice(0, 40);
}

function repositoryFailure(repository: string, problem: string, cause?: unknown): RepositoryFailure {
  return new RepositoryFailure(`the repository ${repository} could not be read: ${problem}`, { cause });
}
