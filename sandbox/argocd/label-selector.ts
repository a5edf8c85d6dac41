import { unknown } from "./api-error.js";

export type Labels = Readonly<Record<string, string>>;

/** Kubernetes' selector syntax: `a=b`, `a!=b`, `a`, `!a`, `a in (b,c)`, `a notin (b,c)`, joined by commas. */
export function selectorFor(text: string): (labels: Labels) => boolean {
  const terms = text.split(/,(?![^(]*\))/).filter((term) => term.trim() !== "");
  const tests = terms.map((term) => testFor(term.trim()));
  return (labels) => tests.every((test) => test(labels));
}

function testFor(term: string): (labels: Labels) => boolean {
  const key = "([A-Za-z0-9][\\w./-]*)";
  const [, setKey = "", not, list = ""] = new RegExp(`^${key}\\s+(not)?in\\s+\\(([^)]*)\\)$`).exec(term) ?? [];
  if (setKey !== "") {
    const values = list.split(",").map((value) => value.trim());
    return (labels) =>
      not === undefined
        ? setKey in labels && values.includes(labels[setKey] ?? "")
        : !values.includes(labels[setKey] ?? "");
  }
  const [, own = "", operator = "", value = ""] = new RegExp(`^${key}\\s*(==|=|!=)\\s*([\\w.-]*)$`).exec(term) ?? [];
  if (operator === "!=") return (labels) => labels[own] !== value;
  if (operator !== "") return (labels) => labels[own] === value;
  const [, negated, plain] = new RegExp(`^(!)?${key}$`).exec(term) ?? [];
  if (plain === undefined) throw unknown(`error parsing the selector: unable to parse requirement: found '${term}'`);
  return (labels) => plain in labels === (negated === undefined);
}
