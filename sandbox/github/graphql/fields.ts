import type { GraphQLError, GraphQLFieldResolver } from "graphql";
import { isObject } from "../examples.js";

/** An error with the type that GitHub writes beside its message. */
export class TypedError extends Error {
  override readonly name = "TypedError";
  constructor(
    readonly type:
      "NOT_FOUND" | "FORBIDDEN" | "MISSING_PAGINATION_BOUNDARIES" | "EXCESSIVE_PAGINATION" | "UNPROCESSABLE",
    message: string,
  ) {
    super(message);
  }
}

/** A field of the schema that this sandbox has no answer for: never answered with an untrue null. */
export class FieldNotServed extends Error {
  override readonly name = "FieldNotServed";
}

/** Takes the member of the parent's value; calls it when it is a function. */
export const resolveField: GraphQLFieldResolver<unknown, unknown> = (source, args, context, info) => {
  const member = isObject(source) ? source[info.fieldName] : undefined;
  if (typeof member === "function") return (member as (given: unknown, context: unknown) => unknown)(args, context);
  if (member === undefined) {
    throw new FieldNotServed(`The sandbox does not serve ${info.parentType.name}.${info.fieldName}`);
  }
  return member;
};

/** Errors as GitHub writes them: the type stands beside the message. */
export function renderError(error: GraphQLError): Record<string, unknown> {
  const { message, path, locations, originalError } = error;
  return {
    ...(originalError instanceof TypedError ? { type: originalError.type } : {}),
    ...(path === undefined ? {} : { path }),
    ...(locations === undefined ? {} : { locations }),
    message,
  };
}

export interface PageArguments {
  readonly first?: number | null;
  readonly last?: number | null;
  readonly after?: string | null;
  readonly before?: string | null;
}

/** A connection; one of `first` and `last` must be given, and 100 is the most. */
export function connection(name: string, nodes: readonly unknown[], args: PageArguments): Record<string, unknown> {
  const wanted = args.first ?? args.last;
  if (wanted === undefined || wanted === null) {
    const cure = `You must provide a \`first\` or \`last\` value to properly paginate the \`${name}\` connection.`;
    throw new TypedError("MISSING_PAGINATION_BOUNDARIES", cure);
  }
  if (wanted < 1 || wanted > 100) {
    const limit = `Requesting ${wanted} records on the \`${name}\` connection exceeds the \`first\` limit of 100 records.`;
    throw new TypedError("EXCESSIVE_PAGINATION", limit);
  }
  const from = args.after ? position(args.after) : 0;
  const to = args.before ? position(args.before) - 1 : nodes.length;
  const range = nodes
    .map((node, index) => ({ node, cursor: cursor(index + 1), index }))
    .slice(from, Math.max(from, to));
  const edges = args.first ? range.slice(0, wanted) : range.slice(-wanted);
  return {
    totalCount: nodes.length,
    nodes: edges.map(({ node }) => node),
    edges,
    pageInfo: {
      hasNextPage: (edges.at(-1)?.index ?? to - 1) < nodes.length - 1,
      hasPreviousPage: (edges[0]?.index ?? 0) > 0,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

function cursor(position: number): string {
  return Buffer.from(`cursor:v2:${position}`).toString("base64");
}

function position(text: string): number {
  return Number(Buffer.from(text, "base64").toString().split(":")[2]) || 0;
}
