import { describe, expect, test } from "@jest/globals";
import type { Application, Manifest } from "../../../src/core/model/application.js";
import type { JsonText } from "../../../src/core/model/json.js";
import type { RenderRequest } from "../../../src/core/ports/deployer.js";
import { createPreviews } from "../../../src/core/survey/previews.js";
import { noDelay } from "../../in-memory/delay.js";
import { MemoryDeployer } from "../../in-memory/memory-deployer.js";
import { CommandWorld, config, spec } from "../commands/command-world.js";
import { sampleApplication } from "../sample-application.js";

/** Notes which renders run at the same time. */
class CountingDeployer extends MemoryDeployer {
  readonly started: string[] = [];
  most = 0;
  readonly #running = new Map<string, number>();

  override async renderManifests(request: RenderRequest, signal?: AbortSignal): Promise<JsonText<readonly Manifest[]>> {
    const { name } = request.application;
    this.started.push(name);
    const running = (this.#running.get(name) ?? 0) + 1;
    this.#running.set(name, running);
    this.most = Math.max(this.most, running);
    try {
      return await super.renderManifests(request, signal);
    } finally {
      this.#running.set(name, running - 1);
    }
  }
}

function fresh(name: string, variant?: string): Application {
  return sampleApplication(name, { ...spec("web"), info: [{ name: "variant", value: variant ?? "" }] });
}

const order = (name: string, variant?: string) =>
  ({ kind: "rendered", application: fresh(name, variant), replaced: undefined }) as const;

async function previews(previewLimit: number) {
  const world = new CommandWorld();
  const deployer = new CountingDeployer(world.repositories, noDelay);
  deployer.add("web", spec("web"));
  const context = await world.context(world.open(config("web", "2")), { deployer, previewLimit });
  return { deployer, previews: createPreviews(() => Promise.resolve(undefined), context) };
}

describe("the previews of one plan", () => {
  test("those of one name follow one another, whatever the others do, since they share a temporary Application", async () => {
    const { deployer, previews: some } = await previews(10);
    const orders = [order("a", "1"), order("b"), order("a", "2"), order("a", "3")];
    const shown = await Promise.all(orders.map((one) => some.preview(one)));
    expect(shown.map(({ content }) => content.kind)).toEqual(orders.map(() => "compared"));
    expect(deployer.started.toSorted()).toEqual(["a", "a", "a", "b"]);
    expect(deployer.most).toBe(1);
  });

  test("one that fails does not stop the next one of its name", async () => {
    const { deployer, previews: some } = await previews(10);
    let failures = 1;
    deployer.faults.render = () => {
      failures -= 1;
      if (failures === 0) throw new Error("helm failed");
    };
    const shown = await Promise.all([some.preview(order("a", "1")), some.preview(order("a", "2"))]);
    expect(shown.map(({ content }) => content.kind)).toEqual(["failed", "compared"]);
  });

  test("no more are rendered than the limit, and what takes a place counts", async () => {
    const { deployer, previews: some } = await previews(2);
    expect(some.take()).toBe(true);
    const shown = await Promise.all(["a", "b", "c"].map((name) => some.preview(order(name))));
    const beyond = { kind: "beyond-limit", limit: 2 };
    expect(shown.map(({ content }) => content)).toEqual([
      expect.objectContaining({ kind: "compared" }),
      beyond,
      beyond,
    ]);
    expect(some.take()).toBe(false);
    expect(deployer.started).toEqual(["a"]);
  });
});
