export type TokenKind =
  | ("alias" | "anchor" | "tag" | "scalar" | "key" | "value")
  | ("block-sequence" | "block-mapping" | "block-end" | "block-entry")
  | ("flow-sequence" | "flow-sequence-end" | "flow-mapping" | "flow-mapping-end" | "flow-entry")
  | ("version-directive" | "tag-directive" | "document-start" | "document-end" | "stream-end");

export interface Token {
  readonly kind: TokenKind;
  /** Offset in the text. */
  readonly at: number;
  /** The value of a scalar, the name of an anchor or alias, the handle of a tag. */
  readonly text: string;
  /** What follows the handle of a tag. */
  readonly suffix: string;
  /** Whether a scalar stands without quotes and is no block. */
  readonly plain: boolean;
}

export function token(kind: TokenKind, at: number, text = "", suffix = ""): Token {
  return { kind, at, text, suffix, plain: false };
}

export function scalarToken(at: number, text: string, plain: boolean): Token {
  return { kind: "scalar", at, text, suffix: "", plain };
}
