import { isObject, type Json, type JsonObject } from "../json.js";
import { functions, isTruthy, textOf } from "./functions.js";
import { parseTemplate, type Command, type Node, type Operand, type Pipeline, type Place } from "./parse-template.js";

export interface TemplateOptions {
  /** Name in error messages. */
  readonly name: string;
  /** An unknown key is an error (`missingkey=error`) instead of printing `<no value>`. */
  readonly strict?: boolean;
  /** What an absent value prints; Helm prints nothing. */
  readonly absent?: string;
  /** Named templates for `include` and `template`. */
  readonly named?: ReadonlyMap<string, Node[]>;
}

const parsed = new Map<string, Node[]>();

/** Named templates that a file defines. */
export function definitionsIn(text: string, name: string): [string, Node[]][] {
  return nodesOf(text, name).flatMap((node) =>
    node.kind === "define" ? [[node.name, node.body] as [string, Node[]]] : [],
  );
}

/** Runs a Go template over data. Throws with Go's words when it cannot. */
export function executeTemplate(text: string, data: Json, options: TemplateOptions): string {
  return new Run(options, data).nodes(nodesOf(text, options.name), data, new Map([["$", data]]));
}

function nodesOf(text: string, name: string): Node[] {
  const key = `${name}\0${text}`;
  let nodes = parsed.get(key);
  if (nodes === undefined) {
    nodes = parseTemplate(text, name);
    parsed.set(key, nodes);
  }
  return nodes;
}

type Variables = Map<string, Json>;

class Run {
  constructor(
    readonly options: TemplateOptions,
    readonly root: Json,
  ) {}

  nodes(nodes: readonly Node[], dot: Json, variables: Variables): string {
    return nodes.map((node) => this.#node(node, dot, variables)).join("");
  }

  #node(node: Node, dot: Json, variables: Variables): string {
    switch (node.kind) {
      case "text":
        return node.text;
      case "define":
        return "";
      case "print": {
        const value = this.#pipeline(node.pipeline, dot, variables);
        return value === null ? (this.options.absent ?? "<no value>") : textOf(value);
      }
      case "set":
        variables.set(node.variable, this.#pipeline(node.pipeline, dot, variables));
        return "";
      case "if":
      case "with": {
        const value = this.#pipeline(node.pipeline, dot, variables);
        const [variable] = node.variables;
        if (variable !== undefined) variables.set(variable, value);
        if (!isTruthy(value)) return this.nodes(node.otherwise, dot, variables);
        return this.nodes(node.body, node.kind === "with" ? value : dot, variables);
      }
      case "range":
        return this.#range(node, dot, variables);
    }
  }

  #range(node: Extract<Node, { kind: "if" | "with" | "range" }>, dot: Json, variables: Variables): string {
    const value = this.#pipeline(node.pipeline, dot, variables);
    const entries: [Json, Json][] = Array.isArray(value)
      ? value.map((item, index) => [index, item])
      : Object.keys(isObject(value) ? value : {})
          .sort()
          .map((key) => [key, (value as JsonObject)[key] ?? null]);
    if (entries.length === 0) return this.nodes(node.otherwise, dot, variables);
    const [first, second] = node.variables;
    return entries
      .map(([key, item]) => {
        const inner = new Map(variables);
        if (first !== undefined) inner.set(first, second === undefined ? item : key);
        if (second !== undefined) inner.set(second, item);
        return this.nodes(node.body, item, inner);
      })
      .join("");
  }

  #pipeline(pipeline: Pipeline, dot: Json, variables: Variables): Json {
    let value: Json | undefined;
    for (const command of pipeline) value = this.#command(command, value, dot, variables);
    return value ?? null;
  }

  #command(command: Command, piped: Json | undefined, dot: Json, variables: Variables): Json {
    const [head, ...rest] = command;
    if (head === undefined) return null;
    if (head.kind !== "function") return this.#operand(head, dot, variables);
    const isInclude = head.name === "include" || head.name === "template";
    const known = Object.hasOwn(functions, head.name) ? functions[head.name] : undefined;
    if (known === undefined && !isInclude) {
      throw new Error(
        `template: ${this.options.name}:${head.at.line}: function ${JSON.stringify(head.name)} not defined`,
      );
    }
    const values = rest.map((operand) => this.#operand(operand, dot, variables));
    if (piped !== undefined) values.push(piped);
    if (known === undefined) {
      const body = this.options.named?.get(textOf(values[0]));
      if (body === undefined) throw this.#failure(head.at, `no template ${JSON.stringify(textOf(values[0]))}`);
      const data = values[1] ?? null;
      return this.nodes(body, data, new Map([["$", data]]));
    }
    try {
      return known(...values);
    } catch (error) {
      throw this.#failure(head.at, `error calling ${head.name}: ${error instanceof Error ? error.message : ""}`);
    }
  }

  #operand(operand: Operand, dot: Json, variables: Variables): Json {
    if (operand.kind === "literal") return operand.value;
    if (operand.kind === "function") return this.#command([operand], undefined, dot, variables);
    let at: Json;
    if (operand.from === ".") at = dot;
    else if (typeof operand.from !== "string") at = this.#pipeline(operand.from, dot, variables);
    else {
      const variable = variables.get(operand.from === "$" ? "$" : operand.from);
      if (variable === undefined) {
        throw new Error(
          `template: ${this.options.name}:${operand.at.line}: undefined variable ${JSON.stringify(operand.from)}`,
        );
      }
      at = variable;
    }
    for (const member of operand.members) at = this.#member(at, member, operand.at);
    return at;
  }

  #member(at: Json, member: string, place: Place): Json {
    if (isObject(at)) {
      const value = at[member];
      if (value !== undefined) return value;
      if (this.options.strict === true) {
        throw this.#failure(place, `map has no entry for key ${JSON.stringify(member)}`);
      }
      return null;
    }
    if (at === null) throw this.#failure(place, `nil pointer evaluating interface {}.${member}`);
    throw this.#failure(place, `can't evaluate field ${member} in type ${typeof at}`);
  }

  #failure(place: Place, reason: string): Error {
    const { name } = this.options;
    return new Error(
      `template: ${name}:${place.line}:${place.column}: executing ${JSON.stringify(name)} at <${place.text}>: ${reason}`,
    );
  }
}
