import { YamlRefused } from "../../../config/bounded-yaml.js";
import type { Token, TokenKind } from "./cursor.js";
import { YamlScanner } from "./scanner.js";

/** A node of a document. `items` of a map are keys and values by turns. */
export type YamlNode = YamlScalar | YamlCollection | YamlAlias;

export interface YamlScalar {
  readonly kind: "scalar";
  readonly text: string;
  /** Its full name, or `!`; empty without one. */
  readonly tag: string;
  /** Whether the text alone says which type it has. */
  readonly implicit: boolean;
  /** Offset in the text. */
  readonly at: number;
}

interface YamlCollection {
  readonly kind: "list" | "map";
  readonly items: readonly YamlNode[];
  readonly at: number;
}

interface YamlAlias {
  readonly kind: "alias";
  readonly target: YamlNode;
  readonly at: number;
}

type Begins = ReadonlyMap<TokenKind, "list" | "map">;
const IN_FLOW: Begins = new Map([["flow-sequence", "list"] as const, ["flow-mapping", "map"] as const]);
const IN_BLOCK: Begins = new Map([...IN_FLOW, ["block-sequence", "list"] as const, ["block-mapping", "map"] as const]);
/** Which collection a token begins. Behind a key, a list may stand at the key's column. */
const BEGINS = { flow: IN_FLOW, block: IN_BLOCK, indentless: new Map([...IN_BLOCK, ["block-entry", "list"] as const]) };
const NO_VALUE: ReadonlySet<TokenKind> = new Set(["key", "value", "block-end"]);
const NO_ENTRY: ReadonlySet<TokenKind> = new Set(["block-entry", "key", "value", "block-end"]);
const BETWEEN_DOCUMENTS: ReadonlySet<TokenKind> = new Set([
  ...(["version-directive", "tag-directive", "document-start", "document-end", "stream-end"] as const),
]);

/** Builds the nodes of the first document in a text exactly as Kubernetes' parser does (`parserc.go` and `decode.go`). */
export class YamlParser {
  private readonly scanner: YamlScanner;
  private readonly handles = new Map<string, string>();
  private readonly anchors = new Map<string, YamlNode>();
  /** The nodes that aliases stand for. */
  readonly targets = new Set<YamlNode>();

  constructor(
    text: string,
    private readonly deepest: number,
  ) {
    this.scanner = new YamlScanner(text, deepest);
  }

  /** Undefined if the text has none. */
  document(): YamlNode | undefined {
    const { scanner } = this;
    const { kind } = scanner.peek();
    if (kind === "stream-end") return undefined;
    this.directives();
    if (kind === "document-end" || !BETWEEN_DOCUMENTS.has(kind)) return this.root();
    this.expect("document-start");
    return BETWEEN_DOCUMENTS.has(scanner.peek().kind) ? this.nothing() : this.root();
  }

  private root(): YamlNode {
    const root = this.node(0, "block");
    this.scanner.peek();
    return root;
  }

  /** Whether anything follows the document, also if it is not valid. */
  hasMore(): boolean {
    try {
      while (this.scanner.peek().kind === "document-end") this.scanner.next();
      return this.scanner.peek().kind !== "stream-end";
    } catch (error) {
      if (error instanceof YamlRefused) return true;
      throw error;
    }
  }

  private directives(): void {
    let versions = 0;
    for (;;) {
      const { kind, at } = this.scanner.peek();
      if (kind !== "version-directive" && kind !== "tag-directive") break;
      const { text, suffix } = this.scanner.next();
      versions += kind === "version-directive" ? 1 : 0;
      const refused = kind === "tag-directive" ? this.handles.has(text) : versions > 1 || !/^0?1\.0?1$/.test(suffix);
      if (refused) throw new YamlRefused("syntax", at);
      if (kind === "tag-directive") this.handles.set(text, suffix);
    }
    if (!this.handles.has("!")) this.handles.set("!", "!");
    if (!this.handles.has("!!")) this.handles.set("!!", "tag:yaml.org,2002:");
  }

  private node(depth: number, where: keyof typeof BEGINS): YamlNode {
    if (depth > this.deepest) throw new YamlRefused("depth", this.scanner.peek().at);
    const start = this.scanner.peek();
    if (start.kind === "alias") {
      const target = this.anchors.get(this.scanner.next().text);
      if (target === undefined) throw new YamlRefused("unknown-alias", start.at);
      this.targets.add(target);
      return { kind: "alias", target, at: start.at };
    }
    const { anchor, tag } = this.properties();
    const { kind, at } = this.scanner.peek();
    if (kind === "scalar") {
      const { text, plain } = this.scanner.next();
      return this.anchored(anchor, { kind, text, tag, implicit: tag === "!" || (tag === "" && plain), at });
    }
    const of = BEGINS[where].get(kind);
    if (of !== undefined) return this.collection(of, anchor, (items) => this.readItems(kind, items, depth + 1));
    if (anchor === undefined && tag === "") throw new YamlRefused("syntax", at);
    return this.anchored(anchor, { kind: "scalar", text: "", tag, implicit: tag === "", at });
  }

  private properties(): { readonly anchor: string | undefined; readonly tag: string } {
    let anchor: string | undefined;
    let tag: string | undefined;
    for (;;) {
      const { kind } = this.scanner.peek();
      if (kind === "anchor" && anchor === undefined) anchor = this.scanner.next().text;
      else if (kind === "tag" && tag === undefined) tag = this.tag(this.scanner.next());
      else return { anchor, tag: tag ?? "" };
    }
  }

  private tag({ text, suffix, at }: Token): string {
    if (text === "") return suffix;
    const prefix = this.handles.get(text);
    if (prefix === undefined) throw new YamlRefused("syntax", at);
    return prefix + suffix;
  }

  private anchored<N extends YamlNode>(anchor: string | undefined, node: N): N {
    if (anchor !== undefined) this.anchors.set(anchor, node);
    return node;
  }

  /** The anchor holds inside of its own node already. */
  private collection(kind: "list" | "map", anchor: string | undefined, read: (items: YamlNode[]) => void): YamlNode {
    const items: YamlNode[] = [];
    const node = this.anchored(anchor, { kind, items, at: this.scanner.peek().at } as const);
    read(items);
    return node;
  }

  private readItems(kind: TokenKind, items: YamlNode[], depth: number): void {
    if (kind === "block-entry") this.indentlessList(items, depth);
    else if (kind === "block-sequence") this.blockList(items, depth);
    else if (kind === "block-mapping") this.blockMap(items, depth);
    else if (kind === "flow-sequence") this.flowList(items, depth);
    else this.flowMap(items, depth);
  }

  private blockList(items: YamlNode[], depth: number): void {
    this.scanner.next();
    while (this.scanner.peek().kind === "block-entry") {
      this.scanner.next();
      const { kind } = this.scanner.peek();
      items.push(kind === "block-entry" || kind === "block-end" ? this.nothing() : this.node(depth, "block"));
    }
    this.expect("block-end");
  }

  private indentlessList(items: YamlNode[], depth: number): void {
    while (this.scanner.peek().kind === "block-entry") {
      this.scanner.next();
      items.push(NO_ENTRY.has(this.scanner.peek().kind) ? this.nothing() : this.node(depth, "block"));
    }
  }

  private blockMap(items: YamlNode[], depth: number): void {
    this.scanner.next();
    const part = () => (NO_VALUE.has(this.scanner.peek().kind) ? this.nothing() : this.node(depth, "indentless"));
    while (this.scanner.peek().kind === "key") {
      this.scanner.next();
      items.push(part());
      items.push(this.take("value") ? part() : this.nothing());
    }
    this.expect("block-end");
  }

  private flowList(items: YamlNode[], depth: number): void {
    this.scanner.next();
    while (this.scanner.peek().kind !== "flow-sequence-end") {
      if (items.length > 0) this.expect("flow-entry");
      const { kind } = this.scanner.peek();
      if (kind === "flow-sequence-end") break;
      items.push(
        kind === "key"
          ? this.collection("map", undefined, (pair) => this.pair(pair, depth + 1))
          : this.node(depth, "flow"),
      );
    }
    this.scanner.next();
  }

  /** A map of one pair in a list, without braces. */
  private pair(items: YamlNode[], depth: number): void {
    this.scanner.next();
    const ends = (kind: TokenKind) => kind === "flow-entry" || kind === "flow-sequence-end";
    const { kind } = this.scanner.peek();
    // The parser loses a token where the key is empty.
    if (kind === "value" || ends(kind)) this.scanner.next();
    items.push(kind === "value" || ends(kind) ? this.nothing() : this.node(depth, "flow"));
    const hasValue = this.take("value") && !ends(this.scanner.peek().kind);
    items.push(hasValue ? this.node(depth, "flow") : this.nothing());
  }

  private flowMap(items: YamlNode[], depth: number): void {
    this.scanner.next();
    const part = () => {
      const { kind } = this.scanner.peek();
      return kind === "flow-entry" || kind === "flow-mapping-end" ? this.nothing() : this.node(depth, "flow");
    };
    while (this.scanner.peek().kind !== "flow-mapping-end") {
      if (items.length > 0) this.expect("flow-entry");
      if (this.scanner.peek().kind === "flow-mapping-end") break;
      if (this.take("key")) {
        items.push(this.scanner.peek().kind === "value" ? this.nothing() : part());
        items.push(this.take("value") ? part() : this.nothing());
      } else items.push(this.node(depth, "flow"), this.nothing());
    }
    this.scanner.next();
  }

  private nothing(): YamlNode {
    return { kind: "scalar", text: "", tag: "", implicit: true, at: this.scanner.peek().at };
  }

  private take(kind: TokenKind): boolean {
    const taken = this.scanner.peek().kind === kind;
    if (taken) this.scanner.next();
    return taken;
  }

  private expect(kind: TokenKind): void {
    if (!this.take(kind)) throw new YamlRefused("syntax", this.scanner.peek().at);
  }
}
