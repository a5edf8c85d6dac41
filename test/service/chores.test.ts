import { expect, test } from "@jest/globals";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import type { CodeHost } from "../../src/core/ports/code-host.js";
import type { Deployer } from "../../src/core/ports/deployer.js";
import type { EventQueue } from "../../src/core/ports/event-queue.js";
import { createChores } from "../../src/service/chores.js";
import { TokenWatch } from "../../src/service/token-watch.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { configOf, SMALLEST } from "../config/server-file.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";

test("a host that takes its time is asked once for the state of a holder, however often it is time to reconcile", async () => {
  const [clock, log] = [new ManualClock(), recordingLog()];
  const stores = createMemoryStores(clock);
  const asked: ((state: ChangeRequest["state"]) => void)[] = [];
  const host: Partial<CodeHost> = {
    id: "hosta",
    state: () => new Promise((answer) => void asked.push(answer)),
    recentActivity: () => Promise.resolve({ at: clock.now(), readTo: undefined, heads: [], closed: [], comments: [] }),
    self: () => Promise.resolve({ id: "1", login: "svc", bot: true }),
  };
  const nobody = { publish: () => Promise.resolve() };
  const chores = createChores({
    ...stores,
    hosts: { hosta: host as CodeHost },
    queue: {} as EventQueue,
    notifications: nobody,
    watch: undefined,
    tokens: new TokenWatch({ hosts: [], deployerToken: "", notifications: nobody, connection: undefined, clock, log }),
    publisher: { mark: nobody.publish, touched: nobody.publish, written: () => Promise.resolve(undefined) },
    deployer: {} as Deployer,
    config: configOf([SMALLEST]),
    clock,
    log,
  });
  const holder = { host: "hosta", repository: repositoryName("acme/deploy"), number: 1 } as const;
  const [application, planRevision] = [applicationName("web"), revision("a".repeat(40))];
  await stores.locks.acquire({ application, holder, user: "ana", planRevision, sourceFile: undefined }, clock.now());
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const all = [1, 2, 3].map(() => chores.reconcileAfterTakeOver());
  for (let turns = 0; turns < 20 || asked.length === 0; turns += 1) await turn();
  expect(asked.splice(0).map((answer) => answer("open"))).toHaveLength(1);
  await Promise.all(all);
  const later = chores.reconcileAfterTakeOver();
  while (asked.length === 0) await turn();
  asked[0]?.("open");
  await later;
});
