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
  const clock = new ManualClock();
  const questions = new Questions({ signal: signal.signal, log: recordingLog(), clock });
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
    /** Lets the pause after an answer pass. */
    async pass(ms = 0) {
      clock.advance(ms);
      await turn();
    },
    async accept(...names: readonly string[]) {
      for (const name of names) {
        await turn();
        answers.get(name)?.accept();
        await turn();
      }
    },
    async fail(name: string, error: Error) {
      await turn();
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
  test("are asked one at a time while it is rendered, with a pause as long as the answer took", async () => {
    const { asked, set, accept, pass } = cluster();
    set("a", "b", "c");
    await turn();
    expect(asked).toEqual(["a"]);
    await pass(40);
    await accept("a");
    await pass(39);
    expect(asked).toEqual(["a"]);
    await pass(1);
    expect(asked).toEqual(["a", "b"]);
  });

  test.each(["is answered", "has failed"])(
    "leave no edit of a plan of many applications if each %s by then",
    async (how) => {
      const { questions, set, accept, fail, pass } = cluster();
      set(...MANY);
      for (const name of MANY) {
        await (how === "is answered" ? accept(name) : fail(name, new Error("broken")));
        await pass();
      }
      const { plan, asking: later } = await questions.soon(asking(MANY));
      expect(isAsking(plan)).toBe(false);
      expect(later).toBeUndefined();
    },
  );

  test("are asked all together once it is posted, dangers first, none of them twice, and none in between", async () => {
    const { asked, questions, set, accept, pass } = cluster();
    set(...MANY);
    await accept("app-1");
    await pass();
    const dangers = [{ what: "deletes PersistentVolumeClaim data", pruning: true }];
    const { plan, asking: later } = await questions.soon(asking(MANY, { "app-9": { dangers } }));
    expect(isAsking(plan)).toBe(true);
    await accept("app-2");
    await pass();
    expect(asked).toEqual(["app-1", "app-2"]);
    const answered = later?.answers(60_000);
    await turn();
    expect(asked).toEqual(["app-1", "app-2", "app-9", ...MANY.slice(2, 8)]);
    await accept(...MANY.slice(2));
    expect(isAsking((await answered) ?? plan)).toBe(false);
    expect(asked).toHaveLength(MANY.length);
  });

  test("are not asked between the last render and the plan's comment", async () => {
    const { asked, questions, set, accept, pass } = cluster();
    set("a", "b");
    await turn();
    questions.rest();
    await accept("a");
    await pass();
    expect(asked).toEqual(["a"]);
  });

  test("about an application that is evaluated again replace its earlier ones", async () => {
    const { asked, questions, set, accept, pass } = cluster();
    set("a", "b", "c");
    questions.delete(applicationName("b"));
    set("c");
    await accept("a");
    await pass();
    await accept("c");
    await pass();
    expect(asked).toEqual(["a", "c"]);
  });

  test.each(["that breaks", "without an answer"])(
    "one %s costs the others nothing, and the plan says so",
    async (what) => {
      const { questions, set, accept, fail } = cluster();
      set(...MANY);
      if (what === "that breaks") await fail("app-1", new Error("broken"));
      const { asking: later } = await questions.soon(asking(MANY));
      const answered = later?.answers(what === "that breaks" ? 60_000 : 400);
      await accept(...MANY.slice(1));
      expect(reasonsIn((await answered) ?? samplePlan([]))).toEqual([
        what === "that breaks"
          ? expect.stringContaining("an unexpected error inside the service")
          : "Kubernetes did not answer within 0 s",
      ]);
    },
  );

  test("are asked no more once the plan has failed", async () => {
    const { asked, questions, set } = cluster();
    set("a", "b");
    await turn();
    questions.end();
    expect(isAsking((await questions.soon(asking(["a", "b"]))).plan)).toBe(false);
    expect(asked).toEqual(["a"]);
  });

  test("are asked no more once the command is stopped", async () => {
    const { asked, questions, set, stop } = cluster();
    set("a", "b");
    await turn();
    stop();
    await expect(questions.soon(asking(["a", "b"]))).rejects.toThrow("stopped");
    expect(asked).toEqual(["a"]);
  });
});
