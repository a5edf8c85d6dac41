import type { ApplicationName } from "../model/brand.js";
import { allInTurns } from "../model/collections.js";
import { safeMessage } from "../model/errors.js";
import { INTERRUPTED } from "../model/plan/cluster-check.js";
import { type ApplicationPlan, type Evaluated, type Plan, withoutAnswer, withoutAnswers } from "../model/plan/plan.js";
import type { Asking } from "../model/result.js";
import type { Clock } from "../ports/clock.js";
import type { Stoppable } from "../ports/context.js";
import type { Question } from "../render/live-diff-mode.js";

/** A plan of so few applications waits for the answers, so that it is one comment without an edit where Kubernetes is quick. */
const FEW = 8;
const SOON_MS = 1_000;

type Questions = ReadonlyMap<ApplicationName, Question>;

/** Waits a moment for Kubernetes' answers to a plan of a few applications. `asking` is set if there are answers to wait for once the plan is posted. */
export async function askSoon(
  given: Plan,
  questions: Questions,
  context: Stoppable & { readonly clock: Clock },
): Promise<{ readonly plan: Plan; readonly asking?: Asking }> {
  // What this plan keeps of an earlier one may still be asking, and nobody waits for those answers.
  const plan = withoutAnswers(given, INTERRUPTED, (application) => !questions.has(application));
  if (questions.size === 0) return { plan };
  const asking = new LateAnswers(plan, questions, context);
  if (questions.size > FEW) return { plan, asking };
  const timer = new AbortController();
  const late = context.clock.sleep(SOON_MS, timer.signal).catch(() => undefined);
  const answered = await Promise.race([asking.start(), late]);
  timer.abort();
  return answered === undefined ? { plan, asking } : { plan: answered };
}

class LateAnswers implements Asking {
  readonly #late = new AbortController();
  #why = "";
  #startedAt = 0;
  #answered: Promise<Plan> | undefined;

  constructor(
    private readonly plan: Plan,
    private readonly questions: Questions,
    private readonly context: Stoppable,
  ) {}

  start(): Promise<Plan> {
    if (this.#answered === undefined) {
      this.#startedAt = performance.now();
      this.#answered = this.#ask();
      // The command may be stopped before anybody waits for it.
      this.#answered.catch(() => undefined);
    }
    return this.#answered;
  }

  /** Counts real time, as the time-out of a single request does, not that of the clock. */
  async answers(withinMs: number): Promise<Plan> {
    this.#why = `Kubernetes did not answer within ${Math.round(withinMs / 1000)} s`;
    const answered = this.start();
    const left = withinMs - (performance.now() - this.#startedAt);
    const timer = setTimeout(() => this.#late.abort(), Math.max(0, left));
    try {
      return await answered;
    } finally {
      clearTimeout(timer);
    }
  }

  async #ask(): Promise<Plan> {
    const asked = this.plan.applications.flatMap((one) => {
      const question = this.questions.get(one.application);
      return question === undefined || one.kind !== "evaluated" ? [] : [{ one, question }];
    });
    const first = asked.sort((left, right) => urgency(left.one) - urgency(right.one));
    const answered = await allInTurns(first, ({ one, question }) => this.#answer(one, question));
    const byName = new Map(answered.map((one) => [one.application, one]));
    const applications = this.plan.applications.map((one) => byName.get(one.application) ?? one);
    return { ...this.plan, applications };
  }

  async #answer(planned: Extract<ApplicationPlan, Evaluated>, { answer }: Question): Promise<ApplicationPlan> {
    // One for each question: Node warns of many listeners of one signal.
    const signal = AbortSignal.any([this.context.signal, this.#late.signal]);
    try {
      signal.throwIfAborted();
      return { ...planned, ...(await answer(planned, signal)) };
    } catch (error) {
      this.context.signal.throwIfAborted();
      if (this.#late.signal.aborted) return withoutAnswer(planned, this.#why);
      const { application } = planned;
      this.context.log.warn(
        { application, err: error },
        "could not ask Kubernetes about the changes of an application",
      );
      return withoutAnswer(planned, safeMessage(error));
    }
  }
}

/** Sorts what is asked first: what our own rules expect to be refused, then other dangers. The time may not be enough for all. */
function urgency({ diff }: Evaluated): number {
  if (diff.dangers.some(({ effect }) => effect === "refused")) return 0;
  return diff.dangers.length > 0 ? 1 : 2;
}
