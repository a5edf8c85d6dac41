import { expect, test } from "@jest/globals";
import { DeployerFailure } from "../../../src/core/model/errors.js";
import { StatusProbe } from "../../../src/web/status-probe.js";
import { JumpClock } from "../../jump-clock.js";

test("each system is asked at most once in ten seconds", async () => {
  const clock = new JumpClock();
  let asked = 0;
  const probe = new StatusProbe([{ name: "Redis", ask: async () => `answer ${(asked += 1)}` }], { clock });
  await Promise.all([probe.look(), probe.look()]);
  clock.advance(9_999);
  expect((await probe.look()).rows).toEqual([{ name: "Redis", state: "available", detail: "answer 1" }]);
  clock.advance(1);
  expect((await probe.look()).rows).toEqual([{ name: "Redis", state: "available", detail: "answer 2" }]);
});

test("a hanging system is reported in time, delays no other and is not asked again while it hangs", async () => {
  const clock = new JumpClock();
  let asked = 0;
  const hang = () => {
    asked += 1;
    return new Promise<string>(() => undefined);
  };
  const checks = [
    { name: "Argo CD", ask: hang },
    { name: "GitHub", ask: async () => "answers" },
  ];
  const probe = new StatusProbe(checks, { clock, timeoutMs: 20, keepMs: 1 });
  for (let looks = 0; looks < 2; looks += 1) {
    const { rows } = await probe.look();
    expect(rows.map(({ state, detail }) => `${state}: ${detail}`)).toEqual([
      "unavailable: no answer within 0.02 seconds",
      "available: answers",
    ]);
    clock.advance(1);
  }
  expect(asked).toBe(1);
});

test.each([
  [new DeployerFailure("unreachable", "failed to connect to Argo CD"), "failed to connect to Argo CD"],
  [new Error("token=secret"), "an unexpected error inside the service; its log has the details"],
])("a failure of a system is reported in safe words: %s", async (error, detail) => {
  const probe = new StatusProbe([{ name: "Argo CD", ask: () => Promise.reject(error) }], { clock: new JumpClock() });
  expect((await probe.look()).rows).toEqual([{ name: "Argo CD", state: "unavailable", detail }]);
});
