import { createDetectionCaches } from "../../src/core/detect/inputs/snapshot.js";
import { createManifestScanner } from "../../src/core/detect/scan/manifests.js";
import type { Clock } from "../../src/core/ports/clock.js";
import type { CommandPorts } from "../../src/core/ports/context.js";
import type { Log } from "../../src/core/ports/log.js";
import type { MarkStore } from "../../src/core/ports/stores.js";
import { createRenderCache } from "../../src/core/render/render.js";
import { createRendersAhead } from "../../src/core/render/renders-ahead.js";
import { Complaints } from "../../src/run/around/complaints.js";
import { Outsiders } from "../../src/run/around/outsiders.js";
import { Publisher } from "../../src/run/around/publisher.js";
import type { Dependencies } from "../../src/run/line/run.js";
import { MemoryMarkStore, MemoryRolloutStore, MemoryStatusStore } from "../../src/store/memory/lock-store.js";
import { MemoryLiveFeed } from "../../src/store/memory/memory-stores.js";
import { WORDS } from "../comments/samples.js";
import { inlineCompute } from "./inline-compute.js";
import { testConfig } from "./test-config.js";

type Stored = "locks" | "waiting" | "holds" | "plans" | "deployments";

interface World {
  readonly clock: Clock;
  readonly log: Log;
}

/** What all commands share, with the default settings. */
export function commandPorts({ clock, log }: World): Omit<CommandPorts, Stored | "deployer"> {
  return {
    scanner: createManifestScanner(inlineCompute),
    renders: createRenderCache(clock),
    rendersAhead: createRendersAhead(8),
    compute: inlineCompute,
    checks: [],
    checkRunner: { run: () => Promise.reject(new Error("there are no checks")) },
    clock,
    isAdministrator: () => Promise.resolve(false),
    log,
    hostWords: WORDS,
    timezone: "UTC",
    temporaryApps: "auto",
    diffMode: "branch",
    previewLimit: 100,
    serverDryRun: "off",
    redact: [],
  };
}

/** What the service gives to its runs, with the default settings. */
export function runDependencies(
  given: Partial<Dependencies> &
    Pick<Dependencies, Stored | "audit" | "deployer" | "hosts" | "repositories" | "clock" | "log"> & {
      readonly marks?: MarkStore;
    },
): Dependencies {
  const queue = { push: () => Promise.resolve(true), isBusy: () => Promise.resolve(false) };
  return {
    ...commandPorts(given),
    publisher: new Publisher({ marks: new MemoryMarkStore(given.clock), ...given, queue }),
    config: testConfig(),
    detection: createDetectionCaches(),
    live: new MemoryLiveFeed(),
    statuses: new MemoryStatusStore(given.clock),
    rollouts: new MemoryRolloutStore(given.clock),
    notifications: { publish: () => Promise.resolve() },
    complaints: new Complaints(),
    outsiders: new Outsiders(given.clock),
    push: () => Promise.resolve(true),
    newRunId: (key) => `run-${key}`,
    ...given,
  };
}
