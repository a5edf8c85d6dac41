import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseComment } from "../../../src/core/commands/parse-command.js";
import { type LabelsOf, namesOf, select } from "../../../src/core/commands/selection.js";
import { applicationName } from "../../../src/core/model/brand.js";
import { SERVICE } from "../../../src/names.js";

const NAMES = ["api", "argocd/shop", "search", "team-a", "team-b", "web"];
/** As Argo CD has them; `argocd/shop` is unknown to it. */
const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  api: { team: "shop" },
  search: {},
  "team-a": { team: "shop", "app.kubernetes.io/part-of": "a" },
  "team-b": { team: "Shop" },
  web: { team: "web" },
  please: { team: "shop" },
};
const labelsOf: LabelsOf = (one) => LABELS[one];
const label = fc.constantFrom("label:team=shop", "label:app.kubernetes.io/part-of=a", "label:constructor=Object");
const name = fc.constantFrom(...NAMES, "please", "team-c", "we");
const pattern = fc.constantFrom("team-*", "other-*", "*", "**", "we?", "{api,web}", "argocd/*", "{x,y}-*");
const typed = fc.oneof(
  name,
  fc.array(fc.oneof(name, pattern, label), { minLength: 1, maxLength: 4 }).map((list) => `-a '${list.join(",")}'`),
  fc
    .array(fc.oneof(name, pattern, label), { minLength: 1, maxLength: 4 })
    .map((list) => list.map((one) => `-a ${one}`).join(" ")),
);
const some = fc.subarray(NAMES);

test("a command that is narrowed acts on what its names and patterns select, and never on everything", () => {
  fc.assert(
    fc.property(typed, some, some, (words, held, planned) => {
      const parsed = parseComment(`svc unlock ${words}`, SERVICE);
      if (parsed?.kind !== "command" || !("applications" in parsed.command)) throw new Error(`${words} is no command`);
      const locks = held.map((one) => ({ application: applicationName(one) }));
      const selection = select(locks, parsed.command, planned, labelsOf);
      const named = namesOf(parsed.command, held, labelsOf, planned);
      if (selection.kind === "refused") {
        if (held.length > 0 && named.kind === "selected") {
          expect(selection.refusal.reason).toBe("not-locked");
          expect(named.items.some((one) => !held.includes(one))).toBe(true);
        }
        return;
      }
      const selected = selection.items.map(({ application }) => String(application));
      expect(selected.length).toBeGreaterThan(0);
      expect(named).toEqual({ kind: "selected", items: expect.arrayContaining(selected) });
      expect(parsed.command.bare === true ? selected : []).toEqual(parsed.command.bare === true ? [words] : []);
      if (!/[*?{:]/.test(words)) expect(selected.every((one) => words.includes(one))).toBe(true);
    }),
  );
});

test.each([
  ["svc unlock -a label:team=shop", ["api", "team-a"]],
  ["svc unlock -a label:team=Shop", ["team-b"]],
  ["svc unlock -a label:app.kubernetes.io/part-of=a,web", ["team-a", "web"]],
  ["svc unlock -a label:team=none", undefined],
  ["svc unlock -a label:toString=x -a web", undefined],
])("%j selects what Argo CD's labels say of the candidates", (body, expected) => {
  const parsed = parseComment(body, SERVICE);
  if (parsed?.kind !== "command" || !("applications" in parsed.command)) throw new Error(`${body} is no command`);
  const found = namesOf(parsed.command, NAMES, labelsOf);
  expect(found.kind === "selected" ? found.items : undefined).toEqual(expected);
});
