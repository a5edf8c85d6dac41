import { setTimeout as delay } from "node:timers/promises";
import { failedPrecondition, invalid, quoted } from "../api-error.js";
import { runAppliedSets } from "../appsets/set-controller.js";
import type { SourceAt } from "../render/render-source.js";
import { SourceFailure } from "../render/renderer.js";
import { sourcesOf, type Application, type Operation } from "../resource.js";
import type { World } from "../world.js";
import { applyOperation } from "./apply-operation.js";
import type { Controller } from "./controller.js";
import { addHistory, outcomeOf, type Outcome, type PlannedOutcome } from "./operation-result.js";
import {
  finishedState,
  mayRetry,
  newRun,
  retryingState,
  syncOperation,
  waitingState,
  type Run,
} from "./operation-run.js";

/**
 * Runs operations as the controller does. With a number of polls, each read of the application advances its operation
 * by one step, independent of any clock; with milliseconds, operations run on their own.
 */
export class Operations {
  readonly #runs = new Map<Application, Run>();
  readonly #holds = new Map<Application, number>();
  readonly #planned = new Map<Application, PlannedOutcome[]>();
  readonly #turns = new Map<Application, Promise<unknown>>();
  readonly #stop = new AbortController();

  constructor(
    readonly world: World,
    readonly controller: Controller,
  ) {
    controller.autoSync = (application, initiatedBy, revisions) => this.runNow(application, initiatedBy, revisions);
  }

  /** Starts an operation. @throws {ApiError} code 9 if one is in progress. */
  start(application: Application, operation: Operation): void {
    if (application.operation !== undefined) throw failedPrecondition("another operation is already in progress");
    application.operation = operation;
    application.operationState = undefined;
    this.world.touch(application);
    const run = newRun(application, operation, this.world.timestamp(), "recorded");
    this.#runs.set(application, run);
    if ("ms" in this.world.options.operationTime) void this.#runTimed(run, this.world.options.operationTime.ms);
  }

  /** Advances the application's operation by one step. Called for each read of the application. */
  async advance(application: Application): Promise<void> {
    const { operationTime } = this.world.options;
    if (!("polls" in operationTime)) return;
    await this.#inTurn(application, async () => {
      const run = this.#runs.get(application);
      if (run !== undefined) await this.#step(run, operationTime.polls);
    });
  }

  /** Runs an operation to its end at once, at the given revisions or the target revisions. */
  async runNow(
    application: Application,
    initiatedBy: Operation["initiatedBy"],
    revisions?: readonly string[],
  ): Promise<void> {
    if (this.#isBusy(application)) return;
    const at = await this.world.renderer.resolve(sourcesOf(application.spec), revisions);
    const operation = syncOperation(application, at, initiatedBy);
    if (this.#isBusy(application)) return;
    application.operation = operation;
    const run = newRun(application, operation, this.world.timestamp(), "running");
    this.#runs.set(application, run);
    await this.#attempt(run);
  }

  /** @throws {ApiError} code 3 if no operation runs, or none was picked up yet. */
  async terminate(application: Application): Promise<void> {
    await this.#inTurn(application, () => {
      const run = this.#runs.get(application);
      if (run === undefined || application.operationState === undefined) {
        throw invalid("Unable to terminate operation. No operation is in progress");
      }
      run.stage = "terminating";
      run.reads = 0;
      application.operationState = { ...application.operationState, phase: "Terminating" };
      this.world.touch(application);
      return Promise.resolve();
    });
  }

  /** Keeps the current or next operation from finishing. */
  hold(application: Application): () => void {
    const count = (by: number): void => void this.#holds.set(application, (this.#holds.get(application) ?? 0) + by);
    count(1);
    let held = true;
    return () => {
      if (held) count(-1);
      held = false;
    };
  }

  failNext(application: Application, outcome: PlannedOutcome): void {
    this.#planned.set(application, [...(this.#planned.get(application) ?? []), outcome]);
  }

  stop(): void {
    this.#stop.abort();
  }

  async #step(run: Run, polls: number): Promise<void> {
    run.reads += 1;
    switch (run.stage) {
      case "recorded":
      case "running":
        if (run.stage === "recorded" && run.reads === 1 && polls >= 3) return;
        this.#pickUp(run);
        if (run.reads >= polls && !this.#isHeld(run)) await this.#attempt(run);
        return;
      case "waiting":
        this.#announceRetry(run);
        return;
      case "retrying":
        if (!this.#isHeld(run)) await this.#attempt(run);
        return;
      case "terminating":
        if (run.reads < 2 && polls > 1) return;
        await this.#finish(run, undefined, { phase: "Failed", message: "Operation terminated" });
        return;
      case "done":
    }
  }

  async #runTimed(run: Run, ms: number): Promise<void> {
    const wait = (share: number): Promise<void> =>
      delay(ms * share, undefined, { signal: this.#stop.signal, ref: false });
    const patient = async (share: number): Promise<void> => {
      do await wait(share);
      while (this.#isHeld(run) && run.stage !== "terminating");
    };
    try {
      await wait(0.2);
      this.#pickUp(run);
      while (run.stage !== "done") {
        await patient(0.3);
        if (run.stage === "waiting") this.#announceRetry(run);
        else if (run.stage === "terminating") await this.#step(run, 1);
        else await this.#attempt(run, () => patient(0.1));
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  #isBusy(application: Application): boolean {
    return application.operation !== undefined;
  }

  #isHeld(run: Run): boolean {
    return (this.#holds.get(run.application) ?? 0) > 0;
  }

  #pickUp(run: Run): void {
    if (run.stage !== "recorded") return;
    run.stage = "running";
    run.application.operationState = { operation: run.operation, phase: "Running", startedAt: run.startedAt };
    this.world.touch(run.application);
  }

  #announceRetry(run: Run): void {
    run.stage = "retrying";
    run.latest = run.operation.retry.refresh === true;
    run.application.operationState = retryingState(run);
    this.world.touch(run.application);
  }

  /** Renders and applies, with `pause` between two objects. */
  async #attempt(run: Run, pause?: () => Promise<void>): Promise<void> {
    const { application, operation } = run;
    const { sync } = operation;
    const sources = sync.sources ?? (sync.source === undefined ? [] : [sync.source]);
    const asked = sync.revisions ?? [sync.revision];
    let at: SourceAt[] | undefined;
    let outcome: Outcome;
    try {
      at = await this.world.renderer.resolve(sources, run.latest ? [] : asked);
      const planned = this.#planned.get(application)?.shift();
      outcome =
        planned === undefined
          ? await applyOperation(this.world, this.controller, application, operation, at, {
              pause,
              isTerminated: () => run.stage === "terminating",
            })
          : outcomeOf(planned, application.spec.destination.namespace ?? "");
    } catch (error) {
      const reason = error instanceof SourceFailure ? `${error.message}: ${quoted(error.cause)}` : quoted(error);
      outcome = { phase: "Error", message: `ComparisonError: Failed to load target state: ${reason}` };
    }
    await this.#conclude(run, at, outcome);
  }

  async #conclude(run: Run, at: readonly SourceAt[] | undefined, outcome: Outcome): Promise<void> {
    if (!mayRetry(run, outcome)) {
      await this.#finish(run, at, outcome);
      return;
    }
    run.retries += 1;
    run.stage = "waiting";
    run.application.operationState = waitingState(run, at, outcome, new Date());
    this.world.touch(run.application);
  }

  async #finish(run: Run, at: readonly SourceAt[] | undefined, outcome: Outcome): Promise<void> {
    const { application, operation } = run;
    const { dryRun } = operation.sync;
    const state = finishedState(run, at, outcome, this.world.timestamp());
    run.stage = "done";
    this.#runs.delete(application);
    application.operation = undefined;
    application.operationState = state;
    if (outcome.phase === "Succeeded" && dryRun !== true) {
      addHistory(this.world, application, state);
    }
    this.world.touch(application);
    if (dryRun === true) return;
    await runAppliedSets(this.world, this.controller);
    for (const other of this.world.applications.values()) this.controller.markStale(other);
    // An automatic sync never starts the next one directly, even if differences remain.
    await this.controller.reconcile(application, operation.initiatedBy.automated !== true);
  }

  /** Serialises the steps of an application's operation. */
  #inTurn<T>(application: Application, act: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(application) ?? Promise.resolve();
    const mine = before.catch(() => undefined).then(act);
    this.#turns.set(
      application,
      mine.catch(() => undefined),
    );
    return mine;
  }
}
