import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequestRef, HeadRef } from "../../src/core/model/change-request.js";
import { HostFailure, StoreUnavailable } from "../../src/core/model/errors.js";
import type { HostEvent } from "../../src/core/model/event.js";
import type { CodeHost, CommitStatus, OpenWithHead } from "../../src/core/ports/code-host.js";
import type { OwnStatus, StatusStore } from "../../src/core/ports/stores.js";
import { writeStatus, writeUnplanned, writeWorst } from "../../src/run/answer/status.js";
import { MemoryStatusStore } from "../../src/store/memory/lock-store.js";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import type { Stores } from "../../src/store/stores.js";
import { WORDS } from "../comments/samples.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { shareOf } from "../share-of.js";

type State = OwnStatus["state"];

const HEAD = revision("a".repeat(40));
const at = (number: number, host: HeadRef["host"] = "hosta"): HeadRef => ({
  host,
  repository: repositoryName("acme/deploy"),
  number,
  headRevision: HEAD,
});

function own(number: number, state: State, host: HeadRef["host"] = "hosta"): OwnStatus {
  return { change: at(number, host), state, description: `it is ${state}`, url: `https://git.example.com/${number}` };
}

interface Written extends CommitStatus {
  readonly number: number;
}

/** A host that notes what is asked of it. */
class NotingHost {
  readonly written: Written[] = [];
  lists = 0;
  open: () => Promise<OpenWithHead> = () => Promise.resolve({ numbers: [], cutOff: undefined });
  delay: () => Promise<void> = () => Promise.resolve();
  /** The change request whose status it cannot set at the moment. */
  failing: number | undefined;

  constructor(readonly statusPerChange = false) {}

  port(): CodeHost {
    const port: Pick<CodeHost, "setStatus" | "openWithHead" | "statusPerChange"> = {
      statusPerChange: this.statusPerChange,
      openWithHead: async () => {
        this.lists += 1;
        await this.delay();
        return this.open();
      },
      setStatus: async ({ number }, { state, description, url }) => {
        await this.delay();
        if (number === this.failing) throw new HostFailure("failed", "GitLab is down.");
        this.written.push({ number, state, description, url });
        return true;
      },
    };
    return port as CodeHost;
  }
}

function world(statuses: StatusStore, host = new NotingHost()) {
  const pushed: HostEvent[] = [];
  const push = (event: HostEvent) => {
    pushed.push(event);
    return Promise.resolve(true);
  };
  const forgotten: number[] = [];
  const retried: number[] = [];
  const publisher = {
    wrote: ({ number }: ChangeRequestRef) => {
      forgotten.push(number);
      return Promise.resolve();
    },
    retry: ({ number }: ChangeRequestRef) => {
      retried.push(number);
      return Promise.resolve();
    },
  };
  const writer = { host: host.port(), hostWords: WORDS, statuses, push, publisher, log: recordingLog() };
  return { host, pushed, forgotten, retried, writer };
}

const memory = () => new MemoryStatusStore(new ManualClock());

describe("the status of a commit", () => {
  test("a success that the host shows already is checked, and set again only if it may not stay", async () => {
    const { host, forgotten, writer } = world(memory());
    await writeStatus(own(1, "success"), writer);
    expect([host.written.length, host.lists, forgotten]).toEqual([1, 1, [1]]);
    expect(await writeStatus(own(1, "success"), writer, true)).toBe(true);
    expect([host.written.length, host.lists, forgotten]).toEqual([1, 2, [1]]);
    host.open = () => Promise.resolve({ numbers: [1, 2], cutOff: undefined });
    expect(await writeStatus(own(1, "success"), writer, true)).toBe(false);
    expect(host.written.at(-1)?.state).toBe("pending");
    expect(forgotten).toEqual([1, 1]);
  });

  test("what any of several change requests shows counts as unknown once their status is set", async () => {
    const { forgotten, host, writer } = world(memory());
    await writeStatus(own(1, "success"), writer);
    await writeStatus(own(2, "pending"), writer);
    expect(forgotten).toEqual([1, 1, 2]);
    await writer.statuses.remove(at(2));
    expect(await writeStatus(own(1, "success"), writer, false)).toBe(true);
    expect(host.written.at(-1)?.state).toBe("success");
  });

  test("that is the head of one alone is its own; a success costs one list, and nothing else costs one", async () => {
    const { host, writer } = world(memory());
    expect(await writeStatus(own(1, "pending"), writer)).toBe(true);
    expect(await writeStatus(own(1, "failure"), writer)).toBe(true);
    expect(host.lists).toBe(0);
    host.open = () => Promise.resolve({ numbers: [1], cutOff: undefined });
    expect(await writeStatus(own(1, "success"), writer)).toBe(true);
    expect(host.lists).toBe(1);
    expect(host.written.map(({ description }) => description)).toEqual([
      "it is pending",
      "it is failure",
      "it is success",
    ]);
  });

  test.each<[string, Readonly<Record<number, State>>, string]>([
    ["a failure before what is pending", { 1: "pending", 2: "failure", 3: "success" }, "PR #2: it is failure"],
    ["what is pending before a success", { 1: "success", 2: "pending", 3: "success" }, "PR #2: it is pending"],
    ["of equals the lowest number", { 10: "pending", 9: "pending" }, "PR #9: it is pending"],
    ["success only if all are", { 2: "success", 1: "success" }, "PR #1: it is success; PR #2: it is success"],
  ])("shows %s", async (_, states, description) => {
    const { host, writer } = world(memory());
    for (const [number, state] of Object.entries(states)) await writeStatus(own(Number(number), state), writer);
    expect(host.written.at(-1)?.description).toBe(description);
  });

  test("leads to the one that it names, and only that one's own text counts as shown", async () => {
    const { host, writer } = world(memory());
    await writeStatus(own(1, "pending"), writer);
    expect(await writeStatus(own(2, "success"), writer)).toBe(false);
    expect(host.written.at(-1)).toMatchObject({ state: "pending", url: "https://git.example.com/1" });
    expect(await writeStatus(own(1, "success"), writer)).toBe(true);
  });

  test("open ones that svc does not know are pending, and planned: 20 of them at once", async () => {
    const { host, pushed, writer } = world(memory());
    const numbers = Array.from({ length: 300 }, (_, index) => 300 - index);
    host.open = () => Promise.resolve({ numbers, cutOff: undefined });
    expect(await writeStatus(own(7, "success"), writer)).toBe(false);
    expect(host.written).toMatchObject([{ state: "pending", description: "PR #1: not planned yet", url: undefined }]);
    expect(pushed.map(({ change }) => change.number)).toEqual(
      [...Array.from({ length: 21 }, (_, index) => index + 1)].filter((number) => number !== 7),
    );
    expect(pushed[0]).toMatchObject({ kind: "updated", delivery: `found-head-hosta/acme/deploy/1-${HEAD}` });
    expect(host.lists).toBe(1);
  });

  test.each<[string, () => Promise<OpenWithHead>, string]>([
    [
      "more than the host lists",
      () => Promise.resolve({ numbers: [1], cutOff: "more than 1,000 are open" }),
      "cannot tell which pull requests have this commit as head: more than 1,000 are open",
    ],
    [
      "none, because the host fails",
      () => Promise.reject(new HostFailure("failed", "GitHub is down.")),
      "cannot tell which pull requests have this commit as head: GitHub did not list them; comment svc plan to try again",
    ],
  ])("is not green while there may be %s", async (_, open, description) => {
    const { host, writer } = world(memory());
    host.open = open;
    expect(await writeStatus(own(1, "success"), writer)).toBe(false);
    expect(host.written).toMatchObject([{ state: "pending", description }]);
    expect(description.length).toBeLessThanOrEqual(139);
  });

  test.each<keyof StatusStore>(["save", "ofHead", "exclusively"])(
    "is not green while the store fails at %s; what is pending or failed is set as it is",
    async (method) => {
      const broken = Object.assign(memory(), { [method]: () => Promise.reject(new StoreUnavailable("away")) });
      const { host, forgotten, retried, writer } = world(broken);
      expect(await writeStatus(own(1, "success"), writer, true)).toBe(false);
      expect(forgotten).toEqual([1]);
      expect(retried).toEqual([1]);
      const why =
        "cannot tell how other pull requests with this commit stand: Redis failed; comment svc plan to try again";
      expect(host.written).toMatchObject([{ state: "pending", description: why }]);
      await writeStatus(own(1, "failure"), writer);
      await writeStatus(own(1, "pending"), writer);
      expect(host.written.slice(1).map(({ state }) => state)).toEqual(["failure", "pending"]);
    },
  );

  test("a turn that is lost each time ends with a pending status", async () => {
    const statuses = memory();
    const exclusively: StatusStore["exclusively"] = (_, work) => work(() => Promise.resolve(false));
    const { host, writer } = world(Object.assign(statuses, { exclusively }));
    expect(await writeStatus(own(1, "success"), writer)).toBe(false);
    expect(host.written.map(({ state }) => state)).toEqual(["success", "success", "success", "pending"]);
  });

  test("one that was not looked at yet is set only if another one has the same head", async () => {
    const { host, writer } = world(memory());
    await writeUnplanned(own(1, "pending"), writer);
    expect(host.written).toEqual([]);
    await writeStatus(own(2, "success"), writer);
    expect(host.written.at(-1)?.state).toBe("pending");
    const before = host.written.length;
    await writeUnplanned({ ...own(3, "pending"), description: "not planned yet" }, writer);
    expect(host.written).toHaveLength(before + 1);
  });

  test("a new head of one brings its old one up to date for the others", async () => {
    const { host, writer } = world(memory());
    await writeStatus(own(1, "pending"), writer);
    await writeStatus(own(2, "success"), writer);
    const moved = { ...own(1, "pending"), change: { ...at(1), headRevision: revision("b".repeat(40)) } };
    await writeStatus(moved, writer);
    expect(host.written.at(-1)).toMatchObject({ number: 2, state: "success", description: "it is success" });
  });

  test("nobody is left: nothing is set", async () => {
    const { host, writer } = world(memory());
    await writeWorst(at(1), writer);
    expect(host.written).toEqual([]);
  });

  test("on a host with a status for each, the first ten others are told as well; one that cannot be told hinders nobody", async () => {
    const { host, writer } = world(memory(), new NotingHost(true));
    for (let number = 1; number <= 20; number += 1) await writer.statuses.save(own(number, "pending", "hostb"));
    await writeStatus(own(20, "failure", "hostb"), writer);
    expect(host.written.map(({ number }) => number)).toEqual([20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(new Set(host.written.map(({ description }) => description))).toEqual(new Set(["MR !20: it is failure"]));
  });

  test("one whose status the host does not take is looked at again, whoever caused the status", async () => {
    const { host, retried, writer } = world(memory(), new NotingHost(true));
    for (const number of [1, 2]) await writer.statuses.save(own(number, "success", "hostb"));
    host.failing = 2;
    expect(await writeStatus(own(1, "pending", "hostb"), writer)).toBe(true);
    expect(retried).toEqual([2]);
    await writer.statuses.remove(at(1, "hostb"));
    await expect(writeWorst(at(1, "hostb"), writer)).rejects.toThrow("GitLab is down.");
    expect(retried).toEqual([2, 2]);
  });
});

/** What becomes of each change request, in its order; undefined: it is closed. */
type Story = readonly (State | undefined)[];

const story = fc.array(fc.option(fc.constantFrom<State>("pending", "success", "success"), { nil: undefined }), {
  minLength: 1,
  maxLength: 4,
});
const stories = fc.array(story, { minLength: 2, maxLength: 4 });

/** Plays the stories side by side, each in its own order, as lanes do; returns the states that were set and should be. */
async function play(all: readonly Story[], writers: readonly ReturnType<typeof world>["writer"][]): Promise<void> {
  await Promise.all(
    all.map(async (states, index) => {
      const writer = writers[index % writers.length];
      if (writer === undefined) return;
      for (const state of states) {
        if (state !== undefined) await writeStatus(own(index + 1, state), writer);
        else if ((await writer.statuses.remove(at(index + 1))) !== undefined) await writeWorst(at(index + 1), writer);
      }
    }),
  );
}

/** @param doubtful Whether svc may have given up to find out, which leaves the status pending. */
function expectWorst(all: readonly Story[], { written }: NotingHost, doubtful = false): void {
  const last = all.map((states) => states.at(-1)).filter((state) => state !== undefined);
  if (last.length === 0) return;
  const allowed = last.some((state) => state === "pending")
    ? ["pending"]
    : doubtful
      ? ["success", "pending"]
      : ["success"];
  expect(allowed).toContain(written.at(-1)?.state);
}

/** A turn may be taken over while its work goes on, as after the end of a lease. */
function losingTurns(statuses: StatusStore, loses: () => boolean): StatusStore {
  let current: { readonly ended: Promise<void> } | undefined;
  return {
    save: (status) => statuses.save(status),
    remove: (change: ChangeRequestRef) => statuses.remove(change),
    ofHead: (head) => statuses.ofHead(head),
    listShared: () => statuses.listShared(),
    countWrite: (head) => statuses.countWrite(head),
    async exclusively(_, work) {
      while (current !== undefined && !loses()) await current.ended;
      const ends: (() => void)[] = [];
      const mine = { ended: new Promise<void>((resolve) => ends.push(resolve)) };
      current = mine;
      try {
        return await work(() => Promise.resolve(current === mine));
      } finally {
        if (current === mine) current = undefined;
        for (const end of ends) end();
      }
    },
  };
}

describe("in any order of two replicas", () => {
  const property = (turns: (statuses: StatusStore, loses: () => boolean) => StatusStore) =>
    fc.asyncProperty(stories, fc.scheduler(), fc.infiniteStream(fc.boolean()), async (all, scheduler, stream) => {
      const loses = () => stream.next().value === true;
      const { host, writer } = world(turns(memory(), loses));
      host.delay = () => scheduler.schedule(Promise.resolve());
      await scheduler.waitFor(play(all, [writer]));
      expectWorst(all, host, turns === losingTurns);
    });

  test("the last status is the worst, and never a success while another open one stands pending", async () => {
    await fc.assert(
      property((statuses) => statuses),
      { numRuns: shareOf(400) },
    );
  });

  test("the same if turns are lost while a status is being set", async () => {
    await fc.assert(property(losingTurns), { numRuns: shareOf(400) });
  });

  test("without turns it fails, so this can be seen", async () => {
    const exclusively: StatusStore["exclusively"] = (_, work) => work(() => Promise.resolve(true));
    const free = (statuses: StatusStore): StatusStore => Object.assign(statuses, { exclusively });
    expect((await fc.check(property(free), { numRuns: 2000 })).failed).toBe(true);
  });
});

describe("two replicas that share Redis", () => {
  let server: RedisServer;
  let replicas: readonly [Stores, Stores];
  beforeAll(async () => {
    server = await RedisServer.start();
    const connect = () => createRedisStores({ address: server.address, db: 0, tls: false }, { log: recordingLog() });
    replicas = [connect(), connect()];
  });
  afterAll(async () => {
    await Promise.all(replicas.map((stores) => stores.close()));
    await server.stop();
  });

  test("show the worst in the end", async () => {
    let round = 0;
    const property = fc.asyncProperty(stories, async (all) => {
      round += 1;
      const host = new NotingHost();
      host.delay = () => new Promise((resolve) => setImmediate(resolve));
      const writers = replicas.map(({ statuses }) => world(statuses, host).writer);
      await play(all, writers);
      expectWorst(all, host);
      for (let number = 1; number <= all.length; number += 1) await replicas[0].statuses.remove(at(number));
    });
    await fc.assert(property, { numRuns: shareOf(40), endOnFailure: true });
    expect(round).toBeGreaterThanOrEqual(5);
  }, 60_000);
});
