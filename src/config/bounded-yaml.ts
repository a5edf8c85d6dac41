import { Composer, type CST, type Document, Lexer, type LineCounter, Parser } from "yaml";

interface YamlLimits {
  /** Characters of the whole text. */
  readonly characters: number;
  /** Levels of collections and scalars below a document. */
  readonly depth: number;
  readonly documents: number;
  /** Values of one document; each alias counts what it stands for. */
  readonly values: number;
  /** Aliases of one document, including those inside what an alias stands for. */
  readonly aliases: number;
}

export const YAML_LIMITS: YamlLimits = {
  // The library needs some seconds per megabyte.
  characters: 256 * 1024,
  depth: 100,
  documents: 1000,
  values: 100_000,
  aliases: 1000,
};

/** Why a text was refused: it exceeds a limit, is not valid YAML, or parsers would read it differently. */
type YamlRefusal = keyof YamlLimits | "unknown-alias" | "collection-key" | "syntax";

/** Refuses a text at an offset. The message quotes nothing of the text, so it is safe to show. */
export class YamlRefused extends Error {
  override readonly name = "YamlRefused";

  constructor(
    readonly reason: YamlRefusal,
    readonly offset = 0,
  ) {
    super(`refused YAML: ${reason}`);
  }
}

/**
 * Composes the documents of a text that strangers wrote. Size and nesting are checked while the text is parsed, and keys
 * before anything is composed, because the library composes recursively and turns collections into keys in quadratic
 * time. Throws `YamlRefused`; mistakes in the syntax are in the `errors` of each document.
 */
export function* composeYaml(
  text: string,
  limits: YamlLimits = YAML_LIMITS,
  lines?: LineCounter,
): Generator<Document.Parsed> {
  const tokens = parse(text, limits, lines);
  for (const token of tokens) refuseCollectionKeys(token);
  // The library compares all keys of a map with each other to find duplicates; readers look them up instead.
  const composer = new Composer({
    logLevel: "silent",
    prettyErrors: false,
    resolveKnownTags: false,
    uniqueKeys: false,
  });
  let documents = 0;
  for (const document of composer.compose(tokens, false, text.length)) {
    documents += 1;
    if (documents > limits.documents) throw new YamlRefused("documents", document.range[0]);
    yield document;
  }
}

function parse(text: string, limits: YamlLimits, lines: LineCounter | undefined): readonly CST.Token[] {
  if (text.length > limits.characters) throw new YamlRefused("characters");
  const parser = new Parser(lines?.addNewLine);
  lines?.addNewLine(0);
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    // The stack begins with the document. A process can abort when a stack overflow meets the compiler of regular
    // expressions (yaml 2.9 on Node 20), so no text may come near one.
    if (parser.stack.length > limits.depth + 1) throw new YamlRefused("depth", parser.offset);
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

function refuseCollectionKeys(document: CST.Token): void {
  const waiting: (CST.Token | null | undefined)[] = [document];
  while (waiting.length > 0) {
    const token = waiting.pop();
    if (token?.type === "document") waiting.push(token.value);
    if (!isCollection(token)) continue;
    for (const { key, value } of token.items) {
      if (isCollection(key)) throw new YamlRefused("collection-key", key.offset);
      waiting.push(value);
    }
  }
}

function isCollection(
  token: CST.Token | null | undefined,
): token is CST.BlockMap | CST.BlockSequence | CST.FlowCollection {
  return token?.type === "block-map" || token?.type === "block-seq" || token?.type === "flow-collection";
}
