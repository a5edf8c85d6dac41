import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Manifest } from "../../../src/core/model/application.js";
import { changeRequestRef } from "../../../src/core/model/change-request.js";
import { DeployerFailure } from "../../../src/core/model/errors.js";
import { type JsonObject, jsonText } from "../../../src/core/model/json.js";
import type { CommandContext } from "../../../src/core/ports/context.js";
import type { RenderRequest } from "../../../src/core/ports/deployer.js";
import { withChanges, type FileChanges } from "../../in-memory/memory-repositories.js";
import { API, CommandWorld, config, definition, PLAN, planned, spec, WEB } from "../commands/command-world.js";
import { sampleSettings } from "../sample-settings.js";

let world: CommandWorld;
beforeEach(() => {
  world = new CommandWorld();
});

/** What is rendered while `act` runs, as `head web`. */
async function rendersOf(act: () => Promise<unknown>): Promise<readonly string[]> {
  const from = world.deployer.renders.length;
  await act();
  return world.deployer.renders.slice(from).map(({ side, application }) => `${side} ${application.name}`);
}

const run = (number: number, more: Partial<CommandContext> = {}) => world.run(number, PLAN, more);

async function verdicts(number: number, more: Partial<CommandContext> = {}) {
  const { applications } = planned(await run(number, more));
  return applications.map((one) => [one.application, one.kind === "evaluated" ? one.verdict : one.kind]);
}

/** The same change reaches the base branch by another way. */
function commitToMain(changes: FileChanges): void {
  const { repositories } = world;
  repositories.commit("main", withChanges(repositories.filesAt(repositories.tip("main")), changes));
}

test("all heads are asked for before the first base", async () => {
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  expect(await rendersOf(() => run(number))).toEqual(["head api", "head web", "base api", "base web"]);
});

test("an application whose render fails hides no other, and its head's reason is told before its base's", async () => {
  world.deployer.faults.render = ({ side, application }: RenderRequest) => {
    if (application.name === "web") throw new Error(side);
  };
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  const [api, web] = planned(await run(number)).applications;
  expect(api?.kind).toBe("evaluated");
  expect(web).toMatchObject({
    kind: "unevaluated",
    reason: expect.stringMatching(/^at the head commit [0-9a-f]{8}: /),
  });
});

// Argo CD repeats what failed three times for an hour, whatever has become of the cause (v3.5 `getManifestCacheEntry`).
test.each([
  [false, "evaluated"],
  [true, "unevaluated"],
])("a failure that Argo CD only repeats is tried anew, unless the plan is automatic: %s", async (automatic, kind) => {
  world.deployer.faults.render = ({ side, fresh }: RenderRequest) => {
    if (side === "head" && !fresh) throw new DeployerFailure("failed", "Manifest generation error (cached): no chart");
  };
  const [web] = planned(await run(world.open(config(WEB, "2")), { automatic })).applications;
  expect(web?.kind).toBe(kind);
});

test("so is the preview of a new application", async () => {
  world.deployer.faults.render = ({ fresh }: RenderRequest) => {
    if (!fresh) throw new DeployerFailure("failed", "Manifest generation error (cached): no chart");
  };
  const number = world.open({ ...definition("young"), ...config("young", "1") });
  const [young] = planned(await run(number, { automatic: false })).applications;
  expect(young).toMatchObject({ kind: "new", preview: { kind: "compared" } });
});

describe("a base that was rendered before", () => {
  const FIRST = ["head web", "base web"];
  const AGAIN = ["head web"];

  /** What a second plan of the same change request renders. */
  async function second(between: (number: number) => unknown, more: Partial<CommandContext> = {}) {
    const number = world.open(config(WEB, "2"));
    expect(await rendersOf(() => run(number, more))).toEqual(FIRST);
    await between(number);
    return rendersOf(() => run(number, more));
  }

  test("from the same content stands for the base side", async () => {
    expect(await second((number) => void world.host.push(number, config(WEB, "3")))).toEqual(AGAIN);
  });

  test("by another change request's plan does so too, with the same diff", async () => {
    const number = world.open(config(WEB, "2"));
    await run(number, {});
    await world.stores.locks.release(WEB, world.host.ref(number));
    const other = world.open(config(WEB, "3"));
    expect(await rendersOf(() => run(other))).toEqual(AGAIN);
    const [web] = planned(await run(other)).applications;
    expect(web?.kind === "evaluated" ? web.diff.resources[0]?.diff : "").toMatch(/-  value: "1"\n\+  value: "3"/);
  });

  test.each<[string, Partial<CommandContext>]>([
    ["in a plan that a person asked for", { automatic: false }],
    ["where temporary Applications are always used, by another name", { temporaryApps: "always" }],
  ])("%s: %#", async (_title, more) => {
    const number = world.open(config(WEB, "2"));
    await run(number);
    expect(await rendersOf(() => run(number, more))).toEqual(FIRST);
  });

  test("is rendered anew when the definition changed", async () => {
    expect(await second(() => world.deployer.add(WEB, spec(WEB, "elsewhere")))).toEqual(FIRST);
  });

  test("is rendered anew when Argo CD's settings changed", async () => {
    expect(await second(() => void (world.deployer.renderingSettings = async () => "other"))).toEqual(FIRST);
  });

  test("is rendered anew when the base branch changed what it reads, and not when it changed something else", async () => {
    expect(await second(() => commitToMain({ "README.md": "hello" }))).toEqual(AGAIN);
    commitToMain(config(WEB, "5"));
    expect(await rendersOf(() => run(1))).toEqual(FIRST);
  });

  test("is rendered anew after an hour", async () => {
    expect(await second(() => world.clock.advance(60 * 60_000))).toEqual(FIRST);
  });

  test.each<[string, JsonObject]>([
    [
      "another repository's branch",
      { repoURL: "https://git.example.com/acme/other.git", path: "x", targetRevision: "main" },
    ],
    ["a range of chart versions", { repoURL: "https://charts.example.com", chart: "shop", targetRevision: "1.*" }],
  ])("is rendered anew where it reads %s", async (_title, source) => {
    const { source: own, ...rest } = spec(WEB);
    world.deployer.add(WEB, { ...rest, sources: [own, source] });
    world.deployer.renderManifests = async (request) => {
      world.deployer.renders.push(request);
      return jsonText<readonly Manifest[]>([]);
    };
    expect(await second(() => undefined)).toEqual(FIRST);
  });

  test("is rendered anew where a change request is deployed and not merged", async () => {
    expect(
      await second((number) =>
        world.stores.deployments.save({
          application: WEB,
          change: { ...changeRequestRef(world.host.facts(number)), number: 99 },
          revision: world.repositories.tip("main"),
          outcome: "succeeded",
          pins: [],
          specBefore: spec(WEB),
          specWritten: undefined,
          approvers: [],
          user: "bo",
          timestamp: world.clock.now().toISOString(),
        }),
      ),
    ).toEqual(FIRST);
  });

  test("is not kept by a change request that does not hold the lock", async () => {
    const holder = world.open(config(WEB, "7"));
    const number = world.open(config(WEB, "2"));
    await world.stores.locks.acquire(
      { application: WEB, holder: world.host.ref(holder), user: "bo", planRevision: undefined, sourceFile: undefined },
      world.clock.now(),
    );
    await run(number);
    expect(await rendersOf(() => run(number))).toEqual(FIRST);
  });

  test("is not kept when a deployment appeared while it was rendered", async () => {
    const { ofApplication } = world.stores.deployments;
    const number = world.open(config(WEB, "2"));
    const change = { ...changeRequestRef(world.host.facts(number)), number: 99 };
    world.stores.deployments.ofApplication = async () => [
      { change, revision: world.repositories.tip("main") } as never,
    ];
    await run(number);
    world.stores.deployments.ofApplication = ofApplication;
    expect(await rendersOf(() => run(number))).toEqual(FIRST);
  });
});

describe("an application that reads the same at both commits", () => {
  /** `web` changes on the branch and, in the same way, on its base. */
  function cherryPicked(changes = config(WEB, "2")): number {
    const number = world.open({ ...changes, ...config(API, "2") });
    commitToMain(changes);
    return number;
  }

  test("is not rendered and unchanged", async () => {
    const number = cherryPicked();
    expect(await rendersOf(() => run(number))).toEqual(["head api", "base api"]);
    expect(await verdicts(number)).toEqual([
      ["api", "changed"],
      ["web", "unchanged"],
    ]);
  });

  test("is rendered in live mode, since the cluster may have something else", async () => {
    const number = cherryPicked();
    const renders = await rendersOf(() => run(number, { diffMode: "live" }));
    expect(renders).toContain("head web");
  });

  test("is rendered when its definition differs", async () => {
    const number = cherryPicked({ ...config(WEB, "2"), ...definition(WEB, "elsewhere") });
    expect(await rendersOf(() => run(number))).toContain("head web");
  });

  test.each(["apps/web/.gitattributes", ".gitattributes", ".gitmodules"])(
    "is rendered when %s differs",
    async (path) => {
      const number = world.open({ ...config(WEB, "2"), [path]: "* text eol=crlf" });
      commitToMain(config(WEB, "2"));
      expect(await rendersOf(() => run(number))).toEqual(expect.arrayContaining(["head web", "base web"]));
    },
  );

  test.each([
    ["tools/version", true],
    ["docs/readme", false],
  ])("with a mapped folder tools/**, and %s different, is rendered: %s", async (path, rendered) => {
    const settings = { ...sampleSettings(), applications: [{ name: "w*", paths: ["tools/**"] }] };
    const number = world.open({ ...config(WEB, "2"), [path]: "2" });
    commitToMain(config(WEB, "2"));
    expect((await rendersOf(() => run(number, { settings }))).length > 0).toBe(rendered);
  });
});
