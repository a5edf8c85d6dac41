import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { inputsOf } from "../../../../src/core/detect/inputs/inputs.js";
import { createDetectionCaches, openSnapshot } from "../../../../src/core/detect/inputs/snapshot.js";
import { BusyMachine, INLINE_READING } from "../../../in-memory/inline-compute.js";
import { HEAD, memorySnapshot } from "../memory-snapshot.js";
import { stopTime } from "../passing-time.js";
import { single } from "../read-inputs.js";

describe("a YAML file whose reading was stopped", () => {
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  const FILE = "apps/web/kustomization.yaml";
  const LONG = "# a comment\n".repeat(300);

  /** Snapshots of one commit on a busy machine, and of the same service. */
  function busyService(text: string) {
    const machine = new BusyMachine();
    const pass = stopTime();
    const caches = createDetectionCaches();
    const memory = memorySnapshot({ [FILE]: text });
    const entries = memory.list(HEAD);
    const open = () =>
      openSnapshot({ ...memory, list: () => entries }, caches, { ...INLINE_READING, compute: machine });
    const read = async (snapshot = open()) => (await snapshot.tree(HEAD)).readYaml(FILE);
    return { machine, pass, open, read };
  }

  test("is read again after ten minutes and not before", async () => {
    const { machine, pass, read } = busyService(`resources: [a.yaml]\n${LONG}`);
    expect(await read()).toBeUndefined();
    machine.busy = false;
    pass(9);
    expect(await read()).toBeUndefined();
    expect(machine.tasks).toBe(1);
    pass(2);
    expect(await read()).toEqual([{ resources: ["a.yaml"] }]);
    await read();
    expect(machine.tasks).toBe(2);
  });

  test("differs from one that is not valid, which is never read again", async () => {
    const { machine, pass, read } = busyService(`resources: [\n${LONG}`);
    machine.busy = false;
    expect(await read()).toBeUndefined();
    pass(11);
    expect(await read()).toBeUndefined();
    expect(machine.tasks).toBe(1);
  });

  test("stays unread in each snapshot that did not read it, whatever others read later", async () => {
    const { machine, pass, open, read } = busyService(`resources: [../base]\n${LONG}`);
    const whole = async (snapshot = open()) =>
      (await inputsOf(single("apps/web"), [1], snapshot, HEAD)).map((part) => part.whole);
    const UNREAD = [`the kustomization ${FILE} cannot be read`];
    const first = open();
    expect(await whole(first)).toEqual(UNREAD);
    const second = open();
    expect(await read(second)).toBeUndefined();
    machine.busy = false;
    pass(11);
    expect(await whole()).toEqual([undefined]);
    expect([await read(first), await read(second)]).toEqual([undefined, undefined]);
    expect(await whole(first)).toEqual(UNREAD);
  });
});
