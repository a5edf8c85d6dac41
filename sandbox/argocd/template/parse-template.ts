/** One operand of a command, with where it stands for error messages. */
export type Operand =
  | { readonly kind: "literal"; readonly value: string | number | boolean | null }
  /** `.a.b`, `$x.a`, `$`, `(…).a`: from what, then which members. */
  | { readonly kind: "field"; readonly from: string | Pipeline; readonly members: string[]; readonly at: Place }
  | { readonly kind: "function"; readonly name: string; readonly at: Place };

export interface Place {
  readonly line: number;
  /** 0-based, as Go counts columns. */
  readonly column: number;
  readonly text: string;
}

export type Command = readonly Operand[];
export type Pipeline = readonly Command[];

export type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly pipeline: Pipeline }
  | { readonly kind: "set"; readonly variable: string; readonly pipeline: Pipeline }
  | { readonly kind: "define"; readonly name: string; readonly body: Node[] }
  | {
      readonly kind: "if" | "with" | "range";
      readonly variables: string[];
      readonly pipeline: Pipeline;
      readonly body: Node[];
      readonly otherwise: Node[];
    };

interface Token {
  readonly text: string;
  readonly offset: number;
  /** White space stood before it: `.a .b` are two operands, `.a.b` is one. */
  readonly spaced: boolean;
}

const tokenPattern = /"(?:[^"\\]|\\.)*"|`[^`]*`|:=|[|(),=]|-?\d+(?:\.\d+)?|\$\w*|\.\w*|\w+|[^\s]/g;

/**
 * Parses the part of Go's text/template that charts and ApplicationSets use: fields, variables, pipes, `if`, `else`,
 * `with`, `range`, `define`, comments and trim markers. https://pkg.go.dev/text/template
 */
export function parseTemplate(text: string, name: string): Node[] {
  return new Parser(text, name).parse();
}

class Parser {
  #tokens: Token[] = [];
  #next = 0;

  constructor(
    readonly text: string,
    readonly name: string,
  ) {}

  parse(): Node[] {
    const root: Node[] = [];
    const open: { node: Extract<Node, { body: Node[] }>; into: Node[]; chained: boolean }[] = [];
    let into = root;
    let from = 0;
    let trim = false;
    for (const match of this.text.matchAll(/\{\{(- )?((?:"(?:[^"\\]|\\.)*"|`[^`]*`|[\s\S])*?)( -)?\}\}/g)) {
      let before = this.text.slice(from, match.index);
      if (trim) before = before.trimStart();
      if (match[1] !== undefined) before = before.trimEnd();
      if (before !== "") into.push({ kind: "text", text: before });
      from = match.index + match[0].length;
      trim = match[3] !== undefined;
      const content = match[2] ?? "";
      if (/^\s*\/\*/.test(content)) continue;
      this.#tokenise(content, match.index + 2 + (match[1]?.length ?? 0));
      const word = this.#peek();
      if (word === "end" || word === "else") {
        const block = open.at(-1);
        if (block === undefined) throw this.#error(`unexpected {{${word}}}`);
        this.#take();
        if (word === "end") {
          do {
            const closed = open.pop();
            if (closed === undefined) break;
            into = closed.into;
            if (!closed.chained) break;
          } while (open.length > 0);
        } else if (block.node.kind !== "define") {
          into = block.node.otherwise;
          if (this.#peek() === "if" || this.#peek() === "with") {
            const node = this.#block();
            into.push(node);
            open.push({ node, into, chained: true });
            into = node.body;
          }
        }
      } else if (["if", "with", "range", "define"].includes(word ?? "")) {
        const node = this.#block();
        into.push(node);
        open.push({ node, into, chained: false });
        into = node.body;
      } else if (word !== undefined) into.push(this.#action());
    }
    if (open.length > 0) throw this.#error("unexpected EOF");
    const rest = this.text.slice(from);
    root.push({ kind: "text", text: trim ? rest.trimStart() : rest });
    return root;
  }

  #block(): Extract<Node, { body: Node[] }> {
    const kind = this.#take().text;
    if (kind === "define") {
      return { kind, name: JSON.parse(this.#take().text) as string, body: [] };
    }
    const variables: string[] = [];
    const assigned = this.#tokens.findIndex(({ text }) => text === ":=");
    while (this.#next <= assigned) {
      const { text } = this.#take();
      if (text.startsWith("$")) variables.push(text);
    }
    const block = kind === "if" || kind === "with" ? kind : "range";
    return { kind: block, variables, pipeline: this.#pipeline(), body: [], otherwise: [] };
  }

  #action(): Node {
    const second = this.#tokens[this.#next + 1]?.text;
    if (this.#peek()?.startsWith("$") === true && (second === ":=" || second === "=")) {
      const variable = this.#take().text;
      this.#take();
      return { kind: "set", variable, pipeline: this.#pipeline() };
    }
    return { kind: "print", pipeline: this.#pipeline() };
  }

  #pipeline(): Pipeline {
    const commands: Command[] = [];
    let command: Operand[] = [];
    for (let token = this.#peek(); token !== undefined && token !== ")"; token = this.#peek()) {
      if (token === "|") {
        this.#take();
        commands.push(command);
        command = [];
      } else command.push(this.#operand());
    }
    commands.push(command);
    if (commands.some((one) => one.length === 0)) throw this.#error("missing value for command");
    return commands;
  }

  #operand(): Operand {
    const token = this.#take();
    const { text } = token;
    if (text.startsWith('"')) return { kind: "literal", value: JSON.parse(text) as string };
    if (text.startsWith("`")) return { kind: "literal", value: text.slice(1, -1) };
    if (/^-?\d/.test(text)) return { kind: "literal", value: Number(text) };
    if (text === "true" || text === "false") return { kind: "literal", value: text === "true" };
    if (text === "nil") return { kind: "literal", value: null };
    if (text === "(") {
      const inner = this.#pipeline();
      if (this.#peek() !== ")") throw this.#error("unclosed left paren");
      this.#take();
      return { kind: "field", from: inner, ...this.#members(token, "") };
    }
    if (text.startsWith("$")) return { kind: "field", from: text, ...this.#members(token, "") };
    if (text.startsWith(".")) return { kind: "field", from: ".", ...this.#members(token, text.slice(1)) };
    if (/^\w+$/.test(text)) return { kind: "function", name: text, at: this.#place(token, text) };
    throw this.#error(`unexpected ${JSON.stringify(text)} in operand`);
  }

  #members(start: Token, first: string): { members: string[]; at: Place } {
    const members = first === "" ? [] : [first];
    let text = start.text;
    for (let token = this.#tokens[this.#next]; token !== undefined; token = this.#tokens[this.#next]) {
      if (token.spaced || !/^\.\w+$/.test(token.text)) break;
      members.push(token.text.slice(1));
      text += token.text;
      this.#next += 1;
    }
    return { members, at: this.#place(start, text) };
  }

  #place({ offset }: Token, text: string): Place {
    const before = this.text.slice(0, offset).split("\n");
    return { line: before.length, column: before.at(-1)?.length ?? 0, text };
  }

  #tokenise(content: string, offset: number): void {
    this.#next = 0;
    this.#tokens = [...content.matchAll(tokenPattern)].map((match) => ({
      text: match[0],
      offset: offset + match.index,
      spaced: /\s/.test(content[match.index - 1] ?? " "),
    }));
  }

  #peek(): string | undefined {
    return this.#tokens[this.#next]?.text;
  }

  #take(): Token {
    const token = this.#tokens[this.#next];
    if (token === undefined) throw this.#error("unexpected end of action");
    this.#next += 1;
    return token;
  }

  #error(reason: string): Error {
    return new Error(`template: ${this.name}: ${reason}`);
  }
}
