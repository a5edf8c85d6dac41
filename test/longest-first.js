import Sequencer from "@jest/test-sequencer";

/** What takes longest, on two cores half a minute and more. Started last, one of them would keep the run going alone. */
const LONGEST = [
  "scenarios/converges",
  "fuzz/next-step",
  "interleavings/locks",
  "corpus/corpus",
  "policy/judged-as-done",
  "scenarios/exact-commit",
  "attacks/approval-independence",
  "attacks/withheld-renders",
  "attacks/merge-moments",
  "attacks/definition-rules",
  "demo/demo.nightly",
  "scenarios/bad-input-answers",
  "scenarios/host-limit",
  "scenarios/large-plans.nightly",
  "scenarios/resilience",
  "web/browser/flows",
  "contract/code-host.test",
  "contract/event-queue-durable",
  "core/diff/manifest-diff",
  "main.test",
  "web/browser/looks",
  "types/one-decider",
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const isLong = ({ path }) => LONGEST.some((name) => path.includes(`/test/${name}`));
    const sorted = super.sort(tests);
    return [...sorted.filter(isLong), ...sorted.filter((one) => !isLong(one))];
  }
}
