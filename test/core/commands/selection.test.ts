import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseComment } from "../../../src/core/commands/parse-command.js";
import { namesOf, select } from "../../../src/core/commands/selection.js";
import { applicationName } from "../../../src/core/model/brand.js";
import { SERVICE } from "../../../src/names.js";

const NAMES = ["api", "argocd/shop", "search", "team-a", "team-b", "web"];
const name = fc.constantFrom(...NAMES, "please", "team-c", "we");
const pattern = fc.constantFrom("team-*", "other-*", "*", "**", "we?", "{api,web}", "argocd/*", "{x,y}-*");
const typed = fc.oneof(
  name,
  fc.array(fc.oneof(name, pattern), { minLength: 1, maxLength: 4 }).map((list) => `-a '${list.join(",")}'`),
  fc
    .array(fc.oneof(name, pattern), { minLength: 1, maxLength: 4 })
    .map((list) => list.map((one) => `-a ${one}`).join(" ")),
);
const some = fc.subarray(NAMES);

test("a command that is narrowed acts on what its names and patterns select, and never on everything", () => {
  fc.assert(
    fc.property(typed, some, some, (words, held, planned) => {
      const parsed = parseComment(`svc unlock ${words}`, SERVICE);
      if (parsed?.kind !== "command" || parsed.command.name === "help") throw new Error(`${words} is no command`);
      const locks = held.map((one) => ({ application: applicationName(one) }));
      const selection = select(locks, parsed.command, planned);
      const named = namesOf(parsed.command, held, planned);
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
      if (!/[*?{]/.test(words)) expect(selected.every((one) => words.includes(one))).toBe(true);
    }),
  );
});
