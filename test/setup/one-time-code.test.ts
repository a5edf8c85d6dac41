import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { OneTimeCode } from "../../src/setup/registration-site.js";

test.each([
  ["as it stands", (code: string) => code],
  ["in small letters", (code: string) => code.toLowerCase()],
  ["without the dash", (code: string) => code.replace("-", "")],
  ["with spaces", (code: string) => ` ${code.replace("-", " ")} `],
])("the code is accepted %s, once", (_, typed) => {
  const code = new OneTimeCode(100);
  expect(code.text).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
  expect(code.attempt(typed(code.text), 99)).toBe("accepted");
  expect(code.attempt(code.text, 99)).toBe("used");
});

test("nothing else is accepted", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const code = new OneTimeCode(1);
      fc.pre(text.toUpperCase().replace(/[^0-9A-Z]/g, "") !== code.text.replace("-", ""));
      expect(code.attempt(text, 0)).toBe("wrong");
    }),
  );
});

test("after an hour the right code is refused", () => {
  const code = new OneTimeCode(100);
  expect(code.attempt(code.text, 100)).toBe("expired");
});

test("after five wrong codes the right one is refused", () => {
  const code = new OneTimeCode(100);
  const wrong = code.text.startsWith("0") ? "1111-1111" : "0000-0000";
  const attempts = Array.from({ length: 5 }, () => code.attempt(wrong, 0));
  expect(attempts).toEqual(["wrong", "wrong", "wrong", "wrong", "locked"]);
  expect(code.attempt(code.text, 0)).toBe("locked");
});
