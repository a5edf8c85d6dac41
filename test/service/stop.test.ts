import { expect, test } from "@jest/globals";
import { startSandbox } from "../../sandbox/world.js";
import { startService } from "../../src/service/service.js";
import { configFor, loggerFor } from "../scenarios/bot-options.js";

test("a second stop waits for what the first one still closes", async () => {
  const options = { host: "hosta" } as const;
  const world = await startSandbox({ github: true });
  try {
    const service = await startService(configFor(world, options), loggerFor(options));
    let isClosed = false;
    const first = service.close().then(() => (isClosed = true));
    await service.close();
    expect(isClosed).toBe(true);
    await first;
  } finally {
    await world.stop();
  }
});

test("a stop does not wait for a host that answers nothing since the start", async () => {
  const options = { host: "hosta" } as const;
  const world = await startSandbox({ github: true });
  try {
    world.github?.faults.add({ path: /./, fault: { kind: "hang" } });
    const service = await startService(configFor(world, options), loggerFor(options));
    const began = performance.now();
    await service.close();
    expect(performance.now() - began).toBeLessThan(10_000);
  } finally {
    await world.stop();
  }
});

test("a connection is kept for longer than proxies keep theirs, which would send a webhook into one that ends", async () => {
  const options = { host: "hosta" } as const;
  const world = await startSandbox({ github: true });
  try {
    const service = await startService(configFor(world, options), loggerFor(options));
    const { headers } = await fetch(`${service.url}/health`);
    await service.close();
    const [, seconds] = /timeout=(\d+)/.exec(headers.get("keep-alive") ?? "") ?? [];
    expect(Number(seconds)).toBeGreaterThan(60);
  } finally {
    await world.stop();
  }
});
