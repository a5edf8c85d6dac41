import type { ApplicationName } from "../model/brand.js";
import { groupedBy } from "../model/collections.js";
import type { Names } from "../model/next-step.js";
import type { Refusal } from "../model/result.js";
import { isAnnounced, selectedOf } from "./application-state.js";
import { type ApplicationFacts, DOUBTS, type FactName, type Facts } from "./facts.js";
import { type Bar, type Barred, type Gate, GATES, type Judged, type Rule } from "./gates.js";
import { refusalFor, RULES } from "./rules.js";

/** The result of judging a command: what bars it, and its refusal. */
export interface Judgement {
  readonly command: Judged;
  /** The bars of the whole change request, in the order in which people should clear them. */
  readonly whole: readonly Bar[];
  /** The selected applications, each with its bars in the same order. */
  readonly applications: readonly JudgedApplication[];
  /** What the command is answered if it is given now; undefined if it may run. */
  readonly refusal: Refusal | undefined;
}

interface JudgedApplication {
  readonly application: ApplicationName;
  readonly bars: readonly Bar[];
}

/** Decides what a command may do: every refusal, commit status, advice and merge follows from this. @param asks which gates are judged. */
export function judge(command: Judged, facts: Facts, asks: (gate: Gate) => boolean = () => true): Judgement {
  const concerned = concernedBy(command, facts);
  const gates = GATES.filter((gate) => asks(gate) && RULES[gate].commands.includes(command));
  const asked = gates.map((gate) => {
    const rule = RULES[gate];
    const doubt = doubtAbout(factsOf(rule), facts);
    const unasked = rule.asks && doubtAbout([rule.asks], facts);
    const bar = (application: ApplicationName | undefined, reason: string): Bar => {
      return { gate, application, why: doubt ?? unasked ?? reason, untold: (doubt ?? unasked) !== undefined };
    };
    return { rule, doubt, bar };
  });
  const whole = asked.flatMap(({ rule, doubt, bar }) => {
    if (rule.of !== "change") return [];
    const reasons = doubt === undefined ? rule.bars(facts, command) : [{ application: undefined, reason: doubt }];
    return reasons.map(({ application, reason }) => bar(application, reason));
  });
  const ofEach = asked.flatMap(({ rule, ...one }) => (rule.of === "application" ? [{ ...one, bars: rule.bars }] : []));
  const applications = concerned.map((one) => {
    const bars: Bar[] = [];
    for (const { doubt, bar, bars: reasonFor } of ofEach) {
      const reason = doubt ?? reasonFor(one, facts, command);
      if (reason !== undefined) bars.push(bar(one.application, reason));
    }
    return { application: one.application, bars };
  });
  return {
    command,
    whole,
    applications,
    // Advice asks for none, and that of ten thousand applications takes long.
    get refusal() {
      const all = [...whole, ...applications.flatMap(({ bars }) => bars)];
      if (all.length === 0) return undefined;
      const first = all.reduce((least, { gate }) => Math.min(least, RULES[gate].specificationOrder), Infinity);
      const answered = all.filter(({ gate }) => RULES[gate].specificationOrder === first);
      const others = whole.length > 0 ? [] : applications.filter(({ bars }) => bars.length === 0);
      return refusalFor(barredBy(answered, concerned, { others }), facts, command);
    },
  };
}

/** The bars of a judgement in the order of `GATES`. */
export function barsOf({ whole, applications }: Judgement): readonly Bar[] {
  return inOrder([...whole, ...applications.flatMap(({ bars }) => bars)]);
}

/** Sorts bars in the order of `GATES`, in which people should clear them. */
export function inOrder(bars: readonly Bar[]): readonly Bar[] {
  const ofGate = groupedBy(bars, ({ gate }) => gate);
  return GATES.flatMap((gate) => ofGate.get(gate) ?? []);
}

/** Gathers these bars with their applications, for a refusal or a next step. */
export function barredBy(
  bars: readonly Bar[],
  all: readonly ApplicationFacts[],
  { others = [], only = [] }: { readonly others?: readonly JudgedApplication[]; readonly only?: Names },
): Barred {
  const names = new Set(bars.map(({ application }) => application));
  return {
    bars,
    applications: all.filter(({ application }) => names.has(application)),
    others: others.map(({ application }) => application),
    only,
  };
}

function concernedBy(command: Judged, facts: Facts): readonly ApplicationFacts[] {
  if (command === "merge") return [...facts.applications, ...facts.others];
  const selected = selectedOf(facts);
  if (command !== "sync" && command !== "rollback") return selected;
  // A rollback takes back what was deployed, whatever a later head does with the application.
  return selected.filter((one) => !isAnnounced(one) || (command === "rollback" && one.record !== undefined));
}

/** The facts without which a rule bars. */
export function factsOf({ trusts = {}, needs = [] }: Rule): readonly FactName[] {
  return [...(Object.keys(trusts) as (keyof typeof trusts)[]), ...needs];
}

/** Why nobody knows, if one of these facts could not be read. */
function doubtAbout(facts: readonly FactName[], { untold }: Facts): string | undefined {
  const fact = facts.find((one) => untold[one] !== undefined);
  return fact && `${DOUBTS[fact]}: ${untold[fact] ?? ""}`;
}
