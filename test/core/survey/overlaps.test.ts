import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Application } from "../../../src/core/model/application.js";
import type { CommandContext } from "../../../src/core/ports/context.js";
import { overlapsAmong } from "../../../src/core/survey/effects.js";
import { memberOf } from "../../../src/core/survey/members.js";
import { sampleChange } from "../../comments/samples.js";
import { sampleApplication } from "../sample-application.js";
import { sampleSettings } from "../sample-settings.js";

const place = fc.record({
  rules: fc.constantFrom("a", "b", "c"),
  cluster: fc.constantFrom("https://one", "https://two", "named"),
  namespace: fc.constantFrom("shop", "team"),
});
type Place = typeof place extends fc.Arbitrary<infer T> ? T : never;

/** The rules of an application are in its name. */
const settings = sampleSettings({
  requirementsFor: ({ name }) => ({ requireApproval: name.endsWith("a"), requireUpToDate: name.endsWith("b") }),
});

function application({ rules, cluster, namespace }: Place, index: number): Application {
  const name = `app-${index}-${rules}`;
  const at = cluster === "named" ? { name: cluster } : { server: cluster };
  return sampleApplication(name, { destination: { ...at, namespace } });
}

/** A cluster with an address and one with a name may be the same. */
const maybeOne = (left: Place, right: Place) =>
  left.namespace === right.namespace &&
  (left.cluster === right.cluster || (left.cluster === "named") !== (right.cluster === "named"));

test("a new member is bound by the first application of each set of rules at its destination, itself aside", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(place, { minLength: 1, maxLength: 12 }), fc.nat(11), async (places, chosen) => {
      const live = new Map(places.map(application).map((one) => [one.name, one]));
      const bind = await overlapsAmong(new Set(), live, [], { settings } as CommandContext);
      const self = chosen % places.length;
      const own = places[self] ?? places[0];
      if (own === undefined) return;
      const { name, spec } = application(own, self);
      const reachedBy = { kind: "generated", by: "shops" } as const;
      const member = memberOf({ application: name, head: spec, before: [], reachedBy, change: sampleChange() });
      const there = places.flatMap((one, index) => (index !== self && maybeOne(one, own) ? [{ one, index }] : []));
      const first = there.filter((here, at) => there.findIndex(({ one }) => one.rules === here.one.rules) === at);
      const several = new Set(places.map(({ rules }) => rules)).size > 1;
      const bound = bind(member, []).boundAs.map(({ application: bound }) => String(bound));
      expect(bound).toEqual(several ? first.map(({ one, index }) => application(one, index).name) : []);
    }),
  );
});
