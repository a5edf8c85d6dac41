import { readFileSync } from "node:fs";

/** How a block of commands of the guide is shown to work. */
export type Proof =
  | { readonly kind: "run"; readonly prints?: string }
  | { readonly kind: "background" }
  | { readonly kind: "ci" }
  /** Nothing here can run it. */
  | { readonly kind: "needs"; readonly what: string };

/** A block of commands, or a file that the reader writes. */
export type GuideBlock =
  | { readonly kind: "commands"; readonly text: string; readonly proof: Proof }
  | { readonly kind: "file"; readonly name: string; readonly text: string }
  /** What `values.yaml` may have as a section of `config` instead. */
  | { readonly kind: "instead"; readonly section: string; readonly text: string };

const PAGES = ["installation.md", "without-kubernetes.md"];

/** The text of pages of docs/, with an owner of the release in the place of `OWNER`; of the installation's if none are named. */
export function guideText(pages: readonly string[] = PAGES): string {
  const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");
  return pages.map(read).join("\n").replaceAll("OWNER", "acme");
}

/**
 * The blocks of the guide, in order. A comment above each block says what it is; blocks that show something else (`csv`)
 * are left out.
 * @throws {Error} that shows the block, for commands without such a comment or with one that means nothing.
 */
export function guideBlocks(text: string): readonly GuideBlock[] {
  return [...text.matchAll(/(?:<!-- (.+?) -->\n)?^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(
    ([, mark = "", language = "", body = ""]): readonly GuideBlock[] => {
      const name = /^file: (\S+)$/.exec(mark)?.[1];
      if (name !== undefined) return [{ kind: "file", name, text: body }];
      const section = /^instead of config\.(\w+) in values\.yaml$/.exec(mark)?.[1];
      if (section !== undefined) return [{ kind: "instead", section, text: body }];
      return language === "sh" ? [{ kind: "commands", text: body, proof: proofOf(mark, body) }] : [];
    },
  );
}

function proofOf(mark: string, body: string): Proof {
  if (mark === "run") return { kind: "run" };
  if (mark === "run in the background") return { kind: "background" };
  if (mark === "run by .ci/run") return { kind: "ci" };
  const [, prints] = /^run, prints: (.+)$/.exec(mark) ?? [];
  if (prints !== undefined) return { kind: "run", prints };
  const [, what] = /^needs (a cluster|a container engine)$/.exec(mark) ?? [];
  if (what !== undefined) return { kind: "needs", what };
  throw new Error(`say above these commands whether they are run or what they need:\n${body}`);
}
