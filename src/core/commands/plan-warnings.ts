import { followedAside } from "../detect/inputs/moving-sources.js";
import type { Detection } from "../detect/scan/affected.js";
import { otherWordsTask } from "../detect/yaml/resolve-scalar.js";
import { destinationOf, specEqual } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import {
  type ChangeRequest,
  changeRequestKey,
  identityKey,
  type ChangeRequestRef,
  sameChangeRequest,
} from "../model/change-request.js";
import { allInTurns } from "../model/collections.js";
import { type Deployment, isDeployedAt } from "../model/deployment.js";
import { withoutReview } from "../model/effect.js";
import { safeMessage, StoredValueUnreadable } from "../model/errors.js";
import { type HostWords, listed, type Message, referenceTo } from "../model/host-words.js";
import { INTERRUPTED } from "../model/plan/cluster-check.js";
import {
  type ApplicationPlan,
  type Evaluated,
  type Plan,
  type Unevaluated,
  withoutAnswer,
  withoutAnswers,
  type ReplacedDeployment,
} from "../model/plan/plan.js";
import type { Asking } from "../model/result.js";
import { isLeftAlone, LEFT_ALONE, type LiveSubject, type Subject } from "../model/subject.js";
import type { Clock } from "../ports/clock.js";
import { computeIfLarge } from "../ports/compute.js";
import type { CommandContext, Commits, OpenedChange, Stoppable } from "../ports/context.js";
import type { Deployer } from "../ports/deployer.js";
import { leftInCluster, type Question, staysInCluster, type Told } from "../render/live-diff-mode.js";
import { findInputGaps } from "../survey/behind-base.js";

/** What a plan warns of, and what a sync may be refused for; `withRecords` adds last what is deployed and not merged. */
export async function warningsOf(
  subject: LiveSubject,
  context: Commits,
): Promise<Pick<ApplicationPlan, "warnings" | "gaps">> {
  const { uncovered, behind } = await findInputGaps(subject, context);
  const gaps = [uncovered, behind?.wouldRevert].filter((one) => one !== undefined);
  return {
    warnings: [
      ...(givenTo(subject) ?? subject.warnings),
      ...(isLeftAlone(subject.live)
        ? [`${LEFT_ALONE}: nothing is deployed to it until that annotation is removed`]
        : []),
      ...followed(subject, context.change),
      ...clusterChange(subject),
      ...gaps,
    ],
    gaps: { behind: behind !== undefined, uncovered: uncovered !== undefined },
  };
}

/** The warning about a definition that a parent gives, in place of those about its own; undefined if no parent does. */
function givenTo({ definedBy, head, live, notDriven }: LiveSubject): readonly string[] | undefined {
  if (definedBy === undefined) return undefined;
  if (specEqual(head.spec, live.spec)) return [];
  const first = notDriven === undefined ? `: a sync deploys ${definedBy} first` : "";
  return [`planned with the definition that ${definedBy} gives it at this commit${first}`];
}

/** Said of an application among whose manifests its own definition changes. */
export const APPLIES_ITSELF =
  "applies a changed definition of itself: this is what its present definition makes of the commit. Plan again after its sync to see what the new one does";

/** An application of an earlier plan with what there is to warn of now. */
export async function warnedAgain(
  planned: ApplicationPlan,
  subject: LiveSubject,
  context: CautionSource,
): Promise<ApplicationPlan> {
  const { warnings, gaps } = await warningsOf(subject, context);
  const itself = planned.warnings.filter((one) => one === APPLIES_ITSELF);
  return { ...planned, warnings: [...warnings, ...(await cautionOf(planned, subject, context)), ...itself], gaps };
}

interface CautionSource extends OpenedChange {
  readonly deployer: Pick<Deployer, "whyNotFresh">;
}

/** What there is to know of a plan whose application reads more than commits, or has more in the cluster. */
export async function cautionOf(
  found: ApplicationPlan | Evaluated | Unevaluated,
  subject: LiveSubject,
  context: CautionSource,
): Promise<readonly string[]> {
  if (found.kind !== "evaluated") return [];
  const left = leftInCluster(found, subject, context);
  if (found.unpinned === undefined) return left;
  const reads = `reads what may change without a commit: ${listed(found.unpinned.reads, MOST_NAMED)}`;
  const cached = await context.deployer.whyNotFresh();
  const may =
    cached === undefined
      ? "A sync renders it again, and is refused if that is not what this plan shows"
      : `${cached}: a sync may deploy something else than this plan shows, and svc would not see it. Pin what it reads by a commit or a digest`;
  return [...left, `${reads}. ${may}`];
}

/** One sentence on what it already followed besides the base branch before this change. */
function followed({ head, base }: LiveSubject, change: ChangeRequest): readonly string[] {
  const before = new Set(followedAside(base.spec, change));
  const names = followedAside(head.spec, change).filter((name) => before.has(name));
  if (names.length === 0) return [];
  return [`follows ${withoutReview(listed(names, MOST_NAMED))}: protect it, or name a whole commit id`];
}

function clusterChange(subject: LiveSubject): readonly string[] {
  const [from, to] = [subject.base, subject.head].map(({ spec }) => destinationOf(spec).cluster);
  const what = `everything is created there, and what runs in ${from} stays there unmanaged. Delete it afterwards`;
  switch (staysInCluster(subject)) {
    case "yes":
      return [];
    case "perhaps":
      return [`names the cluster ${to} in place of ${from}: if that is another one, ${what}`];
    case "no":
      return [`moves from the cluster ${from} to ${to}: ${what}`];
  }
}

/** So many words of so many files, the first ones. */
const MOST_FILES = 50;
const MOST_WORDS = 5;
const WORDS_MS = 10_000;

/** Words in changed files of YAML that Kubernetes reads otherwise than YAML 1.2; not in hidden files, which belong to other programs. */
export async function otherWordNotes(
  { applications, applicationSets }: Pick<Detection, "applications" | "applicationSets">,
  { change, snapshot, compute, signal }: Pick<CommandContext, "change" | "snapshot" | "compute" | "signal">,
): Promise<readonly string[]> {
  if (applications.length + applicationSets.length === 0) return [];
  const changed = await snapshot.changedPaths(change.mergeBase, change.headRevision);
  const files = changed.filter((path) => /\.ya?ml$/i.test(path) && !/(?:^|\/)\./.test(path)).slice(0, MOST_FILES);
  const [before, after] = await Promise.all(
    [change.mergeBase, change.headRevision].map(async (at) => (await snapshot.tree(at)).readTexts(files)),
  );
  const texts = files.flatMap((file) => [before?.get(file) ?? "", after?.get(file) ?? ""]);
  const limits = { owner: changeRequestKey(change), deadlineMs: WORDS_MS, signal };
  const read = await computeIfLarge(compute, otherWordsTask, texts, texts.join("").length, limits);
  if (read.kind === "exceeded") return [];
  return files.flatMap((file, index) => {
    const known = new Set(read.output[2 * index]?.map(({ word }) => word));
    const added = read.output[2 * index + 1]?.filter(({ word }) => !known.has(word)) ?? [];
    return added.slice(0, MOST_WORDS).map(({ word, line, meaning }) => {
      return `${file}, line ${line}: ${word.slice(0, 40)} is ${meaning} for Kubernetes. Write it in quotes if a text is meant.`;
    });
  });
}

type RecordSource = Pick<CommandContext, "deployments" | "plans" | "change" | "hostWords" | "log">;

/** Adds what the records "deployed, not merged" say now, since a plan can take minutes. */
export async function withRecords(
  applications: readonly ApplicationPlan[],
  subjects: readonly Subject[],
  context: RecordSource,
): Promise<readonly ApplicationPlan[]> {
  const { deployments, change, hostWords } = context;
  const words = hostWords[change.host];
  const plans = new Map<string, Promise<Plan | undefined>>();
  const planOf = (other: ChangeRequestRef) => {
    const key = identityKey(other);
    const found = plans.get(key) ?? readablePlan(other, context);
    plans.set(key, found);
    return found;
  };
  const live = new Set(subjects.filter(({ kind }) => kind === "live").map(({ name }) => name));
  const named = new Set(applications.map(({ application }) => application));
  const isOurs = (record: Deployment) => sameChangeRequest(record.change, change);
  return allInTurns(applications, async (one) => {
    if (one.kind === "unplanned" || !live.has(one.application)) return one;
    const written = writtenBeside(one, named);
    const [records = [], ...ofChildren] = await Promise.all(
      [one.application, ...written].map((name) => deployments.ofApplication(name)),
    );
    const moved = records.filter((record) => isOurs(record) && !isDeployedAt(record, change.headRevision));
    const foreign = records.filter((record) => !isOurs(record));
    const undone = ofChildren.flat().filter((record) => !isOurs(record) && record.specWritten !== undefined);
    if (moved.length + foreign.length + undone.length === 0) return one;
    const replaces = await Promise.all(foreign.map(async (record) => replacedOf(record, await planOf(record.change))));
    const sentences = [
      ...moved.map((record) => deployedFromHere(record, words)),
      ...replaces.map((replaced) => deployedElsewhere(replaced, change, words)),
      ...undone.map((record) => definedElsewhere(record, change, words)),
    ];
    return { ...one, warnings: [...one.warnings, ...sentences], replaces };
  });
}

/** Applications that the plan does not name, and whose definition a sync of this one writes. */
function writtenBeside({ effect }: ApplicationPlan, named: ReadonlySet<ApplicationName>): readonly ApplicationName[] {
  const written = effect.members.filter(
    ({ reachedBy, definition }) => reachedBy.kind !== "direct" && definition.kind === "changed",
  );
  return written.map(({ application }) => application).filter((name) => !named.has(name));
}

async function readablePlan(
  change: ChangeRequestRef,
  { plans, log }: Pick<RecordSource, "plans" | "log">,
): Promise<Plan | undefined> {
  try {
    return await plans.find(change);
  } catch (error) {
    if (!(error instanceof StoredValueUnreadable)) throw error;
    log.warn({ err: error }, "could not read what another change request deployed");
    return undefined;
  }
}

/** What the other change request's plan of that commit says that it changed. */
function replacedOf({ application, change, revision }: Deployment, plan: Plan | undefined): ReplacedDeployment {
  const planned =
    plan?.head === revision ? plan.applications.find((one) => one.application === application) : undefined;
  const changed = planned?.kind === "evaluated" ? planned.diff.resources.filter(({ hook }) => !hook) : [];
  return { change, revision, objects: changed.map(({ title }) => title).slice(0, MOST_OBJECTS) };
}

const MOST_OBJECTS = 20;

function deployedFromHere({ revision }: Deployment, { short }: HostWords): string {
  return `may run commit ${revision.slice(0, 8)} of this ${short}, which was deployed and is not merged: the diff is against the target branch, not against that commit`;
}

function deployedElsewhere(
  { change: other, revision, objects }: ReplacedDeployment,
  change: ChangeRequest,
  words: HostWords,
): Message {
  const changed = objects.length === 0 ? "" : `, with what it changed: ${listed(objects, MOST_NAMED)}`;
  return {
    before: `runs commit ${revision.slice(0, 8)} of `,
    reference: referenceTo(other, change, words),
    change: other,
    after: `, which is deployed and not merged: a sync from here replaces it${changed}`,
  };
}

function definedElsewhere(
  { application, change: other, revision }: Deployment,
  change: ChangeRequest,
  words: HostWords,
): Message {
  const before = `a sync takes back the definition of ${application}, which runs commit ${revision.slice(0, 8)} of `;
  return { before, reference: referenceTo(other, change, words), change: other, after: ", deployed and not merged" };
}

const MOST_NAMED = 5;

/** A plan of so few applications waits for the answers, so that it is one comment without an edit where Kubernetes is quick. */
const FEW = 8;
const SOON_MS = 1_000;

interface Asked {
  readonly question: Question;
  told?: Promise<Told>;
  settled: boolean;
}

/**
 * Asks Kubernetes about the applications of a plan. While the plan is being rendered it asks about one at a time, and after each
 * answer it pauses for as long as the answer took: Argo CD may need the same processor to render. The other questions are asked
 * once the plan is posted, those about dangers first.
 */
export class Questions {
  readonly #asked = new Map<ApplicationName, Asked>();
  readonly #late = new AbortController();
  #line: Promise<unknown> = Promise.resolve();
  #rendered = false;
  #why = "";
  #startedAt = 0;
  #answers: Promise<Plan> | undefined;

  constructor(private readonly context: Stoppable & { readonly clock: Clock }) {}

  /** Replaces an earlier question about the application. */
  set(application: ApplicationName, question: Question): void {
    const asked = { question, settled: false };
    this.#asked.set(application, asked);
    this.#line = this.#line.then(async () => {
      if (this.#rendered || this.#asked.get(application) !== asked) return;
      const { clock, signal } = this.context;
      const since = clock.now().getTime();
      // A failure is reported where the answers are added to the plan.
      await this.#told(asked).catch(() => undefined);
      await clock.sleep(clock.now().getTime() - since, signal).catch(() => undefined);
    });
  }

  delete(application: ApplicationName): void {
    this.#asked.delete(application);
  }

  /** Asks nothing more before the plan is posted, now that everything is rendered. */
  rest(): void {
    this.#rendered = true;
  }

  /** Stops asking. */
  end(): void {
    this.#late.abort();
  }

  /** To be called when the plan is rendered. Waits up to a second for the answers about a few applications. `asking` is set if answers are missing. */
  async soon(given: Plan): Promise<{ readonly plan: Plan; readonly asking?: Asking }> {
    this.rest();
    // What this plan keeps of an earlier one may still be asking, and nobody waits for those answers.
    const plan = withoutAnswers(given, INTERRUPTED, (application) => !this.#asked.has(application));
    if (this.#asked.size === 0) return { plan };
    const asking: Asking = { answers: (withinMs) => this.#within(withinMs, plan) };
    const isSettled = [...this.#asked.values()].every(({ settled }) => settled);
    if (this.#asked.size > FEW && !isSettled) return { plan, asking };
    const timer = new AbortController();
    const late = this.context.clock.sleep(SOON_MS, timer.signal).catch(() => undefined);
    const answered = await Promise.race([this.#all(plan), late]);
    timer.abort();
    return answered === undefined ? { plan, asking } : { plan: answered };
  }

  /** Counts real time, as the time-out of a single request does, not that of the clock. */
  async #within(ms: number, plan: Plan): Promise<Plan> {
    this.#why = `Kubernetes did not answer within ${Math.round(ms / 1000)} s`;
    const answered = this.#all(plan);
    const left = ms - (performance.now() - this.#startedAt);
    const timer = setTimeout(() => this.#late.abort(), Math.max(0, left));
    try {
      return await answered;
    } finally {
      clearTimeout(timer);
    }
  }

  #all(plan: Plan): Promise<Plan> {
    if (this.#answers === undefined) {
      this.#startedAt = performance.now();
      this.#answers = this.#answersTo(plan);
      // The command may be stopped before anybody waits for it.
      this.#answers.catch(() => undefined);
    }
    return this.#answers;
  }

  async #answersTo(plan: Plan): Promise<Plan> {
    const asked = plan.applications.flatMap((one) => {
      const found = this.#asked.get(one.application);
      return found === undefined || one.kind !== "evaluated" ? [] : [{ one, found }];
    });
    const first = asked.sort((left, right) => urgency(left.one) - urgency(right.one));
    const answered = await allInTurns(first, ({ one, found }) => this.#answered(one, found));
    const byName = new Map(answered.map((one) => [one.application, one]));
    return { ...plan, applications: plan.applications.map((one) => byName.get(one.application) ?? one) };
  }

  async #answered(planned: Extract<ApplicationPlan, Evaluated>, asked: Asked): Promise<ApplicationPlan> {
    try {
      const told = await this.#told(asked);
      return { ...planned, ...told(planned) };
    } catch (error) {
      this.context.signal.throwIfAborted();
      if (this.#late.signal.aborted) return withoutAnswer(planned, this.#why);
      const { application } = planned;
      this.context.log.warn({ application, err: error }, "could not ask Kubernetes about an application's changes");
      return withoutAnswer(planned, safeMessage(error));
    }
  }

  #told(asked: Asked): Promise<Told> {
    asked.told ??= this.#ask(asked);
    return asked.told;
  }

  async #ask(asked: Asked): Promise<Told> {
    // One for each question: Node warns of many listeners of one signal.
    const signal = AbortSignal.any([this.context.signal, this.#late.signal]);
    try {
      signal.throwIfAborted();
      return await asked.question.ask(signal);
    } finally {
      asked.settled = true;
    }
  }
}

/** Sorts what is asked first: what our own rules expect to be refused, then other dangers. The time may not be enough for all. */
function urgency({ diff }: Evaluated): number {
  if (diff.dangers.some(({ effect }) => effect === "refused")) return 0;
  return diff.dangers.length > 0 ? 1 : 2;
}
