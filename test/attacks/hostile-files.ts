const RESOURCE = "apiVersion: argoproj.io/v1alpha1\nkind: Application\n";

export const NESTED_KEYS = `${RESOURCE}spec: ${"{? ".repeat(80_000)}a${"}".repeat(80_000)}\n`;

/** Files of a pull request that cost most to read; each looks as if it held an Application. */
export function hostileFiles(): Readonly<Record<string, string>> {
  return {
    "hostile/nested-keys.yaml": NESTED_KEYS,
    "hostile/nested-keys-small.yaml": `${RESOURCE}spec: ${"{? ".repeat(4_000)}a${"}".repeat(4_000)}\n`,
    "hostile/block-keys.yaml": `${RESOURCE}spec: ${"? ".repeat(100_000)}a\n`,
    "hostile/deep.yaml": `${RESOURCE}spec: ${"[".repeat(100_000)}\n`,
    "hostile/aliases.yaml": `${RESOURCE}spec:\n  a: &a [x]\n${aliases(60)}`,
    "hostile/values.yaml": `${RESOURCE}spec: [${"a,".repeat(120_000)}a]\n`,
    "hostile/documents.yaml": `---\n${RESOURCE}`.repeat(5_000),
    "hostile/quotes.yaml": `${RESOURCE}spec: "${"\\x41\\\n ".repeat(40_000)}"\n`,
  };
}

/** Each level stands for ten of the one before. */
function aliases(levels: number): string {
  const [first = "", ...names] = Array.from({ length: levels }, (_, index) => `a${"a".repeat(index)}`);
  let before = first;
  return names
    .map((name) => {
      const line = `  ${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(", ")}]\n`;
      before = name;
      return line;
    })
    .join("");
}
