import { describe, expect, test } from "@jest/globals";
import { Questions } from "../../../src/core/commands/plan-warnings.js";
import { applicationName } from "../../../src/core/model/brand.js";
import { isAsking, type Evaluated, type Plan } from "../../../src/core/model/plan/plan.js";
import type { Question } from "../../../src/core/render/live-diff-mode.js";
import { evaluated, sampleApplication, samplePlan } from "../../comments/samples.js";
import { ManualClock } from "../../manual-clock.js";
import { recordingLog } from "../../recording-log.js";

/** More applications than a plan waits for. */
const MANY = Array.from({ length: 9 }, (_, at) => `app-${at + 1}`);
const ACCEPTED = { accepted: 1, refused: [], untried: [] };

/** A cluster whose questions each wait for an answer. */
function cluster() {
  const asked: string[] = [];
  const answers = new Map<string, { readonly accept: () => void; readonly fail: (error: Error) => void }>();
  const signal = new AbortController();
  const log = recordingLog();
  const questions = new Questions({ signal: signal.signal, log, clock: new ManualClock() });
  const about = (name: string): Question => ({
    ask(given) {
      asked.push(name);
      return new Promise((resolve, reject) => {
        given.addEventListener("abort", () => reject(given.reason as Error), { once: true });
        answers.set(name, { accept: () => resolve((planned) => ({ ...planned, cluster: ACCEPTED })), fail: reject });
      });
    },
  });
  return {
    asked,
    questions,
    stop: () => signal.abort(new Error("stopped")),
    set: (...names: readonly string[]) => {
      for (const name of names) questions.set(applicationName(name), about(name));
    },
    /** Once they are asked. */
    async accept(...names: readonly string[]) {
      for (const name of names) {
        while (!answers.has(name)) await turn();
        answers.get(name)?.accept();
      }
      await turn();
    },
    async fail(name: string, error: Error) {
      while (!answers.has(name)) await turn();
      answers.get(name)?.fail(error);
      await turn();
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A plan of these applications as it is shown before Kubernetes has answered. */
function asking(names: readonly string[], more: Readonly<Record<string, Partial<Evaluated["diff"]>>> = {}): Plan {
  const check = { accepted: 0, refused: [], untried: [], asking: ["ConfigMap settings"] };
  const applications = names.map((name) => sampleApplication(name, { ...evaluated([], more[name]), cluster: check }));
  return samplePlan(applications);
}

const reasonsIn = ({ applications }: Plan) =>
  applications.flatMap((one) =>
    one.kind === "evaluated" ? (one.cluster?.untried.map(({ reason }) => reason) ?? []) : [],
  );

describe("the questions of a plan to Kubernetes", () => {
  test("are asked one after the other while it is rendered", async () => {
    const { asked, set, accept } = cluster();
    set("a", "b", "c");
    await turn();
    expect(asked).toEqual(["a"]);
    await accept("a");
    while (asked.length < 2) await turn();
    expect(asked).toEqual(["a", "b"]);
  });

  test("leave no edit of a plan of many applications if all are answered by then", async () => {
    const { questions, set, accept } = cluster();
    set(...MANY);
    await accept(...MANY);
    const { plan, asking: later } = await questions.soon(asking(MANY));
    expect(isAsking(plan)).toBe(false);
    expect(later).toBeUndefined();
  });

  test("are asked at once when it is posted, dangers first, none of them twice", async () => {
    const { asked, questions, set, accept } = cluster();
    set(...MANY);
    await accept("app-1");
    while (asked.length < 2) await turn();
    const dangers = [{ what: "deletes PersistentVolumeClaim data", pruning: true }];
    const { plan, asking: later } = await questions.soon(asking(MANY, { "app-9": { dangers } }));
    expect(isAsking(plan)).toBe(true);
    expect(asked).toEqual(["app-1", "app-2"]);
    const answered = later?.answers(60_000);
    await turn();
    expect(asked).toEqual(["app-1", "app-2", "app-9", ...MANY.slice(2, 8)]);
    await accept(...MANY.slice(1));
    expect(isAsking((await answered) ?? plan)).toBe(false);
    expect(asked).toHaveLength(MANY.length);
  });

  test("that an application is evaluated again for are asked in place of its earlier ones", async () => {
    const { asked, questions, set, accept } = cluster();
    set("a", "b", "c");
    questions.delete(applicationName("b"));
    set("c");
    await accept("a", "c");
    expect(asked).toEqual(["a", "c"]);
  });

  test.each(["that breaks", "without an answer"])(
    "one %s costs the others nothing, and the plan says so",
    async (what) => {
      const { questions, set, accept, fail } = cluster();
      set(...MANY);
      if (what === "that breaks") await fail("app-1", new Error("broken"));
      const { asking: later } = await questions.soon(asking(MANY));
      const answered = later?.answers(what === "that breaks" ? 60_000 : 50);
      await accept(...MANY.slice(1));
      expect(reasonsIn((await answered) ?? samplePlan([]))).toEqual([
        what === "that breaks"
          ? expect.stringContaining("an unexpected error inside the service")
          : "Kubernetes did not answer within 0 s",
      ]);
    },
  );

  test("are asked no more once the plan is stopped, or has failed", async () => {
    for (const how of ["stop", "end"] as const) {
      const { asked, questions, set, stop } = cluster();
      set("a", "b");
      await turn();
      if (how === "stop") stop();
      else questions.end();
      await turn();
      await turn();
      expect(asked).toEqual(["a"]);
    }
  });
});
