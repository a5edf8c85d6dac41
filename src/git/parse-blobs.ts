import { GitFailure } from "./git-failure.js";

/** `git cat-file --batch-check`: id to size in bytes, or `missing`. */
export function parseSizes(output: Buffer): ReadonlyMap<string, number | "missing"> {
  const sizes = new Map<string, number | "missing">();
  for (const line of output.toString("latin1").split("\n")) {
    if (line === "") continue;
    const [id = "", type, size] = line.split(" ");
    if (type === "missing") sizes.set(id, "missing");
    else if (type === "blob") sizes.set(id, Number(size));
    else throw new GitFailure("unexpected-answer", "the answer of git is not understood");
  }
  return sizes;
}

/** `git cat-file --batch`: `<id> blob <size>\n<content>\n` for each; the content as text, undefined when binary. */
export function parseTexts(output: Buffer): ReadonlyMap<string, string | undefined> {
  const texts = new Map<string, string | undefined>();
  let position = 0;
  while (position < output.length) {
    const lineEnd = output.indexOf(0x0a, position);
    const header = output.toString("latin1", position, lineEnd);
    const [, id = "", size = ""] = /^([0-9a-f]+) blob (\d+)$/.exec(header) ?? [];
    const end = lineEnd + 1 + Number(size);
    if (lineEnd < 0 || id === "" || end >= output.length) {
      throw new GitFailure("unexpected-answer", "the answer of git is cut off");
    }
    texts.set(id, textOf(output.subarray(lineEnd + 1, end)));
    position = end + 1;
  }
  return texts;
}

function textOf(content: Buffer): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return undefined;
  }
}
