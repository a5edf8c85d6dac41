import type { GraphQLError, GraphQLFieldResolver } from "graphql";
import { isObject } from "../examples.js";

/** An error with the type that GitHub writes beside its message. */
export class TypedError extends Error {
  override readonly name = "TypedError";
  constructor(
    readonly type: "NOT_FOUND" | "FORBIDDEN" | "MISSING_PAGINATION_BOUNDARIES" | "EXCESSIVE_PAGINATION",
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

/** The first page of a connection; `first` must be given, and 100 is the most. */
export function firstPage(name: string, nodes: readonly unknown[], first: number | null | undefined): object {
  if (first === undefined || first === null) {
    const cure = `You must provide a \`first\` or \`last\` value to properly paginate the \`${name}\` connection.`;
    throw new TypedError("MISSING_PAGINATION_BOUNDARIES", cure);
  }
  if (first < 1 || first > 100) {
    const limit = `Requesting ${first} records on the \`${name}\` connection exceeds the \`first\` limit of 100 records.`;
    throw new TypedError("EXCESSIVE_PAGINATION", limit);
  }
  return { nodes: nodes.slice(0, first), pageInfo: { hasNextPage: nodes.length > first } };
}
