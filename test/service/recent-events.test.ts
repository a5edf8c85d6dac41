import { expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { repositoryName, revision } from "../../src/core/model/brand.js";
import { HostFailure, StoredValueUnreadable } from "../../src/core/model/errors.js";
import type { HostEvent } from "../../src/core/model/event.js";
import type { CodeHost, RecentActivity, RecentComment, RecentHead } from "../../src/core/ports/code-host.js";
import type { EventQueue } from "../../src/core/ports/event-queue.js";
import type { LockStore } from "../../src/core/ports/stores.js";
import { wrapPort } from "../../src/observe/wrap-port.js";
import { RecentEvents } from "../../src/service/recent-events.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { RedisConnection } from "../../src/store/redis/connection.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";

const MINUTE_MS = 60_000;
const repository = repositoryName("acme/deploy");

/**
 * A polled host that tells of so many comments in one answer, the oldest first, and nothing of the repositories in `broken`, nor of
 * any while it hides them.
 */
function startPolling(most: number, broken: readonly string[] = [], connection?: RedisConnection) {
  const [clock, comments, found] = [new ManualClock(), [] as RecentComment[], new Map<string, HostEvent>()];
  const now = {
    name: repository,
    fails: false,
    hidden: false,
    heads: [] as readonly RecentHead[],
    /** The stored plans are of another version. */
    unreadable: false,
    /** Happens once a look has read what it tells, before its answer is there. */
    meanwhile: (): void => undefined,
  };
  const host = {
    id: "hostb",
    self: () => Promise.resolve({ id: "1", login: "svc", bot: true }),
    reach: () => Promise.resolve(clock.now()),
    listOwnComments: () => Promise.resolve([]),
    repositories: () => Promise.resolve([...broken.map(repositoryName), now.name]),
    recentActivity({ repository: name }, since): Promise<RecentActivity> {
      if (now.hidden) return Promise.reject(new HostFailure("not-found", "no such repository"));
      if (name !== now.name && !broken.includes(name)) return Promise.reject(new HostFailure("not-found", "moved"));
      if (now.fails) return Promise.reject(new HostFailure("failed", "out of order"));
      if (broken.includes(name)) return Promise.reject(new HostFailure("forbidden", "merge requests are disabled"));
      const told = comments.filter(({ createdAt }) => createdAt >= since).slice(0, most);
      const readTo = told.length < most ? undefined : told.at(-1)?.createdAt;
      const at = clock.now();
      now.meanwhile();
      return Promise.resolve({ at, readTo, heads: now.heads, closed: [], comments: told });
    },
  } as Partial<CodeHost> as CodeHost;
  const queue: Partial<EventQueue> = {
    push: (event) => Promise.resolve(found.set(event.delivery, event).size > 0),
    knows: ({ delivery }) => Promise.resolve(found.has(delivery)),
    isBusy: () => Promise.resolve(false),
  };
  const stores = createMemoryStores(clock);
  const parts = {
    ...stores,
    plans: wrapPort(stores.plans, {
      find: (call) => (now.unreadable ? Promise.reject(new StoredValueUnreadable("of another version")) : call()),
    }),
    hosts: { hostb: host },
    polls: new Map([["hostb", MINUTE_MS]] as const),
    allowedRepos: [],
    commandWord: "svc",
    queue: queue as EventQueue,
    publisher: { mark: () => Promise.resolve() },
    connection,
    clock,
    log: recordingLog(),
  };
  const events = new RecentEvents(parts);
  const held = { list: () => Promise.resolve([{ holder: { host: "hostb", repository, number: 1 } }]) };
  const beside = new RecentEvents({ ...parts, polls: new Map(), locks: held as unknown as LockStore });
  return {
    now,
    /** Looks for lost webhooks of a host that sends them. */
    async findLost(afterMs: number) {
      clock.advance(afterMs);
      await beside.findLost();
    },
    comment(number: number) {
      const change = { host: "hostb", repository, number } as const;
      const author = { id: "2", login: "ana", bot: false };
      comments.push({ change, id: String(number), body: "svc plan", author, createdAt: clock.now() });
    },
    async poll(afterMs: number) {
      clock.advance(afterMs);
      await events.poll(host);
    },
    /** Shows one open merge request, of the repository with this id. */
    show(repositoryId: string) {
      const change = { host: "hostb", repository, repositoryId, number: 1 } as const;
      const facts = { headRevision: revision("1".repeat(40)), baseBranch: "main", draft: false };
      now.heads = [{ change, ...facts, updatedAt: clock.now(), activity: "" }];
    },
    wait: (ms: number) => clock.advance(ms),
    found: () => [...found.values()].map(({ change }) => change.number),
    repositories: () => [...found.values()].map(({ change }) => change.repositoryId),
  };
}

test("what a host leaves out because much happened is found by the next looks", async () => {
  const line = startPolling(2);
  await line.poll(0);
  await line.poll(5 * MINUTE_MS);
  for (let number = 1; number <= 5; number += 1) {
    line.wait(5 * MINUTE_MS);
    line.comment(number);
  }
  for (let look = 1; look <= 5; look += 1) await line.poll(MINUTE_MS);
  expect(line.found()).toEqual([1, 2, 3, 4, 5]);
});

test("more at one time than a host tells of does not keep it from what comes later", async () => {
  const line = startPolling(2);
  await line.poll(0);
  await line.poll(5 * MINUTE_MS);
  for (let number = 1; number <= 3; number += 1) line.comment(number);
  for (let look = 1; look <= 3; look += 1) await line.poll(MINUTE_MS);
  line.wait(5 * MINUTE_MS);
  line.comment(4);
  await line.poll(MINUTE_MS);
  expect(line.found()).toContain(4);
});

test("repositories that never tell what happened do not keep the others from being looked at", async () => {
  const broken = Array.from({ length: 40 }, (_, index) => `acme/broken-${index}`);
  const line = startPolling(2, broken);
  for (let look = 1; look <= 3; look += 1) await line.poll(MINUTE_MS);
  line.wait(5 * MINUTE_MS);
  line.comment(1);
  for (let look = 1; look <= 2; look += 1) await line.poll(MINUTE_MS);
  expect(line.found()).toEqual([1]);
});

test("a repository that was renamed is looked at from where its old name ended, although the first look fails", async () => {
  const line = startPolling(2);
  await line.poll(0);
  await line.poll(5 * MINUTE_MS);
  line.wait(10_000);
  line.comment(1);
  line.now.name = repositoryName("acme/platform");
  await line.poll(10_000);
  line.now.fails = true;
  await line.poll(MINUTE_MS);
  line.now.fails = false;
  await line.poll(MINUTE_MS);
  expect(line.found()).toEqual([1]);
});

test("what happened while the host hid a repository is found once it shows it again", async () => {
  const line = startPolling(2);
  for (let look = 1; look <= 3; look += 1) await line.poll(MINUTE_MS);
  line.now.hidden = true;
  line.wait(5 * MINUTE_MS);
  line.comment(1);
  for (let look = 1; look <= 3; look += 1) await line.poll(5 * MINUTE_MS);
  line.now.hidden = false;
  await line.poll(5 * MINUTE_MS);
  expect(line.found()).toEqual([1]);
});

test("what happened in the last day is found once a host shows a repository again that it hid for longer", async () => {
  const line = startPolling(2);
  for (let look = 1; look <= 3; look += 1) await line.poll(MINUTE_MS);
  line.now.hidden = true;
  for (let hour = 1; hour <= 50; hour += 1) {
    if (hour === 20 || hour === 40) line.comment(hour);
    await line.poll(60 * MINUTE_MS);
  }
  line.now.hidden = false;
  await line.poll(5 * MINUTE_MS);
  expect(line.found()).toEqual([40]);
});

test("where the last good look ended is kept in Redis for as long as looks fail", async () => {
  const server = await RedisServer.start();
  const raw = new Redis(server.port, "127.0.0.1");
  const connection = new RedisConnection({ address: server.address, db: 0, tls: false }, recordingLog());
  try {
    const line = startPolling(2, [], connection);
    for (let look = 1; look <= 3; look += 1) await line.poll(MINUTE_MS);
    const [key = ""] = await raw.keys("*looked*");
    await raw.pexpire(key, 60_000);
    line.now.hidden = true;
    await line.poll(5 * MINUTE_MS);
    expect(await raw.pttl(key)).toBeGreaterThan(60 * MINUTE_MS);
  } finally {
    raw.disconnect();
    await connection.close();
    await server.stop();
  }
});

test("a head is found in a new repository under a name although it was found in the one that had the name", async () => {
  const line = startPolling(2);
  await line.poll(0);
  for (const id of ["7", "7", "8", "8"]) {
    line.show(id);
    await line.poll(5 * MINUTE_MS);
  }
  expect(line.repositories()).toEqual(["7", "8"]);
});

test("what happens while a look takes minutes, as at the host's limit, is found by the next one", async () => {
  const line = startPolling(2);
  await line.findLost(0);
  line.now.meanwhile = () => {
    line.comment(1);
    line.wait(5 * MINUTE_MS);
  };
  await line.findLost(5 * MINUTE_MS);
  line.now.meanwhile = () => undefined;
  await line.findLost(5 * MINUTE_MS);
  expect(line.found()).toEqual([1]);
});

test.each(["poll", "findLost"] as const)(
  "a plan that cannot be read hides nothing of its repository from a look: %s",
  async (look) => {
    const line = startPolling(2);
    await line[look](0);
    await line[look](5 * MINUTE_MS);
    line.now.unreadable = true;
    line.show("7");
    line.comment(2);
    await line[look](5 * MINUTE_MS);
    await line[look](5 * MINUTE_MS);
    expect(line.found()).toEqual([1, 2]);
  },
);
