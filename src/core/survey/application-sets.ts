import { compareGenerated, type ChangedApplicationSet } from "../detect/scan/application-sets.js";
import { pinGitGenerators } from "../detect/scan/git-generators.js";
import type { Application, ApplicationSet } from "../model/application.js";
import { applicationName, type ApplicationName, type Revision } from "../model/brand.js";
import type { Member } from "../model/effect.js";
import { DeployerFailure, safeMessage } from "../model/errors.js";
import { isJsonObject } from "../model/json.js";
import type { ApplicationSetPreview } from "../model/plan.js";
import type { CommandContext } from "../ports/context.js";
import { notesOf, type Expansion, type NoteSurroundings } from "./application-set-notes.js";
import { applyExpansions, warnOfUnpreviewed } from "./generated-applications.js";
import { memberOf, unknownMember } from "./members.js";
import type { Survey } from "./survey.js";

export interface SurveyWithSets {
  /** Includes what the sets do to the applications that they own. */
  readonly found: Survey;
  readonly applicationSets: readonly ApplicationSetPreview[];
}

type Attempt = Expansion | Unpreviewed;

interface Unpreviewed {
  readonly set: ChangedApplicationSet;
  readonly problem: string;
  readonly owned: readonly ApplicationName[];
}

interface Surroundings extends NoteSurroundings {
  readonly live: ReadonlyMap<ApplicationName, Application>;
}

/** Previews what changed ApplicationSets generate on both sides. A set that cannot be previewed says why. */
export async function withApplicationSets(found: Survey, context: CommandContext): Promise<SurveyWithSets> {
  const { change, snapshot } = context;
  const { applicationSets } = found.detection;
  if (applicationSets.length === 0) return { found, applicationSets: [] };
  const attempts = await Promise.all(applicationSets.map((set) => expand(set, context)));
  const unpreviewed = attempts.flatMap((one) => ("problem" in one ? [one.set] : []));
  const expansions = attempts.flatMap((one) => ("problem" in one ? [] : [one]));
  const around: Surroundings = {
    live: byName(found.everyApplication),
    change,
    baseChanges: await snapshot.changedPaths(change.mergeBase, change.baseRevision),
  };
  return {
    found: warnOfUnpreviewed(await applyExpansions(found, expansions, context), unpreviewed),
    applicationSets: attempts.map((one) => previewOf(one, around)),
  };
}

function previewOf(attempt: Attempt, around: Surroundings): ApplicationSetPreview {
  const { name, sourceFile } = attempt.set;
  if ("problem" in attempt) {
    const { problem, owned } = attempt;
    return {
      name,
      sourceFile,
      added: [],
      removed: [],
      changed: [],
      members: unknownMembers(attempt),
      notes: [],
      problem,
      owned,
    };
  }
  const notes = notesOf(attempt, around);
  const members = generatedMembers(attempt, around);
  return { name, sourceFile, ...attempt.comparison, members, notes, problem: undefined, owned: [] };
}

/** What the controller makes of the generated applications, given what runs. */
function generatedMembers({ set, base, head, comparison }: Expansion, { live }: Surroundings): readonly Member[] {
  const [before, after] = [byName(base), byName(head)];
  const reachedBy = { kind: "generated", by: set.name } as const;
  const names = [...comparison.added, ...comparison.changed, ...comparison.removed];
  return names.map((application) => {
    const replaced = [before.get(application), live.get(application)].flatMap((one) =>
      one === undefined ? [] : [one.spec],
    );
    return memberOf({ application, head: after.get(application)?.spec, before: replaced, reachedBy });
  });
}

function byName(applications: readonly Application[]): ReadonlyMap<ApplicationName, Application> {
  return new Map(applications.map((one) => [one.name, one]));
}

/** Those that it owns now stand for the ones that cannot be known; without any, the set itself does. */
function unknownMembers({ set, problem, owned }: Unpreviewed): readonly Member[] {
  const reachedBy = { kind: "generated", by: set.name } as const;
  const names = owned.length > 0 ? owned : [applicationName(set.name)];
  return names.map((name) => unknownMember(name, reachedBy, problem));
}

async function expand(set: ChangedApplicationSet, context: CommandContext): Promise<Attempt> {
  const { change, signal, log } = context;
  if (set.problem !== undefined) return { set, problem: set.problem, owned: await ownedNow(set, context) };
  try {
    const head = await generated(set.head, change.headRevision, context);
    const base = await generated(set.base, change.mergeBase, context);
    return { set, base, head, comparison: compareGenerated(base, head) };
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ set: set.name, err: error }, "could not preview an ApplicationSet");
    return { set, problem: problemOf(set, error), owned: await ownedNow(set, context) };
  }
}

async function generated(
  set: ApplicationSet | undefined,
  at: Revision,
  { change, deployer, signal }: CommandContext,
): Promise<readonly Application[]> {
  return set === undefined ? [] : deployer.expandApplicationSet(pinGitGenerators(set, change, at), signal);
}

function problemOf(set: ChangedApplicationSet, error: unknown): string {
  const message = safeMessage(error);
  if (!(error instanceof DeployerFailure) || error.reason !== "forbidden") return message;
  return `${message}. Argo CD asks for this permission on ${projectOf(set)}/${set.name} before it previews an ApplicationSet: give it to svc's token`;
}

function projectOf({ base, head }: ChangedApplicationSet): string {
  const spec = (head ?? base)?.resource.spec;
  const template = isJsonObject(spec) && isJsonObject(spec.template) ? spec.template.spec : undefined;
  const project = isJsonObject(template) ? template.project : undefined;
  return typeof project === "string" && project !== "" ? project : "default";
}

/** Empty if that fails as well. */
async function ownedNow(
  { base, head }: ChangedApplicationSet,
  { deployer, signal, log }: CommandContext,
): Promise<readonly ApplicationName[]> {
  const set = base ?? head;
  if (set === undefined) return [];
  try {
    return await deployer.applicationsOfSet(set, signal);
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ set: set.name, err: error }, "could not list the applications of an ApplicationSet");
    return [];
  }
}
