/**
 * What a JSON Schema can say of a pattern. It refuses nothing that `patternProblem` takes, and lets pass what only the
 * reader of a pattern can tell: what comes of its braces, and how many stars it holds.
 */
export const PATTERN_FORM = {
  type: "string",
  maxLength: 256,
  pattern: [
    "^(?!!|/)", // begins with neither `!` nor a slash
    "(?!.*(?:[\\\\\\[\\]]|//|/$|[@?!+*]\\())", // no backslash, brackets, empty parts, slash at the end, `+(…)`
    "(?!(?:.*/)?\\.{1,2}(?:/|$))", // no part is `.` or `..`
    "[^\\u0000-\\u001f\\u007f-\\u009f]+$", // no control characters
  ].join(""),
} as const;
