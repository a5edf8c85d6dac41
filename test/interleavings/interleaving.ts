import fc from "fast-check";

/** What somebody does to one change request. */
export type Action =
  | { readonly kind: "plan" | "sync" | "unlock" | "rollback"; readonly application: number | undefined }
  | { readonly kind: "push"; readonly touches: readonly boolean[]; readonly definition: boolean }
  | { readonly kind: "close" | "merge" | "reopen" };

/** One event; its webhook goes to one of the two cores. */
export interface Step {
  readonly action: Action;
  /** Index of the change request, counted around. */
  readonly change: number;
  readonly core: 0 | 1;
  /** What happens before it: nothing, a random pause, several of them, or everything has come to rest. */
  readonly after: "at-once" | "pause" | "pauses" | "rest";
}

export interface Opened {
  /** Which applications it touches. */
  readonly touches: readonly boolean[];
  /** Where the webhook of its opening goes. */
  readonly core: 0 | 1;
}

/** A few events on a few change requests that touch a few applications. */
export interface Interleaving {
  readonly applications: 2 | 3;
  /** One for each change request. */
  readonly opened: readonly Opened[];
  readonly steps: readonly Step[];
  /** Of the pauses in the outside world. */
  readonly seed: number;
}

const core = fc.constantFrom(0 as const, 1 as const);
const touched = fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) });
const touches = fc.array(touched, { minLength: 3, maxLength: 3 });
const application = fc.option(fc.nat(2), { nil: undefined, freq: 2 });

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("plan" as const), application }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("sync" as const), application }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("unlock" as const), application }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rollback" as const), application }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("push" as const), touches, definition: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("close" as const, "merge" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);

const step: fc.Arbitrary<Step> = fc.record({
  action,
  change: fc.nat(3),
  core,
  after: fc.oneof(
    { weight: 3, arbitrary: fc.constant("at-once" as const) },
    { weight: 4, arbitrary: fc.constant("pause" as const) },
    { weight: 4, arbitrary: fc.constant("pauses" as const) },
    { weight: 2, arbitrary: fc.constant("rest" as const) },
  ),
});

export const interleaving: fc.Arbitrary<Interleaving> = fc.record({
  applications: fc.constantFrom(2 as const, 3 as const),
  opened: fc.array(fc.record({ touches, core }), { minLength: 2, maxLength: 4 }),
  steps: fc.array(step, { minLength: 4, maxLength: 10 }),
  seed: fc.integer(),
});
