import fc from "fast-check";

/** What somebody does to one change request. */
export type Action =
  | {
      readonly kind: "command";
      readonly command: "plan" | "sync" | "rollback" | "unlock";
      readonly named: number | undefined;
    }
  | { readonly kind: "push"; readonly touches: Touches; readonly breaksRules: boolean }
  | { readonly kind: "approve" | "withdraw" | "merge" | "close" | "reopen" | "force-unlock" | "expire" }
  /** The base branch gets a commit that touches these applications. */
  | { readonly kind: "base"; readonly touches: Touches }
  /** From now on this application cannot be rendered, or its syncs fail. */
  | { readonly kind: "fault"; readonly what: "render" | "sync"; readonly named: number }
  /** The next step is done as it was advised. */
  | { readonly kind: "obey" };

/** Which of the applications are changed. */
export type Touches = readonly boolean[];

export interface Step {
  readonly action: Action;
  /** Index of the change request, counted around. */
  readonly change: number;
}

/** What the server's file and the repository's say. */
export interface Rules {
  readonly autoMerge: boolean;
  readonly requireApproval: boolean;
  readonly requireUpToDate: boolean;
  readonly skipNoChanges: boolean;
  /** Only olga may sync one of the applications. */
  readonly lists: boolean;
}

export interface Conversation {
  readonly rules: Rules;
  /** The change requests, by what they touch. */
  readonly opened: readonly Touches[];
  readonly steps: readonly Step[];
  /** Which of the commands in the last answer is given at the end. */
  readonly chosen: number;
}

const touches = fc.array(fc.boolean(), { minLength: 4, maxLength: 4 });
const named = fc.nat(3);

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("command" as const),
      command: fc.constantFrom(
        "plan" as const,
        "sync" as const,
        "sync" as const,
        "rollback" as const,
        "unlock" as const,
      ),
      named: fc.option(named, { nil: undefined, freq: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("push" as const),
      touches,
      breaksRules: fc.integer({ min: 0, max: 7 }).map((one) => one === 0),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("approve" as const, "withdraw" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("merge" as const, "close" as const, "reopen" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("force-unlock" as const, "expire" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("base" as const), touches }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("fault" as const),
      what: fc.constantFrom("render" as const, "sync" as const),
      named,
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("obey" as const) }) },
);

export const conversation: fc.Arbitrary<Conversation> = fc.record({
  rules: fc.record({
    autoMerge: fc.boolean(),
    requireApproval: fc.boolean(),
    requireUpToDate: fc.boolean(),
    skipNoChanges: fc.boolean(),
    lists: fc.boolean(),
  }),
  opened: fc.array(touches, { minLength: 1, maxLength: 2 }),
  steps: fc.array(fc.record({ action, change: fc.nat(1) }), { minLength: 1, maxLength: 8 }),
  chosen: fc.nat(20),
});
