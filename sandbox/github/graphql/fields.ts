import type { GraphQLError, GraphQLFieldResolver } from "graphql";
import { isObject } from "../examples.js";

/** An error with GitHub's error type. */
export class TypedError extends Error {
  override readonly name = "TypedError";
  constructor(
    readonly type:
      | "UNPROCESSABLE"
      | "NOT_FOUND"
      | "FORBIDDEN"
      | "MISSING_PAGINATION_BOUNDARIES"
      | "EXCESSIVE_PAGINATION",
    message: string,
  ) {
    super(message);
  }
}

/** A field that the sandbox does not serve. Answering null would be untrue. */
export class FieldNotServed extends Error {
  override readonly name = "FieldNotServed";
}

/** Reads the parent's member, and calls it if it is a function. */
export const resolveField: GraphQLFieldResolver<unknown, unknown> = (source, args, context, info) => {
  const member = isObject(source) ? source[info.fieldName] : undefined;
  if (typeof member === "function") return (member as (given: unknown, context: unknown) => unknown)(args, context);
  if (member === undefined) {
    throw new FieldNotServed(`The sandbox does not serve ${info.parentType.name}.${info.fieldName}`);
  }
  return member;
};

/** An error in GitHub's format, which adds a type to the message. */
export function renderError(error: GraphQLError): Record<string, unknown> {
  const { message, path, locations, originalError } = error;
  return {
    ...(originalError instanceof TypedError ? { type: originalError.type } : {}),
    ...(path === undefined ? {} : { path }),
    ...(locations === undefined ? {} : { locations }),
    message,
  };
}

/** The last page of a connection. `last` is required and at most 100. */
export function lastPage(name: string, nodes: readonly unknown[], last: number | null | undefined): object {
  const { nodes: shown, pageInfo } = onePage(name, nodes.toReversed(), last) as {
    readonly nodes: readonly unknown[];
    readonly pageInfo: { readonly hasNextPage: boolean };
  };
  return { nodes: shown.toReversed(), pageInfo: { hasPreviousPage: pageInfo.hasNextPage }, totalCount: nodes.length };
}

/** One page of a connection; a cursor is the number of nodes before it. `first` is required and at most 100. */
export function onePage(
  name: string,
  nodes: readonly unknown[],
  first: number | null | undefined,
  after?: string | null,
): object {
  if (first === undefined || first === null) {
    const cure = `You must provide a \`first\` or \`last\` value to properly paginate the \`${name}\` connection.`;
    throw new TypedError("MISSING_PAGINATION_BOUNDARIES", cure);
  }
  if (first < 1 || first > 100) {
    const limit = `Requesting ${first} records on the \`${name}\` connection exceeds the \`first\` limit of 100 records.`;
    throw new TypedError("EXCESSIVE_PAGINATION", limit);
  }
  const start = Number(after ?? 0);
  const end = start + first;
  const pageInfo = { hasNextPage: nodes.length > end, endCursor: String(Math.min(end, nodes.length)) };
  return { nodes: nodes.slice(start, end), pageInfo, totalCount: nodes.length };
}
