import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { pack, plainName, sentence, warning } from "../../src/comments/parts.js";

const LIMIT = 100;
const section = fc.constantFrom("### Application: `web`", "### Application: `api`", undefined);
const blocks = fc.array(fc.record({ text: fc.string({ minLength: 1, maxLength: LIMIT }), section }), { maxLength: 12 });

test("a block that fills a comment alone is not pushed over the limit by the heading of its section", () => {
  const heading = "### Application: `web`";
  const long = "x".repeat(LIMIT - 5);
  expect(
    pack(
      [
        { text: heading, section: heading },
        { text: long, section: heading },
        { text: "short", section: heading },
      ],
      LIMIT,
    ),
  ).toEqual([heading, long, `${heading} (continued)\n\nshort`]);
});

test("no part is longer than the limit, and no block is lost or cut", () => {
  fc.assert(
    fc.property(blocks, (given) => {
      const parts = pack(given, LIMIT);
      expect(Math.max(0, ...parts.map(({ length }) => length))).toBeLessThanOrEqual(LIMIT);
      let rest = parts.join("\n\n");
      for (const { text } of given) {
        const at = rest.indexOf(text);
        expect(at).toBeGreaterThanOrEqual(0);
        rest = rest.slice(at + text.length);
      }
    }),
  );
});

test.each(["www.example.com", "WWW.example.com", "gh-12", "argocd/gh-12", "c0ffee0", "a b", "@all", "a_b"])(
  "a name that a host could take for a link, a reference or Markdown is a code span: %s",
  (name) => {
    expect(plainName(name)).toBe(`\`${name}\``);
  },
);

test.each(["web", "argocd/web", "shop-1.example.com", "a"])("a harmless name stands as it is: %s", (name) => {
  expect(plainName(name)).toBe(name);
});

test("words with a dollar sign are code in a sentence, since hosts show what stands between two of them as a formula", () => {
  expect(sentence("reads $HOME and ${A}_$B, *not* `$x`")).toBe("reads `$HOME` and `${A}_$B`, \\*not\\* `` `$x` ``");
});

test("the quotes around words with a dollar sign, and what ends a sentence, are no code", () => {
  expect(sentence('reads "$values/web.yaml".')).toBe('reads "`$values/web.yaml`".');
  expect(warning("reads $(HOME)/x.")).toBe("⚠️ Reads `$(HOME)/x`.");
  expect(warning("reads '$'")).toBe("⚠️ Reads '`$`'.");
});
