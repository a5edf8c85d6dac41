import {
  NO_FILE,
  NO_REPOSITORY_CONFIG,
  parseRepositoryConfig,
  type RepositoryConfig,
  type RepositoryConfigResult,
} from "../../config/repository/repository-schema.js";
import { accessRulesOf, requiredBeside, strictest } from "../../config/rules/requirements.js";
import type { BranchFile, PolicyFiles } from "../../config/rules/settings.js";
import type { ServerDefaults } from "../../config/server/server.js";
import { REPOSITORY_FILE } from "../../names.js";
import { canonicalRepository } from "../detect/tree/repository-url.js";
import { type Reading, TextReader } from "../detect/tree/yaml-documents.js";
import type { Revision } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { RepositoryFailure, HostFailure, safeMessage } from "../model/errors.js";
import type {
  AccessRule,
  DefinedIn,
  OwnSettings,
  Requirements,
  RuledApplication,
  Settings,
} from "../model/settings.js";
import type { CodeHost } from "../ports/code-host.js";
import type { Task } from "../ports/compute.js";
import type { CommandContext, Commits } from "../ports/context.js";
import type { RepositorySnapshot } from "../ports/repositories.js";
import type { Snapshot } from "../ports/snapshot.js";

/** Reads the repository's files at the head, and at the tips of the base branch and the default branch. @throws {RepositoryFailure} */
export async function readPolicyFiles(
  change: ChangeRequest,
  snapshot: Snapshot,
  reading: Reading,
): Promise<PolicyFiles> {
  const [base, before, after, standard] = await Promise.all([
    contentAt(change.baseRevision, snapshot),
    contentAt(change.mergeBase, snapshot),
    contentAt(change.headRevision, snapshot),
    change.baseBranch === change.defaultBranch ? undefined : defaultBranchFile(change, snapshot, reading),
  ]);
  // A head that leaves the file alone gets the file of the base branch, as a merge would give it.
  const changed =
    after.id !== base.id && (after.id !== before.id || (await snapshot.ownChanges(change)).includes(REPOSITORY_FILE));
  const file = await parsed(base, `${REPOSITORY_FILE} (base branch)`, reading);
  return {
    base: await branchFile(file, change.baseRevision, snapshot, reading),
    defaultBranch: standard,
    head: changed ? await parsed(after, REPOSITORY_FILE, reading) : file,
    changed,
  };
}

/** Whether the default branch has another file by now, where its rules hold as well. @throws {RepositoryFailure | HeadMoved} */
export async function haveDefaultRulesMoved({ change, snapshot, reload }: PolicySource): Promise<boolean> {
  if (change.baseBranch === change.defaultBranch) return false;
  const fresh = await reload(change);
  const [before, now] = await Promise.all(
    [snapshot, fresh.snapshot].map(async (one) => contentAt(await defaultTip(change, one), one)),
  );
  return before?.id !== now?.id;
}

type PolicySource = Commits & Pick<CommandContext, "reload">;

async function defaultTip(
  { defaultBranch, repository }: ChangeRequest,
  snapshot: Pick<RepositorySnapshot, "refs">,
): Promise<Revision> {
  const tip = (await snapshot.refs()).get(`refs/heads/${defaultBranch}`);
  if (tip === undefined) {
    throw new RepositoryFailure(`the default branch of ${repository}, whose rules hold as well, could not be found`);
  }
  return tip;
}

async function defaultBranchFile(
  change: ChangeRequest,
  snapshot: RepositorySnapshot,
  reading: Reading,
): Promise<BranchFile> {
  const tip = await defaultTip(change, snapshot);
  const file = await parsed(await contentAt(tip, snapshot), `${REPOSITORY_FILE} (default branch)`, reading);
  return branchFile(file, tip, snapshot, reading);
}

async function branchFile(
  file: RepositoryConfigResult,
  tip: Revision,
  snapshot: RepositorySnapshot,
  reading: Reading,
): Promise<BranchFile> {
  return { file, earlier: file.kind === "valid" ? undefined : await lastReadable(tip, snapshot, reading) };
}

/** The newest version of a broken file on the branch's first-parent history that can be read, whatever its patterns of names. */
async function lastReadable(
  tip: Revision,
  snapshot: RepositorySnapshot,
  reading: Reading,
): Promise<RepositoryConfig | undefined> {
  for await (const text of snapshot.pastTexts(tip, REPOSITORY_FILE)) {
    const past = text === undefined ? undefined : ({ text, name: REPOSITORY_FILE, isPast: true } as const);
    const version = past && (await readRepositoryFile(past, reading));
    if (version?.kind === "valid") return version.config;
  }
  return undefined;
}

interface Content {
  /** Equal for equal contents. */
  readonly id: string;
  /** Undefined if there is no file. */
  readonly text: string | undefined;
}

async function contentAt(revision: Revision, snapshot: RepositorySnapshot): Promise<Content> {
  const entries = await snapshot.list(revision);
  const entry = entries.find(({ path }) => path === REPOSITORY_FILE);
  if (entry === undefined) {
    const isFolder = entries.some(({ path }) => path.startsWith(`${REPOSITORY_FILE}/`));
    return isFolder ? { id: "folder", text: UNREADABLE } : { id: "", text: undefined };
  }
  const id = `${entry.kind} ${entry.blob}`;
  return { id, text: (await snapshot.read(revision, [REPOSITORY_FILE])).get(REPOSITORY_FILE) ?? UNREADABLE };
}

/** Stands for what is no text, since no text has this character. It is invalid: reading it as empty would silently lift its rules. */
const UNREADABLE = "\0";

async function parsed({ text }: Content, name: string, reading: Reading): Promise<RepositoryConfigResult> {
  if (text === UNREADABLE) {
    return unusable(name, "it is a link or a folder, is not a text in UTF-8, or is larger than 1 MiB");
  }
  return text === undefined ? NO_FILE : readRepositoryFile({ text, name }, reading);
}

function unusable(file: string, message: string): RepositoryConfigResult {
  return { kind: "invalid", problems: [{ file, line: 1, column: 1, key: "", message }] };
}

interface RepositoryFile {
  readonly text: string;
  readonly name: string;
  /** Whether it is a version that a branch has already. */
  readonly isPast?: true;
}

export const readRepositoryFileTask: Task<RepositoryFile, RepositoryConfigResult> = {
  name: "read-repository-file",
  run: ({ text, name, isPast }) => parseRepositoryConfig(text, name, isPast),
};

/** Reads a repository's file, which anybody may have written. */
async function readRepositoryFile(file: RepositoryFile, reading: Reading): Promise<RepositoryConfigResult> {
  const read = await new TextReader(reading).run(readRepositoryFileTask, file, file.text.length);
  if (read.kind === "done") return read.output;
  return unusable(file.name, `reading it takes too much ${read.limit}: simplify it`);
}

/** Where the rules of other repositories are read. */
interface DefinitionSource {
  readonly change: Pick<ChangeRequest, "host">;
  readonly hosts: readonly Pick<CodeHost, "id" | "readFile">[];
  readonly defaults: ServerDefaults;
  readonly reading: Reading;
}

/** The rules in a repository's file at one revision. Rules that are `unknown` require an approval. */
type Definition =
  | { readonly kind: "rules"; readonly config: RepositoryConfig }
  | { readonly kind: "unknown"; readonly reason: string };

type Read = ReadonlyMap<string, readonly Definition[]>;

/** One change request asks for no more other repositories than this. */
const MOST_REPOSITORIES = 20;

/** Settings that can include the rules of other repositories. Each is read once, unless it is to be read again. */
export function withDefinitions(own: OwnSettings, source: DefinitionSource): Settings {
  const known = new Map<string, Promise<readonly Definition[]>>();

  function read(place: DefinedIn, again: boolean): Promise<readonly Definition[]> {
    if (place.kind === "unknown") return Promise.resolve([place]);
    const key = keyOf(place);
    const before = again ? undefined : known.get(key);
    if (before !== undefined) return before;
    if (!known.has(key) && known.size >= MOST_REPOSITORIES) return Promise.resolve([TOO_MANY]);
    const reading = definitionsIn(place, source);
    known.set(key, reading);
    return reading;
  }

  function including(files: Read): Settings {
    return {
      ...own,
      requirementsFor: (application) => allRequirements(application, files, own, source.defaults),
      accessTo: (application, command) => [
        ...own.accessTo(application, command),
        ...definitionsOf(application, files).flatMap(({ place, one }) =>
          one.kind === "rules"
            ? accessRulesOf(application, command, one.config).map((rule) => ({ ...rule, from: nameOf(place) }))
            : [],
        ),
      ],
      async including(places, again) {
        const wanted = new Map(places.map((one) => [keyOf(one), one]));
        const added = await Promise.all(
          [...wanted].map(async ([key, one]) => [key, await read(one, again !== undefined)] as const),
        );
        return including(new Map([...files, ...added]));
      },
    };
  }

  return including(new Map());
}

const TOO_MANY: Definition = {
  kind: "unknown",
  reason: `svc reads the rules of at most ${MOST_REPOSITORIES} other repositories at once, and this is a further one`,
};

function keyOf(place: DefinedIn): string {
  return JSON.stringify(place);
}

function definitionsOf(
  { definedIn = [] }: RuledApplication,
  files: Read,
): readonly { readonly place: DefinedIn; readonly one: Definition }[] {
  return definedIn.flatMap((place) => (files.get(keyOf(place)) ?? [UNREAD]).map((one) => ({ place, one })));
}

const UNREAD: Definition = { kind: "unknown", reason: "svc did not read them for this plan, so plan again" };

/** The strictest of the change request's own requirements and those of the other files. A file adds only what it names. */
function allRequirements(
  application: RuledApplication,
  files: Read,
  own: OwnSettings,
  defaults: ServerDefaults,
): Requirements {
  const first = own.requirementsFor(application);
  const others = definitionsOf(application, files);
  if (others.length === 0) return first;
  const beside = (required: Requirements, one: Definition) =>
    one.kind === "rules" ? requiredBeside(required, application, one.config, defaults) : UNKNOWN;
  const isHealthy = others.some(({ one }) => beside(first, one).health !== undefined);
  const required = isHealthy ? own.requirementsFor(application, "healthy") : first;
  const requirements = others.map(({ place, one }): Requirements => {
    const found = beside(required, one);
    return found.requireApproval ? { ...found, because: reasonFor(place, one) } : found;
  });
  const { because } = [required, ...requirements].find((one) => one.requireApproval) ?? {};
  return { ...strictest([required, ...requirements]), ...(because === undefined ? {} : { because }) };
}

const UNKNOWN: Requirements = { requireApproval: true, requireUpToDate: false };

function reasonFor(place: DefinedIn, definition: Definition): string {
  if (place.kind === "unknown") return `the rules of the repository that defines it are not known: ${place.reason}`;
  return definition.kind === "rules"
    ? `the rules of ${nameOf(place)}, which defines it, require one`
    : `the rules of ${nameOf(place)}, which defines it, could not be read: ${definition.reason}`;
}

function nameOf(place: DefinedIn): string {
  if (place.kind === "unknown") return "another repository";
  return canonicalRepository(place.repoURL) ?? place.repoURL;
}

async function definitionsIn(
  { repoURL, follows }: Extract<DefinedIn, { readonly kind: "repository" }>,
  { change, hosts, reading }: DefinitionSource,
): Promise<readonly Definition[]> {
  for (const host of hosts) {
    try {
      const found = await host.readFile({ repoURL, path: REPOSITORY_FILE, follows });
      if (found === undefined) continue;
      const read = await Promise.all(
        found.map(async (content): Promise<readonly Definition[]> => {
          if (content.kind !== "text") {
            const reason = `its ${REPOSITORY_FILE} is not a text file`;
            return content.kind === "absent" ? [] : [{ kind: "unknown", reason }];
          }
          const one = { text: content.text, name: REPOSITORY_FILE };
          const file = await readRepositoryFile(one, reading);
          const past = file.kind === "valid" ? file : await readRepositoryFile({ ...one, isPast: true }, reading);
          const rules = past.kind === "valid" ? past.config : NO_REPOSITORY_CONFIG;
          return [
            { kind: "rules", config: host.id === change.host ? rules : withoutPeople(rules) },
            ...(file.kind === "valid"
              ? []
              : [{ kind: "unknown" as const, reason: `its ${REPOSITORY_FILE} cannot be used` }]),
          ];
        }),
      );
      return read.flat();
    } catch (error) {
      if (!(error instanceof HostFailure)) throw error;
      return [{ kind: "unknown", reason: safeMessage(error) }];
    }
  }
  return [{ kind: "unknown", reason: "it is on no code host that svc is configured for" }];
}

/** Whoever has a name of its lists on this host is somebody else. */
function withoutPeople(config: RepositoryConfig): RepositoryConfig {
  const nobody: AccessRule["users"] = [];
  const syncRequirements = config.syncRequirements.map((entry) =>
    entry.allowedUsers === undefined && entry.allowedTeams === undefined
      ? entry
      : { ...entry, allowedUsers: nobody, allowedTeams: nobody },
  );
  return { ...config, syncRequirements: [...syncRequirements] };
}
